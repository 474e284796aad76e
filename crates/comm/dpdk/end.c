/* One or both ends of a wire through DPDK: frames go out and are waited for by the
 * application itself, which never sleeps and, with a driver of its own, makes no
 * system call.
 *
 *   end ROLE SIZE NANOSECONDS MOST DRIVER WHERE [WHERE]
 *
 * ROLE   alone: sends on the first port and waits at the second one;
 *        stages: the same, with three times of each message instead of one: what handing
 *        it over took, what lies between, what the call took that found it;
 *        asks: sends, and waits for the answer; answers: sends back what comes;
 *        floods: sends without waiting; counts: counts what comes until nothing does.
 * SIZE   bytes of a frame, from its Ethernet header on, without its checksum.
 * DRIVER net_af_packet, net_af_xdp: WHERE is "DEVICE,PATH", a device in the network
 *        namespace that is open at that path;
 *        net_memif: WHERE is "server,NAME" or "client,NAME".
 *
 * It says "ready" on a line once its ports have begun. At the end it writes a line, "times N
 * lost L cost NANOSECONDS huge 0|1", and N times of one way in nanoseconds, four bytes
 * each. One that floods or counts writes a line, "frames N rate PER_SECOND". One that
 * answers goes on until it is killed. What goes wrong is a line on
 * standard error and exit code 4.
 *
 * A frame holds an Ethernet header, the number of the message (4 bytes), and in an
 * answer the tick at which it arrived and the one at which it was sent back (8 each). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <x86intrin.h>

enum { BURST = 32, RING = 256, MBUFS = 8191, CACHE = 250, LONGEST = 1514, HEADER = 14 };
/* How long an answer is waited for. */
enum { PATIENCE_PER_SECOND = 10 };
/* Rounds of asking between two looks at the clock. */
enum { SPINS = 64 };

struct __attribute__((packed)) message {
	uint8_t to[6], from[6];
	uint16_t kind;
	uint32_t number;
	uint64_t arrived, sent;
};

/* Local experiments: IEEE 802, ethertype 0x88B5. */
static const uint16_t KIND = 0xB588;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *what, ...)
{
	va_list words;

	va_start(words, what);
	vfprintf(stderr, what, words);
	va_end(words);
	fputc('\n', stderr);
	exit(4);
}

static uint64_t now(void)
{
	unsigned processor;

	return __rdtscp(&processor);
}

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

/* Makes the device of a driver; `where` as on the command line. Returns its port. */
static uint16_t plug(const char *driver, int number, char *where)
{
	char name[64], options[256];
	uint16_t port;
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

/* The driver over AF_XDP (22.11) shares as many bytes with the kernel as its buffers have,
 * from the first one on; but they do not lie one behind the other, as none crosses a page.
 * The kernel refuses those that lie behind what is shared: they are taken out of the pool. */
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

static struct port begin(uint16_t id, int shares)
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

/* A link comes about when the other end is there. */
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

/* Hands a whole frame over. */
static void put(struct port port, const void *frame, size_t size)
{
	struct rte_mbuf *buffer = rte_pktmbuf_alloc(port.pool);

	if (!buffer)
		fail("all buffers are on their way");
	memcpy(rte_pktmbuf_append(buffer, size), frame, size);
	while (rte_eth_tx_burst(port.id, 0, &buffer, 1) != 1)
		;
}

/* Takes what has come; how many messages are among it, which are copied to `frame`. */
static int take(struct port port, uint8_t *frame, size_t size)
{
	struct rte_mbuf *buffers[BURST];
	uint16_t count = rte_eth_rx_burst(port.id, 0, buffers, BURST);
	int found = 0;

	for (uint16_t i = 0; i < count; i++) {
		struct message *message = rte_pktmbuf_mtod(buffers[i], struct message *);

		/* The kernel's own frames (neighbours, multicast) are not ours. */
		if (buffers[i]->data_len == size && message->kind == KIND) {
			memcpy(frame, message, size);
			found++;
		}
		rte_pktmbuf_free(buffers[i]);
	}
	return found;
}

static uint8_t outgoing[LONGEST], incoming[LONGEST];

/* Waits for message `number`; whether it came in time. */
static int await(struct port port, size_t size, uint32_t number, uint64_t until)
{
	for (;;) {
		for (int spins = 0; spins < SPINS; spins++) {
			if (take(port, incoming, size) && ((struct message *)incoming)->number == number)
				return 1;
		}
		if (now() > until)
			return 0;
	}
}

/* The same; when the call began that found it, 0 where none did in time. */
static uint64_t await_timed(struct port port, size_t size, uint32_t number, uint64_t until)
{
	for (;;) {
		uint64_t began = now();

		if (take(port, incoming, size) && ((struct message *)incoming)->number == number)
			return began;
		if (began > until)
			return 0;
	}
}

static void answer(struct port port, size_t size)
{
	struct message *in = (struct message *)incoming;

	for (;;) {
		if (!take(port, incoming, size))
			continue;
		in->arrived = now();
		memcpy(outgoing, incoming, size);
		((struct message *)outgoing)->sent = now();
		put(port, outgoing, size);
	}
}

/* How long the first frame is waited for, and after how much silence there are no more. */
static const double START = 20, SILENCE = 0.3;

static void say_stream(uint64_t frames, double rate)
{
	printf("frames %lu rate %f\n", frames, rate);
	fflush(stdout);
}

/* Sends for so long, as many at once as one may. */
static void flood(struct port port, size_t size, double seconds, double hertz)
{
	struct rte_mbuf *buffers[BURST];
	uint64_t began = now(), end = began + (uint64_t)(seconds * hertz), frames = 0;

	while (now() < end) {
		/* All are on their way: some will come back. */
		if (rte_pktmbuf_alloc_bulk(port.pool, buffers, BURST) != 0)
			continue;
		for (int i = 0; i < BURST; i++)
			memcpy(rte_pktmbuf_append(buffers[i], size), outgoing, size);
		for (uint16_t sent = 0; sent < BURST && now() < end + hertz;)
			sent += rte_eth_tx_burst(port.id, 0, buffers + sent, BURST - sent);
		frames += BURST;
	}
	say_stream(frames, frames * hertz / (now() - began));
}

static void count_frames(struct port port, size_t size, double hertz)
{
	uint64_t waits = now(), first = waits, last = waits, frames = 0, at_first = 0;

	for (;;) {
		uint64_t came = 0;
		for (int spins = 0; spins < SPINS; spins++)
			came += take(port, incoming, size);
		uint64_t at = now();
		if (came && !frames) {
			at_first = came;
			first = at;
		}
		if (came) {
			frames += came;
			last = at;
		}
		if (at - last > (frames ? SILENCE : START) * hertz)
			break;
	}
	say_stream(frames, last > first ? (frames - at_first) * hertz / (last - first) : 0);
}

static double cost(double hertz)
{
	enum { READS = 10000 };
	uint64_t began = now();

	for (int i = 1; i < READS; i++)
		now();
	return (now() - began) * 1e9 / hertz / READS;
}

int main(int count, char **words)
{
	if (count < 7)
		fail("usage: end alone|stages|asks|answers|floods|counts SIZE NANOSECONDS MOST DRIVER WHERE [WHERE]");
	const char *role = words[1], *driver = words[5];
	size_t size = strtoul(words[2], NULL, 10);
	double seconds = strtod(words[3], NULL) * 1e-9;
	size_t most = strtoul(words[4], NULL, 10);
	int stages = strcmp(role, "stages") == 0, answers = strcmp(role, "answers") == 0;
	int alone = stages || strcmp(role, "alone") == 0;
	if (size < sizeof(struct message) || size > LONGEST)
		fail("a frame has %zu to %d bytes, found %zu", sizeof(struct message), LONGEST, size);
	if (count != 7 + alone)
		fail("expected %d ports, found %d", 1 + alone, count - 6);

	/* Whoever started this wants nothing of it any more once gone, or long after it should end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((unsigned)seconds + 60);
	int huge = getenv("CROSSTALK_HUGE_PAGES") != NULL;
	/* Nothing of it is to be seen in the file system. */
	char *options[] = { "end", "--no-telemetry", "--no-pci", "--log-level=error", "-m", "128",
			    huge ? "--in-memory" : "--no-shconf", "--no-huge", NULL };
	if (rte_eal_init(huge ? 7 : 8, options) < 0)
		fail("DPDK does not start: %s", rte_strerror(rte_errno));

	struct port ports[2];
	/* The second one first: of memif it is the server, which the client looks for. */
	for (int i = alone; i >= 0; i--)
		ports[i] = begin(plug(driver, i, words[6 + i]), strcmp(driver, "net_af_xdp") == 0);
	/* What is sent to it from now on waits in its queue. */
	puts("ready");
	fflush(stdout);
	for (int i = 0; i <= alone; i++)
		await_link(ports[i]);
	if (answers)
		answer(ports[0], size);

	double hertz = rte_get_tsc_hz();
	struct message *out = (struct message *)outgoing, *in = (struct message *)incoming;
	memset(out->to, 0xff, sizeof out->to);
	out->from[0] = 2;
	out->kind = KIND;
	if (strcmp(role, "floods") == 0 || strcmp(role, "counts") == 0) {
		if (role[0] == 'f')
			flood(ports[0], size, seconds, hertz);
		else
			count_frames(ports[0], size, hertz);
		/* What was sent last is still on its way out. */
		rte_delay_us_sleep(role[0] == 'f' ? 500000 : 0);
		return 0;
	}
	uint32_t *times = malloc(most * sizeof *times);
	if (!times)
		fail("there is no room for %zu times", most);
	size_t kept = 0, lost = 0;
	uint64_t end = now() + (uint64_t)(seconds * hertz), patience = hertz / PATIENCE_PER_SECOND, sent = 0;
	for (uint32_t number = 1; sent < end && kept + 3 <= most; number++) {
		out->number = number;
		sent = now();
		put(ports[0], outgoing, size);
		uint64_t handed = stages ? now() : 0;
		uint64_t came = stages ? await_timed(ports[1], size, number, sent + patience)
				       : (uint64_t)await(ports[alone], size, number, sent + patience);
		if (!came) {
			lost++;
			continue;
		}
		uint64_t back = now();
		if (stages) {
			times[kept++] = (handed - sent) * 1e9 / hertz;
			times[kept++] = (came - handed) * 1e9 / hertz;
			times[kept++] = (back - came) * 1e9 / hertz;
		} else if (alone) {
			times[kept++] = (back - sent) * 1e9 / hertz;
		} else {
			if (in->arrived < sent || back < in->sent)
				fail("the processors' time-stamp counters differ");
			times[kept++] = (in->arrived - sent) * 1e9 / hertz;
			times[kept++] = (back - in->sent) * 1e9 / hertz;
		}
	}
	printf("times %zu lost %zu cost %f huge %d\n", kept, lost, cost(hertz), huge);
	fwrite(times, sizeof *times, kept, stdout);
	fflush(stdout);
	for (int i = 0; i <= alone; i++)
		rte_eth_dev_stop(ports[i].id);
	rte_eal_cleanup();
	return 0;
}
