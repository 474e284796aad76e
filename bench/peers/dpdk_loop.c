/* The least a program through DPDK does: one thread with two ports, a frame out of the
 * first and its arrival at the second, again and again. Prints the median, in seconds.
 *
 *   dpdk_loop DRIVER FIRST SECOND SIZE ROUNDS
 */
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define CHECK(call) do { if ((call) < 0) { fprintf(stderr, "%s failed\n", #call); exit(1); } } while (0)

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* As ours reads it. */
static uint64_t now(void)
{
	unsigned processor;

	return __rdtscp(&processor);
}

int main(int count, char **words)
{
	char *options[] = { "dpdk_loop", "--no-telemetry", "--no-pci", "--no-huge", "--no-shconf", "--log-level=error", "-m", "128", NULL };
	struct rte_eth_conf conf = { 0 };

	if (count != 6)
		return 2;
	/* It would leave a folder there. */
	setenv("RUNTIME_DIRECTORY", "/dev/null", 1);
	CHECK(rte_eal_init(8, options));
	for (int port = 0; port < 2; port++) {
		char name[32], device[64];
		snprintf(name, sizeof name, "%s%d", words[1], port);
		snprintf(device, sizeof device, "iface=%s", words[2 + port]);
		CHECK(rte_eal_hotplug_add("vdev", name, device));
		snprintf(name, sizeof name, "pool%d", port);
		struct rte_mempool *pool = rte_pktmbuf_pool_create(name, 8191, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
		CHECK(pool ? 0 : -1);
		CHECK(rte_eth_dev_configure(port, 1, 1, &conf));
		CHECK(rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL, pool));
		CHECK(rte_eth_tx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL));
		CHECK(rte_eth_dev_start(port));
	}
	struct rte_mempool *pool = rte_mempool_lookup("pool0");
	size_t size = strtoul(words[4], NULL, 10), rounds = strtoul(words[5], NULL, 10), kept = 0;
	uint64_t *times = malloc(rounds * sizeof *times);

	static unsigned char frame[1514], copy[1514];
	memset(frame, 0xff, sizeof frame);
	for (size_t round = 0; round < rounds; round++) {
		struct rte_mbuf *out, *in[32];
		/* The whole of a program's sending and receiving: a buffer, a copy into it and one out. */
		uint64_t began = now();
		out = rte_pktmbuf_alloc(pool);
		memcpy(rte_pktmbuf_append(out, size), frame, size);
		while (rte_eth_tx_burst(0, 0, &out, 1) == 0)
			;
		/* Some of the driver's buffers over AF_XDP are lost: such a round is left out. */
		uint64_t until = began + rte_get_tsc_hz() / 100;
		int found = 0;
		while (!found && now() < until) {
			uint16_t got = rte_eth_rx_burst(1, 0, in, 32);
			for (uint16_t i = 0; i < got; i++) {
				if (in[i]->data_len == size) {
					memcpy(copy, rte_pktmbuf_mtod(in[i], void *), size);
					found = 1;
				}
				rte_pktmbuf_free(in[i]);
			}
		}
		if (found)
			times[kept++] = now() - began;
	}
	qsort(times, kept, sizeof *times, by_size);
	CHECK(kept ? 0 : -1);
	printf("%.10f\n", (double)times[kept / 2] / rte_get_tsc_hz());
	return 0;
}
