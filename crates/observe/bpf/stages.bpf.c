/* Where a message of our own is, and since when: one record a message, filled in at
 * tracepoints. A message is known by the number in its payload (UDP) or by its place in
 * the stream (TCP). One message at a time is on its way in a direction, so that what the
 * scheduler does to the receiver is done for that one.
 *
 * What this costs is part of what is timed, and most of it is that a program is called at
 * all: there are no more of them than stages. What is on its way in a direction is kept in
 * one line of memory, which goes from processor to processor as the message does, and is
 * written into the record when its receiver has it. And every other packet, switch of tasks
 * and socket of the machine passes here, too: what tells them apart with the least work
 * comes first.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As in src/stages.rs; the first of all is when the packet was given to the queueing
 * discipline. */
enum stamp {
	XMIT,    /* it is given to the driver */
	RECEIVE, /* it is taken in by the receiver's stack: the last one on the way */
	READY,   /* it lies in the socket's queue */
	WAKEUP,  /* the receiver is runnable */
	RUN,     /* it runs */
	STAMPS,
	CLOSED = STAMPS + 1, /* the receiver has it */
};

#define RECORDS (1 << 16)
#define THERE 0
#define BACK 1

/* A message's way in one direction. */
struct leg {
	u64 number;        /* of the message, plus one; zero: none */
	u64 queued;        /* when it was given to the queueing discipline */
	u32 after[STAMPS]; /* nanoseconds since then; zero: not seen */
	u32 awaited;       /* whether somebody waited at the socket when it was ready */
	u32 phase;         /* the stamp that is next at the earliest */
	u32 unused;
};

struct record {
	struct leg legs[2];
};

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(RECORDS);
	MAP_KEY(u32);
	MAP_VALUE(struct record);
} records SEC(".maps");

/* What is on its way in each direction: a line of the cache each. */
struct way {
	struct leg leg;
	u64 packet; /* its socket buffer, until it lies in the socket's queue */
	u64 unused;
};

/* TCP: the last sequence number, learnt with message 0, where `based`, and bytes before it. */
struct stream {
	u64 place;
	u32 sequence;
	u32 based;
};

struct state {
	struct way ways[2];
	struct stream streams[2];
	u64 unused[4];
	/* The thread that sends in each direction, learnt from the first messages: afterwards
	 * only read, so that every processor keeps it. */
	u32 sender[2];
};

/* Begins with a page, and so with a line of the cache, since it could be mapped. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(u32);
	MAP_VALUE(struct state);
	MAP_FLAGS(BPF_F_MMAPABLE);
} states SEC(".maps");

/* What is looked for, written before the programs are loaded: the loader leaves out what
 * it makes impossible. */
const volatile u32 protocol;
const volatile u32 size;     /* bytes of a message */
const volatile u32 ports[2]; /* of the sender and the receiver, as they stand in a packet */
const volatile u32 socks[2]; /* of the receiver's socket, as `skc_portpair` */

/* An IPv4 packet's beginning, without options, and its datagram's or segment's; so placed
 * that every field is aligned. */
struct packet {
	u32 unused;
	u8 version;
	u8 service;
	u16 length;
	u16 identification;
	u16 fragment;
	u8 hops;
	u8 protocol;
	u16 check;
	u32 from;
	u32 to;
	u32 ports;
	u32 sequence; /* UDP: length and checksum */
	union {
		u64 number; /* UDP: the payload's first eight bytes */
		struct {
			u32 acknowledged;
			u8 offset;
			u8 flags;
			u16 window;
		};
	};
};

struct found {
	u32 way;
	u64 number;
};

INLINE struct state *the_state(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&states, &zero);
}

/* The message that a segment begins; `first`: it may be the first of a stream. */
INLINE int find_in_stream(struct stream *stream, const struct packet *packet, struct found *found, int first)
{
	u32 payload = __builtin_bswap16(packet->length) - 20 - (packet->offset >> 4) * 4;

	if (!payload || payload > 65535 || !size)
		return 0;
	u32 sequence = __builtin_bswap32(packet->sequence);
	if (!stream->based) {
		if (!first)
			return 0;
		stream->sequence = sequence;
		stream->based = 1;
	}
	/* Sequence numbers wrap around; between two packets they differ by less than half of that. */
	int ahead = sequence - stream->sequence;
	u64 place = stream->place + ahead;
	if (ahead > 0) {
		stream->sequence = sequence;
		stream->place = place;
	}
	if (place % size)
		return 0;
	found->number = place / size;
	return 1;
}

/* Whether the IPv4 packet at `ip` begins a message of ours. */
INLINE int find(struct state *state, const void *ip, struct found *found, int first)
{
	struct packet packet;

	if (bpf_probe_read_kernel(&packet.version, sizeof(packet) - sizeof(packet.unused), ip))
		return 0;
	if (packet.ports == ports[THERE])
		found->way = THERE;
	else if (packet.ports == ports[BACK])
		found->way = BACK;
	else
		return 0;
	/* Our own sockets give no options. A later fragment has no ports. */
	if (packet.version != 0x45 || packet.protocol != protocol || packet.fragment & 0xff1f)
		return 0;
	if (protocol == TCP)
		return find_in_stream(&state->streams[found->way & 1], &packet, found, first);
	found->number = packet.number;
	return 1;
}

/* Nanoseconds since the message was queued; what is longer than can be told stands for itself. */
INLINE void stamp(struct leg *leg, u32 which)
{
	u64 after = bpf_ktime_get_ns() - leg->queued;

	leg->after[which] = after > 0xffffffff ? 0xffffffff : after;
	leg->phase = which + 1;
}

/* What its receiver has goes into the message's record. */
INLINE void close(struct leg *leg, u32 way)
{
	u32 place = (leg->number - 1) & (RECORDS - 1);
	struct record *record = bpf_map_lookup_elem(&records, &place);

	if (!leg->number || !record)
		return;
	record->legs[way & 1] = *leg;
	leg->phase = CLOSED;
}

SEC("tp_btf/net_dev_queue")
int net_dev_queue(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct state *state = the_state();
	struct found found = {};

	if (!state || !find(state, skb->head + skb->network_header, &found, 1))
		return 0;
	u32 direction = found.way & 1;
	struct way *way = &state->ways[direction];
	/* Bridges and second devices on the way come later: the first is the sender's. */
	if (way->leg.number == found.number + 1)
		return 0;
	/* Who sends has what it waited for. */
	close(&state->ways[direction ^ 1].leg, direction ^ 1);
	struct leg leg = { .number = found.number + 1, .queued = bpf_ktime_get_ns() };
	way->leg = leg;
	way->packet = (u64)skb;
	if (!state->sender[direction])
		state->sender[direction] = bpf_get_current_pid_tgid();
	return 0;
}

/* The way that a socket buffer is on. It is the message's own, and nobody else's, from the
 * queueing discipline to the socket's queue. */
INLINE struct way *way_of(struct state *state, u64 packet)
{
	if (state->ways[THERE].packet == packet)
		return &state->ways[THERE];
	if (state->ways[BACK].packet == packet)
		return &state->ways[BACK];
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int net_dev_start_xmit(u64 *ctx)
{
	struct state *state = the_state();
	struct way *way = state ? way_of(state, ctx[0]) : 0;

	/* Later devices on the way do not count. */
	if (way && way->leg.phase <= XMIT)
		stamp(&way->leg, XMIT);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct state *state = the_state();
	struct found found = {};

	if (!state)
		return 0;
	struct way *way = way_of(state, ctx[0]);
	if (!way) {
		/* Over a real wire it comes in another buffer. The link's header has been pulled:
		 * the packet begins with its data. */
		if (!find(state, skb->data, &found, 0))
			return 0;
		way = &state->ways[found.way & 1];
		if (way->leg.number != found.number + 1)
			return 0;
	}
	/* Between devices on the way it is taken in several times. */
	if (way->leg.phase > XMIT && way->leg.phase <= READY)
		stamp(&way->leg, RECEIVE);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int sk_data_ready(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 pair = sk->__sk_common.skc_portpair;
	struct state *state;
	struct way *way;

	if (pair != socks[THERE] && pair != socks[BACK])
		return 0;
	state = the_state();
	if (!state)
		return 0;
	way = &state->ways[pair == socks[THERE] ? THERE : BACK];
	if (way->leg.phase != READY)
		return 0;
	stamp(&way->leg, READY);
	way->packet = 0;
	struct socket_wq *queue = sk->sk_wq;
	way->leg.awaited = (u64)queue->wait.head.next != (u64)&queue->wait.head;
	return 0;
}

/* What thread `thread` is to receive has come to `which`. */
INLINE int come_to(u32 thread, u32 which)
{
	struct state *state = the_state();
	struct leg *leg;

	if (!state || !thread)
		return 0;
	if (thread == state->sender[BACK])
		leg = &state->ways[THERE].leg;
	else if (thread == state->sender[THERE])
		leg = &state->ways[BACK].leg;
	else
		return 0;
	/* What happens to it before the message is there, or when it has it, does not count. */
	if (leg->phase <= READY || leg->phase == CLOSED)
		return 0;
	if (which == WAKEUP) {
		if (leg->after[WAKEUP])
			return 0;
		/* It ran before it slept. */
		leg->after[RUN] = 0;
	} else if (leg->phase > which)
		return 0;
	stamp(leg, which);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	return come_to(task->pid, WAKEUP);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[2];
	return come_to(task->pid, RUN);
}
