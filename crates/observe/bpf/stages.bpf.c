/* Where a message of our own is, and since when: one record a message and direction,
 * filled in at tracepoints. A message is known by the number in its payload (UDP) or by
 * its place in the stream (TCP). One message at a time is on its way in a direction, so
 * that what the scheduler does to the receiver is done for that one.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds; zero: not seen. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As in src/stages.rs. */
enum stamp {
	ENTER,   /* the sender enters its system call */
	QUEUE,   /* the packet is given to the queueing discipline */
	XMIT,    /* and to the driver */
	RECEIVE, /* it is taken in by the receiver's stack: the last one on the way */
	READY,   /* it lies in the socket's queue */
	WAKING,  /* the receiver is about to be woken */
	WAKEUP,  /* it is runnable */
	RUN,     /* it runs */
	COPY,    /* its bytes are copied (of a UDP datagram in one piece there is no tracepoint) */
	EXIT,    /* the receiver leaves its system call */
	STAMPS,
};

#define RECORDS (1 << 16)
#define THERE 0
#define BACK 1

struct record {
	u64 number; /* of the message, plus one; zero: none */
	u64 at[2][STAMPS];
};

/* What is looked for, and what has been found out. */
struct state {
	u32 protocol;
	u32 size;       /* bytes of a message */
	u16 port[2];    /* of the measuring and of the serving end */
	u32 sender[2];  /* thread that sends in each direction: learnt */
	u32 last[2];    /* TCP: the last sequence number, learnt with message 0, where `based` */
	u32 based[2];
	u32 unused;
	u64 place[2];   /* TCP: bytes before it */
	u64 entered[2]; /* when that thread last entered a system call, and which */
	u64 call[2];    /* its number, plus one */
	u64 sending[2]; /* the one in which it sends */
	u64 current[2]; /* message that was last received, plus one */
	u32 phase[2];   /* how far it has come: the last stamp, plus one */
};

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(RECORDS);
	MAP_KEY(u32);
	MAP_VALUE(struct record);
} records SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(u32);
	MAP_VALUE(struct state);
} states SEC(".maps");

INLINE struct state *the_state(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&states, &zero);
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

/* Whether the IPv4 packet at `ip` begins a message of ours; `first`: it may be the first of
 * a stream. */
INLINE int find(struct state *state, const u8 *ip, struct found *found, int first)
{
	u8 head[20], next[20];

	if (bpf_probe_read_kernel(head, sizeof(head), ip))
		return 0;
	if (head[0] >> 4 != 4 || head[9] != state->protocol)
		return 0;
	u32 length = (head[0] & 15) * 4;
	/* A later fragment has no ports. */
	if (big16(head + 6) & 0x1fff)
		return 0;
	if (bpf_probe_read_kernel(next, sizeof(next), ip + length))
		return 0;
	u16 from = big16(next), to = big16(next + 2);
	if (from == state->port[0] && to == state->port[1])
		found->way = THERE;
	else if (from == state->port[1] && to == state->port[0])
		found->way = BACK;
	else
		return 0;
	u32 way = found->way & 1;
	if (state->protocol == UDP) {
		u64 number;

		if (bpf_probe_read_kernel(&number, sizeof(number), ip + length + 8))
			return 0;
		found->number = number;
		return 1;
	}
	u32 payload = big16(head + 2) - length - (next[12] >> 4) * 4;
	if (!payload || payload > 65535 || !state->size)
		return 0;
	u32 sequence = big32(next + 4);
	if (!state->based[way]) {
		if (!first)
			return 0;
		state->last[way] = sequence;
		state->based[way] = 1;
	}
	/* Sequence numbers wrap around; between two packets they differ by less than half of that. */
	int ahead = sequence - state->last[way];
	u64 place = state->place[way] + ahead;
	if (ahead > 0) {
		state->last[way] = sequence;
		state->place[way] = place;
	}
	if (place % state->size)
		return 0;
	found->number = place / state->size;
	return 1;
}

INLINE void stamp(u32 way, u64 number, u32 which, u64 now)
{
	struct record *record = record_of(number);

	if (record && record->number == number + 1 && which < STAMPS)
		record->at[way & 1][which] = now;
}

/* The direction in which the running or named thread receives; 2: none. */
INLINE u32 receives(struct state *state, u32 thread)
{
	if (thread && thread == state->sender[BACK])
		return THERE;
	if (thread && thread == state->sender[THERE])
		return BACK;
	return 2;
}

/* What is received last in a direction has come to `which`. */
INLINE void come_to(struct state *state, u32 way, u32 which, u64 now)
{
	way &= 1;
	if (!state->current[way] || state->phase[way] > which)
		return;
	state->phase[way] = which + 1;
	stamp(way, state->current[way] - 1, which, now);
}

SEC("tp_btf/net_dev_queue")
int net_dev_queue(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct state *state = the_state();
	struct found found = {};

	if (!state || !find(state, skb->head + skb->network_header, &found, 1))
		return 0;
	u32 way = found.way & 1;
	struct record *record = record_of(found.number);
	if (!record)
		return 0;
	if (way == THERE && record->number != found.number + 1) {
		/* A new message in this place: nothing of an older one is left. */
		for (int which = 0; which < STAMPS; which++) {
			record->at[THERE][which] = 0;
			record->at[BACK][which] = 0;
		}
		record->number = found.number + 1;
	}
	/* Bridges and second devices on the way come later: the first is the sender's. */
	if (record->number != found.number + 1 || record->at[way][QUEUE])
		return 0;
	u32 thread = bpf_get_current_pid_tgid();
	if (!state->sender[way])
		state->sender[way] = thread;
	else if (state->sender[way] == thread) {
		record->at[way][ENTER] = state->entered[way];
		/* Later ones can be sent by a timer (pacing), whatever the thread is at. */
		if (!state->sending[way])
			state->sending[way] = state->call[way];
	}
	record->at[way][QUEUE] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int net_dev_start_xmit(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct state *state = the_state();
	struct found found = {};

	if (!state || !find(state, skb->head + skb->network_header, &found, 0))
		return 0;
	struct record *record = record_of(found.number);
	if (record && record->number == found.number + 1 && !record->at[found.way & 1][XMIT])
		record->at[found.way & 1][XMIT] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct state *state = the_state();
	struct found found = {};

	/* The link's header has been pulled: the packet begins with its data. */
	if (!state || !find(state, skb->data, &found, 0))
		return 0;
	u32 way = found.way & 1;
	state->current[way] = found.number + 1;
	state->phase[way] = RECEIVE + 1;
	stamp(way, found.number, RECEIVE, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sk_data_ready")
int sk_data_ready(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct state *state = the_state();

	if (!state)
		return 0;
	u16 own = sk->__sk_common.skc_num, other = sk->__sk_common.skc_dport;
	other = other >> 8 | other << 8;
	if (own == state->port[1] && other == state->port[0])
		come_to(state, THERE, READY, bpf_ktime_get_ns());
	else if (own == state->port[0] && other == state->port[1])
		come_to(state, BACK, READY, bpf_ktime_get_ns());
	return 0;
}

INLINE int scheduled(u32 thread, u32 which)
{
	struct state *state = the_state();

	if (!state)
		return 0;
	u32 way = receives(state, thread);
	/* Woken by something else, before the message was there, does not count. */
	if (way < 2 && state->phase[way] > READY)
		come_to(state, way, which, bpf_ktime_get_ns());
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
	struct state *state = the_state();

	if (!state)
		return 0;
	u32 way = receives(state, bpf_get_current_pid_tgid());
	if (way < 2)
		come_to(state, way, COPY, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx)
{
	struct state *state = the_state();
	u32 thread = bpf_get_current_pid_tgid();

	if (!state || !thread)
		return 0;
	for (u32 way = THERE; way <= BACK; way++) {
		if (thread != state->sender[way])
			continue;
		state->entered[way] = bpf_ktime_get_ns();
		state->call[way] = ctx[1] + 1;
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx)
{
	struct state *state = the_state();

	if (!state)
		return 0;
	u32 way = receives(state, bpf_get_current_pid_tgid());
	if (way > 1 || (long long)ctx[1] <= 0)
		return 0;
	/* A reply can be there before the call that sent its message has ended. */
	u32 own = (way ^ 1) & 1;
	if (state->call[own] != state->sending[own])
		come_to(state, way, EXIT, bpf_ktime_get_ns());
	return 0;
}
