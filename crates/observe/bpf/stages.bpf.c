/* Where a message of our own is, and since when: one record a message, filled in at
 * tracepoints. A message is known by the number in its payload (UDP) or by its place in
 * the stream (TCP). One message at a time is on its way in a direction, so that what the
 * scheduler does to the receiver is done for that one.
 *
 * Every other packet, switch of tasks and socket of the machine passes here, too: what
 * tells them apart with the least work comes first.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds; zero: not seen. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As in src/stages.rs. */
enum stamp {
	QUEUE,   /* the packet is given to the queueing discipline */
	XMIT,    /* and to the driver */
	RECEIVE, /* it is taken in by the receiver's stack: the last one on the way */
	READY,   /* it lies in the socket's queue */
	WAKING,  /* the receiver is about to be woken */
	WAKEUP,  /* it is runnable */
	RUN,     /* it runs */
	COPY,    /* its bytes are copied (of a UDP datagram in one piece there is no tracepoint) */
	STAMPS,
};

#define RECORDS (1 << 16)
#define THERE 0
#define BACK 1
#define UDP 17
#define TCP 6

struct record {
	u64 number; /* of the message, plus one; zero: none */
	u64 at[2][STAMPS];
};

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(RECORDS);
	MAP_KEY(u32);
	MAP_VALUE(struct record);
} records SEC(".maps");

/* What is looked for, written before the programs are loaded: the loader leaves out what
 * it makes impossible. */
const volatile u32 protocol;
const volatile u32 size;     /* bytes of a message */
const volatile u32 ports[2]; /* of the sender and the receiver, as they stand in a packet */
const volatile u32 socks[2]; /* of the receiver's socket, as `skc_portpair` */

/* What has been learnt from the first messages. Afterwards only read, so that every
 * processor keeps it in its cache. */
struct {
	u32 sender[2]; /* the thread that sends in each direction */
	u64 from[2];   /* the device that its messages are sent through first */
	u64 to[2];     /* the last one that they come in at */
	u64 unused[8];
} learnt;

/* What is on its way in each direction. */
struct way {
	u64 queued;   /* message that was last sent, plus one */
	u64 received; /* message that was last received, plus one; zero: its receiver has it */
	u64 last;     /* device at which it was received */
	u64 place;    /* TCP: bytes before `sequence` */
	u32 sequence; /* TCP: the last sequence number, learnt with message 0, where `based` */
	u32 based;
	u32 phase;    /* how far what was received has come: the last stamp, plus one */
	u32 unused[19];
} ways[2];

#define INLINE static __attribute__((always_inline)) inline

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

INLINE u32 turned(u32 big)
{
	return __builtin_bswap32(big);
}

/* Two ways, zero and one, as the verifier sees it, too. */
INLINE struct way *way_of(u32 way)
{
	return &ways[way & 1];
}

INLINE struct record *record_of(u64 number)
{
	u32 place = number & (RECORDS - 1);
	return bpf_map_lookup_elem(&records, &place);
}

struct found {
	u32 way;
	u64 number;
};

/* The message that a segment begins; `first`: it may be the first of a stream. */
INLINE int find_in_stream(const struct packet *packet, struct found *found, int first)
{
	struct way *way = way_of(found->way);
	u32 payload = __builtin_bswap16(packet->length) - 20 - (packet->offset >> 4) * 4;

	if (!payload || payload > 65535 || !size)
		return 0;
	u32 sequence = turned(packet->sequence);
	if (!way->based) {
		if (!first)
			return 0;
		way->sequence = sequence;
		way->based = 1;
	}
	/* Sequence numbers wrap around; between two packets they differ by less than half of that. */
	int ahead = sequence - way->sequence;
	u64 place = way->place + ahead;
	if (ahead > 0) {
		way->sequence = sequence;
		way->place = place;
	}
	if (place % size)
		return 0;
	found->number = place / size;
	return 1;
}

/* Whether the IPv4 packet at `ip` begins a message of ours. */
INLINE int find(const void *ip, struct found *found, int first)
{
	struct packet packet;

	if (bpf_probe_read_kernel(&packet.version, sizeof(packet) - sizeof(packet.unused), ip))
		return 0;
	/* Our own sockets give no options. A later fragment has no ports. */
	if (packet.ports == ports[THERE])
		found->way = THERE;
	else if (packet.ports == ports[BACK])
		found->way = BACK;
	else
		return 0;
	if (packet.version != 0x45 || packet.protocol != protocol || packet.fragment & 0xff1f)
		return 0;
	if (protocol == TCP)
		return find_in_stream(&packet, found, first);
	found->number = packet.number;
	return 1;
}

/* Whether a device is neither of two that are known. */
INLINE int elsewhere(u64 device, const u64 known[2])
{
	return known[THERE] && known[BACK] && device != known[THERE] && device != known[BACK];
}

INLINE void stamp(u32 way, u64 number, u32 which, u64 now)
{
	struct record *record = record_of(number);

	if (record && which < STAMPS)
		record->at[way & 1][which] = now;
}

/* The direction in which the running or named thread receives; 2: none. */
INLINE u32 receives(u32 thread)
{
	if (thread == learnt.sender[BACK])
		return thread ? THERE : 2;
	if (thread == learnt.sender[THERE])
		return thread ? BACK : 2;
	return 2;
}

/* What is received last in a direction has come to `which`. */
INLINE void come_to(u32 towards, u32 which)
{
	struct way *way = way_of(towards);

	if (!way->received || way->phase > which)
		return;
	way->phase = which + 1;
	stamp(towards, way->received - 1, which, bpf_ktime_get_ns());
}

SEC("tp_btf/net_dev_queue")
int net_dev_queue(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	u64 device = (u64)skb->dev;
	struct found found = {};

	if (elsewhere(device, learnt.from) || !find(skb->head + skb->network_header, &found, 1))
		return 0;
	u32 direction = found.way & 1;
	struct way *way = way_of(direction);
	/* Bridges and second devices on the way come later: the first is the sender's. */
	if (way->queued == found.number + 1)
		return 0;
	struct record *record = record_of(found.number);
	if (!record)
		return 0;
	if (direction == THERE) {
		/* A new message in this place: nothing of an older one is left. */
		for (int which = 0; which < STAMPS; which++) {
			record->at[THERE][which] = 0;
			record->at[BACK][which] = 0;
		}
		record->number = found.number + 1;
	}
	record->at[direction][QUEUE] = bpf_ktime_get_ns();
	way->queued = found.number + 1;
	/* Who sends has what it waited for. */
	way_of(direction ^ 1)->received = 0;
	if (!learnt.sender[direction]) {
		learnt.sender[direction] = bpf_get_current_pid_tgid();
		learnt.from[direction] = device;
	}
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int net_dev_start_xmit(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	u64 device = (u64)skb->dev;
	struct found found = {};

	if (elsewhere(device, learnt.from) || !find(skb->head + skb->network_header, &found, 0))
		return 0;
	u32 direction = found.way & 1;
	if (device != learnt.from[direction] || way_of(direction)->queued != found.number + 1)
		return 0;
	struct record *record = record_of(found.number);
	/* What TCP sends again has been sent before. */
	if (record && !record->at[direction][XMIT])
		record->at[direction][XMIT] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	u64 device = (u64)skb->dev;
	struct found found = {};

	/* The link's header has been pulled: the packet begins with its data. */
	if (elsewhere(device, learnt.to) || !find(skb->data, &found, 0))
		return 0;
	struct way *way = way_of(found.way);
	if (way->queued != found.number + 1)
		return 0;
	way->received = found.number + 1;
	way->phase = RECEIVE + 1;
	way->last = device;
	stamp(found.way, found.number, RECEIVE, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sk_data_ready")
int sk_data_ready(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 pair = sk->__sk_common.skc_portpair, way;

	if (pair == socks[THERE])
		way = THERE;
	else if (pair == socks[BACK])
		way = BACK;
	else
		return 0;
	come_to(way, READY);
	if (!learnt.to[way] && way_of(way)->received)
		learnt.to[way] = way_of(way)->last;
	return 0;
}

INLINE int scheduled(u32 thread, u32 which)
{
	u32 way = receives(thread);

	/* Woken by something else, before the message was there, does not count. */
	if (way < 2 && way_of(way)->phase > READY)
		come_to(way, which);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	return scheduled(task->pid, WAKING);
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	return scheduled(task->pid, WAKEUP);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[2];
	return scheduled(task->pid, RUN);
}

SEC("tp_btf/skb_copy_datagram_iovec")
int skb_copy_datagram_iovec(u64 *ctx)
{
	u32 way = receives(bpf_get_current_pid_tgid());

	if (way < 2)
		come_to(way, COPY);
	return 0;
}
