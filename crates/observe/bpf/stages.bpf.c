/* Follows the probes' own messages: which step each has reached, and when. Tracepoints fill
 * in one record for each message. A message is identified by the number in its payload (UDP)
 * or by its position in the stream (TCP). Only one message at a time is on its way in each
 * direction, so that a wake-up of the receiver is for that message.
 *
 * The cost of these programs is part of the measured time. Most of it is the call of a program,
 * so there are only as many programs as stages. The current message of each direction is kept
 * in one cache line, which moves from processor to processor with the message. It is copied
 * into the record when the receiver has the message. All other packets, task switches and
 * sockets of the machine also call these programs: so each program first makes the check that
 * excludes them with the least work.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As in src/stages.rs, whose first stamp is missing here: when the packet was given to the
 * queueing discipline. */
enum stamp {
	XMIT,    /* it is given to the driver */
	RECEIVE, /* the receiver's stack receives it: the last step on the way */
	READY,   /* it is in the socket's queue */
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
	u32 awaited;       /* whether a thread waited at the socket when it was ready */
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

/* The current message of each direction, in a cache line of its own. */
struct way {
	struct leg leg;
	u64 packet; /* its socket buffer, until it is in the socket's queue */
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
	/* The thread that sends in each direction, from the first messages on. It is only read
	 * afterwards, so that every processor has it in its cache. */
	u32 sender[2];
};

/* BPF_F_MMAPABLE aligns it to a page, and so to a cache line. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(u32);
	MAP_VALUE(struct state);
	MAP_FLAGS(BPF_F_MMAPABLE);
} states SEC(".maps");

/* Which messages are traced. Written before the programs are loaded, so that the loader
 * removes branches that these values exclude. */
const volatile u32 protocol;
const volatile u32 size;     /* bytes of a message */
const volatile u32 ports[2]; /* of the sender and the receiver, as they stand in a packet */
const volatile u32 socks[2]; /* of the receiver's socket, as `skc_portpair` */

/* The headers of an IPv4 packet without options and of its UDP datagram or TCP segment,
 * placed so that every field is aligned. */
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
	/* The probes' sockets set no IP options. A later fragment has no ports. */
	if (packet.version != 0x45 || packet.protocol != protocol || packet.fragment & 0xff1f)
		return 0;
	if (protocol == TCP)
		return find_in_stream(&state->streams[found->way & 1], &packet, found, first);
	found->number = packet.number;
	return 1;
}

/* Stores the nanoseconds since the message was queued, at most the largest number. */
INLINE void stamp(struct leg *leg, u32 which)
{
	u64 after = bpf_ktime_get_ns() - leg->queued;

	leg->after[which] = after > 0xffffffff ? 0xffffffff : after;
	leg->phase = which + 1;
}

/* Copies a message that its receiver has into the message's record. */
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
	/* The first device is the sender's; bridges and other devices on the way come later. */
	if (way->leg.number == found.number + 1)
		return 0;
	/* A sender has received the message that it waited for. */
	close(&state->ways[direction ^ 1].leg, direction ^ 1);
	struct leg leg = { .number = found.number + 1, .queued = bpf_ktime_get_ns() };
	way->leg = leg;
	way->packet = (u64)skb;
	if (!state->sender[direction])
		state->sender[direction] = bpf_get_current_pid_tgid();
	return 0;
}

/* The direction of the message in a socket buffer. From the queueing discipline to the socket's
 * queue the buffer holds that message only. */
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
		/* Over a real wire it arrives in another buffer. The link's header was removed:
		 * the packet begins at `data`. */
		if (!find(state, skb->data, &found, 0))
			return 0;
		way = &state->ways[found.way & 1];
		if (way->leg.number != found.number + 1)
			return 0;
	}
	/* With several devices on the way it is received several times. */
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

/* Notes that the message for thread `thread` has reached step `which`. */
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
