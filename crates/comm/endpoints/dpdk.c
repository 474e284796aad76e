/* One or both endpoints of a wire through DPDK: the application itself sends and polls for
 * frames. It never sleeps and, with a driver in user space, makes no system calls. endpoint.h
 * documents its command line and output.
 *
 * HOW    the driver. net_af_packet, net_af_xdp: WHERE is "DEVICE,PATH", a device in the
 *        network namespace that is open at that path;
 *        net_memif: WHERE is "server,NAME" or "client,NAME";
 *        pci: that of the card at the address WHERE, which the kernel must have released.
 *
 * It appends to the line of its times whether buffers are in huge pages: "huge 0|1". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>

#include "endpoint.h"

enum { BURST = 32, RING = 256, MBUFS = 8191, CACHE = 250 };

/* A port, and a pool of buffers of its own. */
struct port {
	uint16_t id;
	struct rte_mempool *pool;
};

static void enter(const char *path)
{
	int namespace = open(path, O_RDONLY | O_CLOEXEC);

	if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0)
		fail("cannot enter the network namespace %s: %s", path, strerror(errno));
	close(namespace);
}

/* Creates the device of a driver; `where` as on the command line. Returns its port. */
static uint16_t create_device(const char *driver, int number, char *where)
{
	char name[64], options[256];
	uint16_t port;

	if (strcmp(driver, "pci") == 0) {
		if (rte_eth_dev_get_port_by_name(where, &port) != 0)
			fail("DPDK has no driver for the card %s, or may not use it", where);
		return port;
	}
	char *second = strchr(where, ',');
	if (!second)
		fail("expected two words, with a comma, found %s", where);
	*second++ = 0;
	snprintf(name, sizeof name, "%s%d", driver, number);
	if (strcmp(driver, "net_memif") == 0) {
		snprintf(options, sizeof options, "role=%s,socket=%s,socket-abstract=yes,id=0", where, second);
	} else {
		enter(second);
		snprintf(options, sizeof options, "iface=%s%s", where, strcmp(driver, "net_af_xdp") == 0 ? ",busy_budget=0" : "");
	}
	int failed = rte_eal_hotplug_add("vdev", name, options);
	if (failed)
		fail("DPDK's driver %s refuses %s: %s", driver, options, strerror(abs(failed)));
	if (rte_eth_dev_get_port_by_name(name, &port) != 0)
		fail("DPDK's driver %s made no port", driver);
	return port;
}

/* The AF_XDP driver (22.11) shares with the kernel the number of bytes that its buffers have, from
 * the first buffer on. But buffers are not contiguous, as none crosses a page. The kernel refuses
 * buffers behind the shared bytes, so they are removed from the pool. */
static void keep_shared(struct rte_mempool *pool)
{
	static struct rte_mbuf *all[MBUFS], *shared[MBUFS];
	struct rte_mempool_memhdr *memory = STAILQ_FIRST(&pool->mem_list);
	size_t each = pool->header_size + pool->elt_size + pool->trailer_size;
	char *end = (char *)memory->addr + pool->populated_size * each;
	unsigned count = 0;

	if (rte_pktmbuf_alloc_bulk(pool, all, MBUFS) != 0)
		fail("there is no room for buffers");
	for (unsigned i = 0; i < MBUFS; i++) {
		if ((char *)all[i] + each <= end)
			shared[count++] = all[i];
	}
	rte_pktmbuf_free_bulk(shared, count);
}

static struct port open_port(uint16_t id, int shares)
{
	struct rte_eth_conf none = { 0 };
	struct port port = { .id = id };
	char name[32];

	snprintf(name, sizeof name, "pool%d", id);
	port.pool = rte_pktmbuf_pool_create(name, MBUFS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!port.pool)
		fail("there is no room for buffers: %s", rte_strerror(rte_errno));
	if (shares)
		keep_shared(port.pool);
	int failed = rte_eth_dev_configure(port.id, 1, 1, &none);
	if (!failed)
		failed = rte_eth_rx_queue_setup(port.id, 0, RING, SOCKET_ID_ANY, NULL, port.pool);
	if (!failed)
		failed = rte_eth_tx_queue_setup(port.id, 0, RING, SOCKET_ID_ANY, NULL);
	if (!failed)
		failed = rte_eth_dev_start(port.id);
	if (failed)
		fail("port %d does not start: %s", id, strerror(abs(failed)));
	return port;
}

/* The link comes up once the other endpoint has started. */
static void await_link(struct port port)
{
	struct rte_eth_link link;

	for (int tries = 0; tries < 1000; tries++) {
		if (rte_eth_link_get_nowait(port.id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
			return;
		rte_delay_us_sleep(10000);
	}
	fail("port %d has no link", port.id);
}

static inline void put(struct port *port, const uint8_t *frame, size_t size)
{
	struct rte_mbuf *buffer = rte_pktmbuf_alloc(port->pool);

	if (!buffer)
		fail("all buffers are being sent");
	memcpy(rte_pktmbuf_append(buffer, size), frame, size);
	if (rte_eth_tx_burst(port->id, 0, &buffer, 1) == 1)
		return;
	/* The queue stays full if the other endpoint has ended or the cable is unplugged. */
	for (uint64_t until = rte_rdtsc() + rte_get_tsc_hz(); rte_rdtsc() < until;) {
		if (rte_eth_tx_burst(port->id, 0, &buffer, 1) == 1)
			return;
	}
	fail("the other endpoint has taken no frame for a second: has it ended?");
}

static unsigned put_many(struct port *port, const uint8_t *frame, size_t size)
{
	struct rte_mbuf *buffers[BURST];

	/* All buffers are being sent: some will be free soon. */
	if (rte_pktmbuf_alloc_bulk(port->pool, buffers, BURST) != 0)
		return 0;
	for (int i = 0; i < BURST; i++)
		memcpy(rte_pktmbuf_append(buffers[i], size), frame, size);
	uint16_t sent = rte_eth_tx_burst(port->id, 0, buffers, BURST);
	rte_pktmbuf_free_bulk(buffers + sent, BURST - sent);
	return sent;
}

static inline int take(struct port *port, uint8_t *into, size_t size)
{
	struct rte_mbuf *buffers[BURST];
	uint16_t count = rte_eth_rx_burst(port->id, 0, buffers, BURST);
	int found = 0;

	for (uint16_t i = 0; i < count; i++) {
		struct message *message = rte_pktmbuf_mtod(buffers[i], struct message *);

		/* Skips the kernel's frames (neighbour discovery, multicast). */
		if (buffers[i]->data_len == size && message->kind == KIND) {
			memcpy(into, message, size);
			found++;
		}
		rte_pktmbuf_free(buffers[i]);
	}
	return found;
}

/* Starts DPDK with its command line: it leaves no files, and uses no card but the given ones. */
static void start(const struct settings *settings, int huge)
{
	char *words[16] = { "end", "--no-telemetry", "--log-level=error", "-m", "128" };
	int count = 5;

	words[count++] = huge ? "--in-memory" : "--no-shconf";
	if (!huge)
		words[count++] = "--no-huge";
	if (strcmp(settings->how, "pci") == 0) {
		for (int i = 0; i <= settings->alone; i++) {
			words[count++] = "-a";
			words[count++] = settings->where[i];
		}
	} else {
		words[count++] = "--no-pci";
	}
	/* DPDK would leave a folder there; it works without one. */
	setenv("RUNTIME_DIRECTORY", "/dev/null", 1);
	if (rte_eal_init(count, words) < 0)
		fail("DPDK does not start: %s", rte_strerror(rte_errno));
}

int main(int count, char **words)
{
	struct settings settings = read_settings(count, words);
	int huge = getenv("CROSSTALK_HUGE_PAGES") != NULL;

	start(&settings, huge);
	struct port ports[2];
	/* The second one first: with memif it is the server, to which the client connects. */
	for (int i = settings.alone; i >= 0; i--)
		ports[i] = open_port(create_device(settings.how, i, settings.where[i]), strcmp(settings.how, "net_af_xdp") == 0);
	/* Frames that are sent to it from now on wait in its queue. */
	say_ready();
	for (int i = 0; i <= settings.alone; i++)
		await_link(ports[i]);
	serve(&ports[0], &ports[settings.alone], &settings, huge ? " huge 1" : " huge 0");
	for (int i = 0; i <= settings.alone; i++)
		rte_eth_dev_stop(ports[i].id);
	rte_eal_cleanup();
	return 0;
}
