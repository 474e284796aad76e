/* One or both ends of messages through RDMA verbs (libibverbs; a reliable connection, send and
 * receive): the application hands buffers to the card, or to what stands in for one, and asks
 * the card itself for what has come. How it is called, and what it tells: end.h.
 *
 * HOW    polling: completions are asked for again and again; blocking: they are slept for.
 * WHERE  "NAME,DEVICE": the first active port of that RDMA device. Two processes tell each other
 *        where they are over a local socket of that name, at which the second one listens. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "end.h"

enum { SENDS = 32, RECEIVES = 64, SLOT = 2048, BURST = 16 };
/* Milliseconds for which one that sleeps does so before it looks whether to go on. */
enum { NAP = 100 };
/* Bytes that are asked to be carried in the request itself. */
enum { INLINE = 128 };

struct port {
	struct ibv_context *context;
	struct ibv_pd *domain;
	/* Where what comes is told; none where it is asked for. */
	struct ibv_comp_channel *channel;
	struct ibv_cq *sent, *came;
	struct ibv_qp *pair;
	struct ibv_mr *region;
	struct ibv_port_attr attributes;
	uint8_t *memory;
	uint8_t number;
	int gid_index;
	unsigned next, on_their_way, inlined;
};

/* Where an end is. */
struct place {
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
		fail("the RDMA device %s does not say what it can do: %s", device, strerror(errno));
	for (int number = 1; number <= all.phys_port_cnt; number++) {
		if (ibv_query_port(port->context, number, &port->attributes) == 0 && port->attributes.state == IBV_PORT_ACTIVE) {
			port->number = number;
			return;
		}
	}
	fail("no port of the RDMA device %s is active", device);
}

/* Over Ethernet an address is needed: one of RoCE version 2, of an IPv4 address if there is one. */
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
		fail("%s does not tell what comes: %s", device, strerror(errno));
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
		fail("%s does not begin: %s", device, strerror(failed));
	for (unsigned slot = 0; slot < RECEIVES; slot++)
		post_receive(&port, slot);
	return port;
}

static struct place place_of(struct port *port)
{
	struct place place = { .pair = port->pair->qp_num, .mtu = port->attributes.active_mtu, .lid = port->attributes.lid };

	if (port->attributes.link_layer == IBV_LINK_LAYER_ETHERNET && ibv_query_gid(port->context, port->number, port->gid_index, &place.gid) != 0)
		fail("cannot read an address: %s", strerror(errno));
	return place;
}

/* Both send from number 0 on. */
static void connect_to(struct port *port, const struct place *other)
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
		fail("the other end cannot be reached: %s", strerror(failed));
	/* 4.096 µs times two to the 14th until it is sent again; seven times; for ever where the
	 * other end has no room. */
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

/* Tells the other process where this end is, and hears where that one is. Neither sends before
 * both can receive. */
static void meet(struct port *port, const char *name, int listens)
{
	socklen_t length;
	struct sockaddr_un address = abstract(name, &length);
	struct place own = place_of(port), other;
	int meeting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer = meeting;
	char both = 0;

	if (listens) {
		if (bind(meeting, (struct sockaddr *)&address, length) != 0 || listen(meeting, 1) != 0)
			fail("the ends cannot meet: %s", strerror(errno));
		say_ready();
		peer = accept(meeting, NULL, NULL);
	} else if (connect(meeting, (struct sockaddr *)&address, length) != 0) {
		fail("the other end is not there: %s", strerror(errno));
	}
	if (write(peer, &own, sizeof own) != sizeof own || recv(peer, &other, sizeof other, MSG_WAITALL) != sizeof other)
		fail("the other end is gone");
	connect_to(port, &other);
	if (write(peer, &both, 1) != 1 || recv(peer, &both, 1, MSG_WAITALL) != 1)
		fail("the other end is gone");
	if (!listens)
		say_ready();
	if (peer != meeting)
		close(peer);
	close(meeting);
}

static void check(const struct ibv_wc *told)
{
	if (told->status != IBV_WC_SUCCESS)
		fail("the card gave a message up: %s", ibv_wc_status_str(told->status));
}

static void reap(struct port *port)
{
	struct ibv_wc told[SENDS];
	int count = ibv_poll_cq(port->sent, SENDS, told);

	if (count < 0)
		fail("the card does not say what was sent");
	for (int i = 0; i < count; i++)
		check(&told[i]);
	port->on_their_way -= count;
}

/* In the order of their slots; a slot is free again once its message is known to have come. */
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
	port->on_their_way++;
}

static inline void put(struct port *port, const uint8_t *frame, size_t size)
{
	/* Asked for as seldom as it can be: it is not what is timed. */
	while (port->on_their_way == SENDS)
		reap(port);
	post(port, frame, size);
}

static unsigned put_many(struct port *port, const uint8_t *frame, size_t size)
{
	unsigned free_slots;

	reap(port);
	free_slots = SENDS - port->on_their_way;
	for (unsigned i = 0; i < free_slots; i++)
		post(port, frame, size);
	return free_slots;
}

/* Sleeps until something has come, or for a nap. */
static void sleep_for(struct port *port)
{
	struct pollfd file = { .fd = port->channel->fd, .events = POLLIN };
	struct ibv_cq *queue;
	void *context;

	if (poll(&file, 1, NAP) == 1 && ibv_get_cq_event(port->channel, &queue, &context) == 0)
		ibv_ack_cq_events(queue, 1);
}

static inline int take(struct port *port, uint8_t *into, size_t size)
{
	struct ibv_wc told[BURST];
	int count = ibv_poll_cq(port->came, BURST, told), found = 0;

	if (count == 0 && port->channel) {
		/* What comes between asking and being told is found by asking once more. */
		if (ibv_req_notify_cq(port->came, 0) != 0)
			fail("the card does not tell what comes");
		count = ibv_poll_cq(port->came, BURST, told);
		if (count == 0) {
			sleep_for(port);
			count = ibv_poll_cq(port->came, BURST, told);
		}
	}
	if (count < 0)
		fail("the card does not say what has come");
	for (int i = 0; i < count; i++) {
		check(&told[i]);
		if (told[i].byte_len == size) {
			memcpy(into, port->memory + (SENDS + told[i].wr_id) * SLOT, size);
			found++;
		}
		post_receive(port, told[i].wr_id);
	}
	return found;
}

int main(int count, char **words)
{
	struct order order = begin_order(count, words);
	int polls = strcmp(order.how, "polling") == 0;
	struct port ports[2];

	if (!polls)
		order.spins = 1;
	for (int i = 0; i <= order.alone; i++) {
		char *device = strchr(order.where[i], ',');

		if (!device)
			fail("expected two words, with a comma, found %s", order.where[i]);
		*device++ = 0;
		ports[i] = open_port(device, polls);
	}
	if (order.alone) {
		struct place places[2] = { place_of(&ports[0]), place_of(&ports[1]) };

		connect_to(&ports[0], &places[1]);
		connect_to(&ports[1], &places[0]);
		say_ready();
	} else {
		meet(&ports[0], order.where[0], order.second);
	}
	serve(&ports[0], &ports[order.alone], &order, "");
	return 0;
}
