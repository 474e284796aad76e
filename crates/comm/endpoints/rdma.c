/* One or both endpoints of messages through RDMA verbs (libibverbs; a reliable connection, send and
 * receive): the application passes buffers to the card, or to its emulation, and asks the card
 * itself for completions. endpoint.h documents its command line and output.
 *
 * HOW    polling: polls for completions; blocking: sleeps until a completion.
 * WHERE  "NAME,DEVICE": the first active port of that RDMA device. Two processes exchange their
 *        addresses over a local socket of that name, at which the second one listens. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "endpoint.h"

enum { SENDS = 32, RECEIVES = 64, SLOT = 2048, BURST = 16 };
/* The longest sleep in milliseconds, after which the deadline is checked. */
enum { MAX_SLEEP = 100 };
/* The most bytes of a message that are sent within the request itself. */
enum { INLINE = 128 };

struct port {
	struct ibv_context *context;
	struct ibv_pd *domain;
	/* Wakes a sleeping receiver; NULL when polling. */
	struct ibv_comp_channel *channel;
	struct ibv_cq *sent, *came;
	struct ibv_qp *pair;
	struct ibv_mr *region;
	struct ibv_port_attr attributes;
	uint8_t *memory;
	uint8_t number;
	int gid_index;
	unsigned next, in_flight, inlined;
};

/* The address of an endpoint. */
struct endpoint_address {
	uint32_t pair, mtu;
	uint16_t lid;
	union ibv_gid gid;
};

static struct ibv_context *find(const char *device)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	for (int i = 0; list && i < count; i++) {
		if (strcmp(ibv_get_device_name(list[i]), device) == 0) {
			struct ibv_context *context = ibv_open_device(list[i]);
			if (!context)
				fail("cannot open the RDMA device %s: %s", device, strerror(errno));
			ibv_free_device_list(list);
			return context;
		}
	}
	fail("there is no RDMA device %s (`rdma link` shows those there are)", device);
}

static void choose_port(struct port *port, const char *device)
{
	struct ibv_device_attr all;

	if (ibv_query_device(port->context, &all) != 0)
		fail("the RDMA device %s does not report its capabilities: %s", device, strerror(errno));
	for (int number = 1; number <= all.phys_port_cnt; number++) {
		if (ibv_query_port(port->context, number, &port->attributes) == 0 && port->attributes.state == IBV_PORT_ACTIVE) {
			port->number = number;
			return;
		}
	}
	fail("no port of the RDMA device %s is active", device);
}

/* Ethernet needs an address: one of RoCE version 2, for an IPv4 address if there is one. */
static void choose_gid(struct port *port, const char *device)
{
	struct ibv_gid_entry entry;
	int found = 0;

	if (port->attributes.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	for (int index = 0; index < port->attributes.gid_tbl_len; index++) {
		if (ibv_query_gid_ex(port->context, port->number, index, &entry, 0) != 0 || entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		int is_ipv4 = entry.gid.raw[10] == 0xff && entry.gid.raw[11] == 0xff;
		if (!found || is_ipv4)
			port->gid_index = index;
		found = 1;
		if (is_ipv4)
			return;
	}
	if (!found)
		fail("the RDMA device %s has no address: give the network interface under it one", device);
}

static void post_receive(struct port *port, unsigned slot)
{
	struct ibv_sge piece = { .addr = (uintptr_t)(port->memory + (SENDS + slot) * SLOT), .length = SLOT, .lkey = port->region->lkey };
	struct ibv_recv_wr request = { .wr_id = slot, .sg_list = &piece, .num_sge = 1 }, *bad;
	int failed = ibv_post_recv(port->pair, &request, &bad);

	if (failed)
		fail("cannot wait for messages: %s", strerror(failed));
}

static struct port open_port(const char *device, int polls)
{
	struct port port = { .context = find(device) };

	choose_port(&port, device);
	choose_gid(&port, device);
	port.domain = ibv_alloc_pd(port.context);
	port.memory = aligned_alloc(4096, (SENDS + RECEIVES) * SLOT);
	if (!port.domain || !port.memory)
		fail("there is no room for buffers: %s", strerror(errno));
	port.region = ibv_reg_mr(port.domain, port.memory, (SENDS + RECEIVES) * SLOT, IBV_ACCESS_LOCAL_WRITE);
	if (!port.region)
		fail("buffers cannot be handed to %s: %s (ulimit -l says how much memory may be locked)", device, strerror(errno));
	if (!polls && !(port.channel = ibv_create_comp_channel(port.context)))
		fail("%s cannot report completions: %s", device, strerror(errno));
	port.sent = ibv_create_cq(port.context, SENDS, NULL, NULL, 0);
	port.came = ibv_create_cq(port.context, RECEIVES, NULL, port.channel, 0);
	if (!port.sent || !port.came)
		fail("%s has no room for completions: %s", device, strerror(errno));
	struct ibv_qp_init_attr wanted = {
		.send_cq = port.sent, .recv_cq = port.came, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE },
	};
	port.pair = ibv_create_qp(port.domain, &wanted);
	if (!port.pair) {
		wanted.cap.max_inline_data = 0;
		port.pair = ibv_create_qp(port.domain, &wanted);
	}
	if (!port.pair)
		fail("%s makes no connection: %s", device, strerror(errno));
	port.inlined = wanted.cap.max_inline_data;
	struct ibv_qp_attr begun = { .qp_state = IBV_QPS_INIT, .port_num = port.number };
	int failed = ibv_modify_qp(port.pair, &begun, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (failed)
		fail("%s cannot be initialised: %s", device, strerror(failed));
	for (unsigned slot = 0; slot < RECEIVES; slot++)
		post_receive(&port, slot);
	return port;
}

static struct endpoint_address address_of(struct port *port)
{
	struct endpoint_address place = { .pair = port->pair->qp_num, .mtu = port->attributes.active_mtu, .lid = port->attributes.lid };

	if (port->attributes.link_layer == IBV_LINK_LAYER_ETHERNET && ibv_query_gid(port->context, port->number, port->gid_index, &place.gid) != 0)
		fail("cannot read an address: %s", strerror(errno));
	return place;
}

/* Both number their messages from 0 on. */
static void connect_to(struct port *port, const struct endpoint_address *other)
{
	int is_ethernet = port->attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_qp_attr receives = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = other->mtu < port->attributes.active_mtu ? other->mtu : port->attributes.active_mtu,
		.dest_qp_num = other->pair,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {
			.dlid = other->lid, .port_num = port->number, .is_global = is_ethernet,
			.grh = { .dgid = other->gid, .sgid_index = port->gid_index, .hop_limit = 64 },
		},
	};
	int failed = ibv_modify_qp(port->pair, &receives,
				   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (failed)
		fail("the other endpoint cannot be reached: %s", strerror(failed));
	/* Sends again after 4.096 µs * 2^14, up to seven times; without a limit while the other endpoint
	 * has no room. */
	struct ibv_qp_attr sends = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };
	failed = ibv_modify_qp(port->pair, &sends,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (failed)
		fail("nothing can be sent: %s", strerror(failed));
}

static struct sockaddr_un abstract(const char *name, socklen_t *length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
	*length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1);
	return address;
}

/* Exchanges addresses with the other process, and connects. Neither sends before both can
 * receive. */
static void exchange_addresses(struct port *port, const char *name, int listens)
{
	socklen_t length;
	struct sockaddr_un address = abstract(name, &length);
	struct endpoint_address own = address_of(port), other;
	int meeting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer = meeting;
	char both = 0;

	if (listens) {
		if (bind(meeting, (struct sockaddr *)&address, length) != 0 || listen(meeting, 1) != 0)
			fail("the endpoints cannot exchange addresses: %s", strerror(errno));
		say_ready();
		peer = accept(meeting, NULL, NULL);
	} else if (connect(meeting, (struct sockaddr *)&address, length) != 0) {
		fail("the other endpoint is not there: %s", strerror(errno));
	}
	if (write(peer, &own, sizeof own) != sizeof own || recv(peer, &other, sizeof other, MSG_WAITALL) != sizeof other)
		fail("the other endpoint has ended");
	connect_to(port, &other);
	if (write(peer, &both, 1) != 1 || recv(peer, &both, 1, MSG_WAITALL) != 1)
		fail("the other endpoint has ended");
	if (!listens)
		say_ready();
	if (peer != meeting)
		close(peer);
	close(meeting);
}

static void check(const struct ibv_wc *completion)
{
	if (completion->status != IBV_WC_SUCCESS)
		fail("the card gave up a message: %s", ibv_wc_status_str(completion->status));
}

static void reap(struct port *port)
{
	struct ibv_wc completions[SENDS];
	int count = ibv_poll_cq(port->sent, SENDS, completions);

	if (count < 0)
		fail("the card does not report what was sent");
	for (int i = 0; i < count; i++)
		check(&completions[i]);
	port->in_flight -= count;
}

/* Sends from the next slot. A slot is free again once its message has been acknowledged. */
static inline void post(struct port *port, const uint8_t *frame, size_t size)
{
	unsigned slot = port->next++ % SENDS;
	uint8_t *buffer = port->memory + slot * SLOT;
	struct ibv_sge piece = { .addr = (uintptr_t)buffer, .length = size, .lkey = port->region->lkey };
	struct ibv_send_wr request = {
		.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = size <= port->inlined ? IBV_SEND_INLINE : 0,
	}, *bad;

	memcpy(buffer, frame, size);
	int failed = ibv_post_send(port->pair, &request, &bad);
	if (failed)
		fail("cannot send: %s", strerror(failed));
	port->in_flight++;
}

static inline void put(struct port *port, const uint8_t *frame, size_t size)
{
	/* Asks for completions as rarely as possible, as that is not what is timed. */
	while (port->in_flight == SENDS)
		reap(port);
	post(port, frame, size);
}

static unsigned put_many(struct port *port, const uint8_t *frame, size_t size)
{
	unsigned free_slots;

	reap(port);
	free_slots = SENDS - port->in_flight;
	for (unsigned i = 0; i < free_slots; i++)
		post(port, frame, size);
	return free_slots;
}

/* Sleeps until a completion, at most MAX_SLEEP. */
static void sleep_for(struct port *port)
{
	struct pollfd file = { .fd = port->channel->fd, .events = POLLIN };
	struct ibv_cq *queue;
	void *context;

	if (poll(&file, 1, MAX_SLEEP) == 1 && ibv_get_cq_event(port->channel, &queue, &context) == 0)
		ibv_ack_cq_events(queue, 1);
}

static inline int take(struct port *port, uint8_t *into, size_t size)
{
	struct ibv_wc completions[BURST];
	int count = ibv_poll_cq(port->came, BURST, completions), found = 0;

	if (count == 0 && port->channel) {
		/* A completion before the request for a notification is found by polling once more. */
		if (ibv_req_notify_cq(port->came, 0) != 0)
			fail("the card cannot report completions");
		count = ibv_poll_cq(port->came, BURST, completions);
		if (count == 0) {
			sleep_for(port);
			count = ibv_poll_cq(port->came, BURST, completions);
		}
	}
	if (count < 0)
		fail("the card does not report what has arrived");
	for (int i = 0; i < count; i++) {
		check(&completions[i]);
		if (completions[i].byte_len == size) {
			memcpy(into, port->memory + (SENDS + completions[i].wr_id) * SLOT, size);
			found++;
		}
		post_receive(port, completions[i].wr_id);
	}
	return found;
}

int main(int count, char **words)
{
	struct settings settings = read_settings(count, words);
	int polls = strcmp(settings.how, "polling") == 0;
	struct port ports[2];

	if (!polls)
		settings.spins = 1;
	for (int i = 0; i <= settings.alone; i++) {
		char *device = strchr(settings.where[i], ',');

		if (!device)
			fail("expected two words, with a comma, found %s", settings.where[i]);
		*device++ = 0;
		ports[i] = open_port(device, polls);
	}
	if (settings.alone) {
		struct endpoint_address places[2] = { address_of(&ports[0]), address_of(&ports[1]) };

		connect_to(&ports[0], &places[1]);
		connect_to(&ports[1], &places[0]);
		say_ready();
	} else {
		exchange_addresses(&ports[0], settings.where[0], settings.second);
	}
	serve(&ports[0], &ports[settings.alone], &settings, "");
	return 0;
}
