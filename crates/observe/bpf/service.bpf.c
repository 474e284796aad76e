/* Follows requests to a service: which step each has reached, and when.
 *
 * An *exchange* is a request on a connection and its answer. It begins with the first bytes
 * that the client sends after an answer, and ends when the client sends again. Each connection
 * has one record with its current exchange. When the exchange ends, the record goes to user
 * space through a ring buffer, without waking a reader. The scheduler's times are kept for each
 * thread, and copied into the record when that thread reads.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds; zero: not seen. */
#include "service/exchanges.h"
#include "service/sides.h"
#include "service/threads.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* ---- the scheduler ---- */

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	u32 number = ((struct task_struct *)ctx[0])->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &number);

	if (thread)
		thread->waking = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	u32 number = ((struct task_struct *)ctx[0])->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &number);

	if (thread)
		thread->wakeup = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	u32 old = ((struct task_struct *)ctx[1])->pid, new = ((struct task_struct *)ctx[2])->pid;
	struct thread *goes = bpf_map_lookup_elem(&threads, &old);

	if (goes)
		goes->since = bpf_ktime_get_ns();
	struct thread *comes = bpf_map_lookup_elem(&threads, &new);
	if (!comes)
		return 0;
	comes->run = bpf_ktime_get_ns();
	if (comes->since)
		comes->off += comes->run - comes->since;
	comes->since = 0;
	return 0;
}

/* ---- on a packet's way ---- */

SEC("tp_btf/tcp_sendmsg_locked")
int tcp_sendmsg_locked(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct config *config = the_config();
	struct key key = {};

	if (!config)
		return 0;
	u32 side = side_of(config, sk, &key);
	if (side == NEITHER)
		return 0;
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection)
		return 0;
	if (side == CLIENT)
		asks(connection, &key, bpf_ktime_get_ns());
	else
		answers(connection, bpf_ktime_get_ns());
	return 0;
}

/* The connection of a packet that is sent; 0 if it is not traced, or the packet has no bytes. */
INLINE struct connection *sent(struct config *config, struct sk_buff *skb, struct key *key, u32 *side)
{
	struct sock *sk = skb->sk;

	if (!sk)
		return 0;
	*side = side_of(config, sk, key);
	if (*side == NEITHER || !has_bytes(skb))
		return 0;
	return bpf_map_lookup_elem(&connections, key);
}

/* Notes that the first packet of a request or an answer has reached step `which`. Later packets
 * and retransmissions do not count. */
INLINE void passes(struct connection *connection, u32 side, u32 which, u64 now)
{
	u64 *at = connection->now.at;

	if (side == CLIENT && connection->phase == ASKED && at[SEND] && !at[SEND + which])
		at[SEND + which] = now;
	if (side == SERVER && connection->phase == ANSWERED && !at[ANSWER + which])
		at[ANSWER + which] = now;
}

SEC("tp_btf/net_dev_queue")
int net_dev_queue(u64 *ctx)
{
	struct config *config = the_config();
	struct key key = {};
	u32 side = NEITHER;

	if (!config)
		return 0;
	struct connection *connection = sent(config, (void *)ctx[0], &key, &side);
	if (!connection)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (!config->sends && side == CLIENT)
		asks(connection, &key, now);
	else if (!config->sends)
		answers(connection, now);
	passes(connection, side, QUEUE, now);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int net_dev_start_xmit(u64 *ctx)
{
	struct config *config = the_config();
	struct key key = {};
	u32 side = NEITHER;

	if (!config)
		return 0;
	struct connection *connection = sent(config, (void *)ctx[0], &key, &side);
	if (connection)
		passes(connection, side, XMIT, bpf_ktime_get_ns());
	return 0;
}

/* Notes that the server's stack has received a packet of a request. */
INLINE void asked(struct sk_buff *skb, const struct key *key, const struct segment *segment)
{
	struct connection *connection = bpf_map_lookup_elem(&connections, key);

	if (!connection)
		connection = know(key);
	if (!connection) {
		count(NO_ROOM);
		return;
	}
	if (connection->based && (int)(segment->end - connection->seen) <= 0) {
		count(AGAIN);
		return;
	}
	connection->seen = segment->end;
	connection->based = 1;
	if (connection->phase != ASKED) {
		/* The client is on another machine, or connected before tracing began. */
		finish(connection, OVERLAPPED);
		begin(connection, key);
	}
	struct exchange *now = &connection->now;
	now->packets++;
	if (now->at[RECEIVE])
		return;
	now->at[RECEIVE] = bpf_ktime_get_ns();
	now->cpu = bpf_get_smp_processor_id();
	now->queue = skb->queue_mapping;
}

SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct config *config = the_config();
	struct key key = {};
	struct segment segment;

	if (!config)
		return 0;
	u32 side = from(config, skb, &key, &segment);
	if (side == CLIENT)
		asked(skb, &key, &segment);
	if (side != SERVER)
		return 0;
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection || !connection->now.at[A_XMIT] || connection->now.at[A_RECEIVE])
		return 0;
	connection->now.at[A_RECEIVE] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sk_data_ready")
int sk_data_ready(u64 *ctx)
{
	struct config *config = the_config();
	struct key key = {};

	if (!config)
		return 0;
	u32 side = side_of(config, (void *)ctx[0], &key);
	if (side == NEITHER)
		return 0;
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection)
		return 0;
	u64 *at = connection->now.at;
	if (side == SERVER && at[RECEIVE] && !at[READY])
		at[READY] = bpf_ktime_get_ns();
	if (side == CLIENT && at[A_RECEIVE] && !at[A_READY])
		at[A_READY] = bpf_ktime_get_ns();
	return 0;
}

/* Notes that the server has read from the connection. */
INLINE void reads(struct config *config, struct connection *connection)
{
	struct exchange *exchange = &connection->now;
	u32 number;

	if (connection->phase != ASKED || !exchange->at[RECEIVE])
		return;
	struct thread *thread = running(config, &number);
	if (!thread)
		return;
	if (!thread->asked_about) {
		connection->phase = IDLE;
		count(FOREIGN);
		return;
	}
	u64 now = bpf_ktime_get_ns();
	if (!exchange->at[READ]) {
		schedule(exchange->at, READY, thread);
		exchange->at[READ] = now;
		exchange->read_cpu = bpf_get_smp_processor_id();
	}
	exchange->at[LAST_READ] = now;
	exchange->reader = number;
	connection->off_before = thread->off;
}

/* Notes that the client has read from the connection. */
INLINE void reads_answer(struct config *config, struct connection *connection)
{
	struct exchange *exchange = &connection->now;
	u32 number;

	if (connection->phase != ANSWERED || !exchange->at[SEND] || !exchange->at[A_RECEIVE])
		return;
	u64 now = bpf_ktime_get_ns();
	if (!exchange->at[A_READ]) {
		struct thread *thread = running(config, &number);
		if (thread)
			schedule(exchange->at, A_READY, thread);
		exchange->asker = number;
		exchange->at[A_READ] = now;
	}
	exchange->at[A_LAST_READ] = now;
}

SEC("tp_btf/sock_recv_length")
int sock_recv_length(u64 *ctx)
{
	struct config *config = the_config();
	struct key key = {};

	if (!config || (int)ctx[1] <= 0)
		return 0;
	u32 side = side_of(config, (void *)ctx[0], &key);
	if (side == NEITHER)
		return 0;
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (connection && side == SERVER)
		reads(config, connection);
	else if (connection)
		reads_answer(config, connection);
	return 0;
}

/* ---- a connection's beginning and end ---- */

INLINE void ended(struct key *key, u32 side)
{
	struct connection *connection = bpf_map_lookup_elem(&connections, key);

	if (!connection)
		return;
	/* The server's socket may be closed before a client on this machine has read. */
	if (side == SERVER && connection->phase == ANSWERED && connection->now.at[SEND])
		return;
	finish(connection, connection->phase == ANSWERED ? UNREAD : UNANSWERED);
	bpf_map_delete_elem(&connections, key);
}

SEC("tp_btf/inet_sock_set_state")
int inet_sock_set_state(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct config *config = the_config();
	struct key key = {};
	u32 state = ctx[2];
	u16 own;

	if (!config || (state != ESTABLISHED && state != CLOSED) || sk->sk_protocol != TCP)
		return 0;
	/* A closed socket has released its port, but still has its number. */
	if (bpf_probe_read_kernel(&own, sizeof(own), &((struct inet_sock *)sk)->inet_sport))
		return 0;
	u32 side = side_by(config, sk, swapped(own), &key);
	if (side == NEITHER)
		return 0;
	if (state == CLOSED)
		ended(&key, side);
	/* A client's connection is recorded once it may send; its server is then on this machine. */
	else if (side == SERVER || fold(key.client) == key.server)
		know(&key);
	return 0;
}
