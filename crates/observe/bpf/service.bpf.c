/* Where requests to a service that is not ours are, and since when.
 *
 * An *exchange* is what a client sends on a connection until it has been answered: it begins
 * with the first bytes after an answer, and is over when the client sends again. One record
 * a connection holds the exchange that is on its way; when it is over it goes to user space
 * through a ring buffer that wakes nobody. The scheduler's times are kept by thread and
 * taken over when that thread reads.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds; zero: not seen. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As in src/service/exchange.rs. */
enum stamp {
	SEND,      /* the client begins to send */
	QUEUE,     /* its packet is given to the queueing discipline */
	XMIT,      /* and to the driver */
	RECEIVE,   /* the server's stack takes it in */
	READY,     /* it lies in the socket's queue */
	WAKING,    /* the server's thread is about to be woken */
	WAKEUP,    /* it is runnable */
	RUN,       /* it runs */
	READ,      /* it has read for the first time */
	LAST_READ, /* and for the last time before it answers */
	ANSWER,    /* it begins to send the answer: from here on the same, back to the client */
	A_QUEUE,
	A_XMIT,
	A_RECEIVE,
	A_READY,
	A_WAKING,
	A_WAKEUP,
	A_RUN,
	A_READ,
	A_LAST_READ, /* the client has read all of the answer */
	STAMPS,
};

/* As in src/service/counts.rs. */
enum count {
	BEGUN,       /* exchanges */
	RECORDED,    /* given to user space */
	FULL,        /* no room in the ring buffer */
	OVERLAPPED,  /* the client sent again before it had read the answer */
	UNANSWERED,  /* the connection ended before the answer */
	UNREAD,      /* the connection ended before the client had read it */
	FOREIGN,     /* read by a process that was not asked about */
	NO_ROOM,     /* requests on connections that there was no room for */
	UNASKED,     /* what the server sent without having been asked */
	AGAIN,       /* packets that had been there before */
	COUNTS,
};

#define CONNECTIONS (1 << 16)
#define THREADS (1 << 14)
#define ESTABLISHED 1
#define CLOSED 7
/* IPv4 addresses as IPv6 has them: ::ffff:0:0/96, as it lies in memory. */
#define MAPPED 0xffff0000

enum phase { IDLE, ASKED, ANSWERED };

/* A connection, by its client. */
struct key {
	u32 client[4];
	u32 server; /* its address, folded */
	u16 client_port;
	u16 server_port;
};

struct exchange {
	struct key key;
	u64 at[STAMPS];
	u64 off;      /* how long the server's thread was on no CPU in between, plus one */
	u32 reader;   /* the server's thread */
	u32 asker;    /* the client's, where it is here */
	u32 packets;  /* of the request */
	u16 cpu;      /* that took it in */
	u16 queue;    /* of the device, plus one; zero: not told */
	u16 read_cpu; /* on which it was read */
	u16 unused[3];
};

struct connection {
	struct exchange now;
	u64 off_before; /* of the reader, when it had read */
	u32 phase;
	u32 seen;  /* the client's sequence numbers before this one have been there */
	u32 based; /* whether that is known */
	u32 unused;
};

/* A thread that reads, and its last sleep. */
struct thread {
	u64 waking, wakeup, run;
	u64 since; /* when it left its CPU; zero: it runs */
	u64 off;   /* time on no CPU, in all */
	u32 tgid;
	u32 asked_about;
};

struct config {
	u32 netns;  /* its inode number */
	u32 some;   /* only `members` are asked about, and their children */
	u32 sends;  /* whether tcp_sendmsg_locked is seen */
	u32 unused;
	u64 ports[1024]; /* a bit each */
};

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(u32);
	MAP_VALUE(struct config);
} configs SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1024);
	MAP_KEY(u32);
	MAP_VALUE(u32);
} members SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(CONNECTIONS);
	MAP_KEY(struct key);
	MAP_VALUE(struct connection);
} connections SEC(".maps");

/* One that has seen nothing: more than the stack has room for. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(u32);
	MAP_VALUE(struct connection);
} blank SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_LRU_HASH);
	MAP_ENTRIES(THREADS);
	MAP_KEY(u32);
	MAP_VALUE(struct thread);
} threads SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_ENTRIES(COUNTS);
	MAP_KEY(u32);
	MAP_VALUE(u64);
} counts SEC(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_RINGBUF);
	MAP_ENTRIES(1 << 24);
} finished SEC(".maps");

INLINE struct config *the_config(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&configs, &zero);
}

INLINE void count(u32 which)
{
	u64 *counted = bpf_map_lookup_elem(&counts, &which);

	if (counted)
		*counted += 1;
}

INLINE int is_traced(struct config *config, u16 port)
{
	return config->ports[(port >> 6) & 1023] >> (port & 63) & 1;
}

INLINE u16 swapped(u16 port)
{
	return port >> 8 | port << 8;
}

INLINE u32 fold(const u32 *address)
{
	return address[0] ^ address[1] ^ address[2] ^ address[3];
}

/* ---- whose socket, whose packet ---- */

enum side { NEITHER, SERVER, CLIENT };

INLINE void addresses(struct sock *sk, u32 *own, u32 *other)
{
	if (sk->__sk_common.skc_family == AF_INET6) {
		bpf_probe_read_kernel(own, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(other, 16, &sk->__sk_common.skc_v6_daddr);
		return;
	}
	own[0] = own[1] = other[0] = other[1] = 0;
	own[2] = other[2] = MAPPED;
	own[3] = sk->__sk_common.skc_rcv_saddr;
	other[3] = sk->__sk_common.skc_daddr;
}

/* Which end of a traced connection a socket with this port of its own is. */
INLINE u32 side_by(struct config *config, struct sock *sk, u16 own, struct key *key)
{
	u16 other = swapped(sk->__sk_common.skc_dport);
	u32 server[4];

	u32 side = is_traced(config, own) ? SERVER : is_traced(config, other) ? CLIENT : NEITHER;
	if (side == NEITHER || sk->__sk_common.skc_net.net->ns.inum != config->netns)
		return NEITHER;
	u16 family = sk->__sk_common.skc_family;
	if (family != AF_INET && family != AF_INET6)
		return NEITHER;
	if (side == SERVER) {
		addresses(sk, server, key->client);
		key->client_port = other;
		key->server_port = own;
	} else {
		addresses(sk, key->client, server);
		key->client_port = own;
		key->server_port = other;
	}
	key->server = fold(server);
	return side;
}

/* Which end of a traced connection a socket is. */
INLINE u32 side_of(struct config *config, struct sock *sk, struct key *key)
{
	return side_by(config, sk, sk->__sk_common.skc_num, key);
}

struct segment {
	u32 end; /* the sequence number after it */
	u32 begin;
};

/* The side that a packet comes from, and its bytes, where it has any and is of a traced
 * connection; `skb` begins with its network header. */
INLINE u32 from(struct config *config, struct sk_buff *skb, struct key *key, struct segment *segment)
{
	u8 ip[40], tcp[14];
	u32 source[4] = {}, destination[4] = {};
	u32 head, whole;

	if (bpf_probe_read_kernel(ip, sizeof(ip), skb->data))
		return NEITHER;
	if (ip[0] >> 4 == 4) {
		/* A later fragment has no ports. */
		if (ip[9] != TCP || big16(ip + 6) & 0x1fff)
			return NEITHER;
		head = (ip[0] & 15) * 4;
		whole = big16(ip + 2);
		source[2] = destination[2] = MAPPED;
		__builtin_memcpy(&source[3], ip + 12, 4);
		__builtin_memcpy(&destination[3], ip + 16, 4);
	} else if (ip[0] >> 4 == 6 && ip[6] == TCP) {
		head = 40;
		whole = big16(ip + 4) ? big16(ip + 4) + 40 : 0;
		__builtin_memcpy(source, ip + 8, 16);
		__builtin_memcpy(destination, ip + 24, 16);
	} else {
		return NEITHER;
	}
	if (bpf_probe_read_kernel(tcp, sizeof(tcp), skb->data + head))
		return NEITHER;
	u16 own = big16(tcp), other = big16(tcp + 2);
	u32 side = is_traced(config, other) ? CLIENT : is_traced(config, own) ? SERVER : NEITHER;
	if (side == NEITHER)
		return NEITHER;
	/* Larger than its header can tell: what the stack has joined. */
	if (!whole)
		whole = skb->len;
	u32 heads = head + (tcp[12] >> 4) * 4;
	if (whole <= heads || skb->dev->nd_net.net->ns.inum != config->netns)
		return NEITHER;
	segment->begin = big32(tcp + 4);
	segment->end = segment->begin + whole - heads;
	if (side == CLIENT) {
		__builtin_memcpy(key->client, source, 16);
		key->server = fold(destination);
		key->client_port = own;
		key->server_port = other;
	} else {
		__builtin_memcpy(key->client, destination, 16);
		key->server = fold(source);
		key->client_port = other;
		key->server_port = own;
	}
	return side;
}

/* Whether a packet that is being sent has bytes of the stream. */
INLINE int has_bytes(struct sk_buff *skb)
{
	unsigned char *tcp = skb->head + skb->transport_header;
	u8 offset;

	if (bpf_probe_read_kernel(&offset, 1, tcp + 12))
		return 0;
	return skb->len > (u32)(tcp - skb->data) + (offset >> 4) * 4;
}

/* ---- exchanges ---- */

/* Whether all that can be seen of it has been. */
INLINE int is_whole(const struct exchange *exchange)
{
	return exchange->at[A_XMIT] && (!exchange->at[SEND] || exchange->at[A_READ]);
}

/* The exchange on a connection is over. */
INLINE void finish(struct connection *connection, u32 otherwise)
{
	if (connection->phase == IDLE)
		return;
	connection->phase = IDLE;
	if (!is_whole(&connection->now))
		count(otherwise);
	else if (bpf_ringbuf_output(&finished, &connection->now, sizeof(connection->now), BPF_RB_NO_WAKEUP))
		count(FULL);
	else
		count(RECORDED);
}

INLINE void begin(struct connection *connection, const struct key *key)
{
	struct exchange *now = &connection->now;

	now->key = *key;
	for (int which = 0; which < STAMPS; which++)
		now->at[which] = 0;
	now->off = 0;
	now->reader = 0;
	now->asker = 0;
	now->packets = 0;
	connection->phase = ASKED;
	count(BEGUN);
}

/* There is one from now on. */
INLINE struct connection *know(const struct key *key)
{
	u32 zero = 0;
	struct connection *none = bpf_map_lookup_elem(&blank, &zero);

	if (none)
		bpf_map_update_elem(&connections, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&connections, key);
}

/* The client begins to send. */
INLINE void asks(struct connection *connection, const struct key *key, u64 now)
{
	if (connection->phase == ASKED)
		return;
	finish(connection, OVERLAPPED);
	begin(connection, key);
	connection->now.at[SEND] = now;
}

/* The server begins to send. */
INLINE void answers(struct connection *connection, u64 now)
{
	struct exchange *exchange = &connection->now;

	if (connection->phase == IDLE)
		count(UNASKED);
	if (connection->phase != ASKED || !exchange->at[READ])
		return;
	connection->phase = ANSWERED;
	exchange->at[ANSWER] = now;
	u32 thread = bpf_get_current_pid_tgid();
	struct thread *reader = bpf_map_lookup_elem(&threads, &thread);
	if (reader && thread == exchange->reader)
		exchange->off = reader->off - connection->off_before + 1;
}

/* ---- threads ---- */

INLINE int is_asked_about(u32 tgid)
{
	if (bpf_map_lookup_elem(&members, &tgid))
		return 1;
	u32 parent = bpf_get_current_task_btf()->real_parent->tgid;
	return bpf_map_lookup_elem(&members, &parent) != 0;
}

/* The running thread, known from now on. */
INLINE struct thread *running(struct config *config, u32 *number)
{
	u64 both = bpf_get_current_pid_tgid();
	u32 tgid = both >> 32;

	*number = both;
	struct thread *thread = bpf_map_lookup_elem(&threads, number);
	if (thread && thread->tgid == tgid)
		return thread;
	struct thread new = { .tgid = tgid };
	new.asked_about = !config->some || is_asked_about(tgid);
	bpf_map_update_elem(&threads, number, &new, 0);
	return bpf_map_lookup_elem(&threads, number);
}

/* Takes over what the scheduler did to the reader since there was something to read. */
INLINE void schedule(u64 *at, u32 ready, const struct thread *thread)
{
	u64 since = at[ready];

	if (!since)
		return;
	at[ready + 1] = thread->waking >= since ? thread->waking : 0;
	at[ready + 2] = thread->wakeup >= since ? thread->wakeup : 0;
	at[ready + 3] = thread->run >= since ? thread->run : 0;
}

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

/* A packet of a traced connection is sent: the connection, where it has bytes. */
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

/* The first packet of a request or an answer has come to `which`; later ones, and what is
 * sent again, do not count. */
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

/* A request's packet is taken in. */
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
		/* From a client that is not here, or that began before we did. */
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

/* The server has read. */
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

/* The client has read. */
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
	/* The server's socket may be gone before the client, which is here, has read. */
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
	/* A socket that is closed has given its port back, but still knows it. */
	if (bpf_probe_read_kernel(&own, sizeof(own), &((struct inet_sock *)sk)->inet_sport))
		return 0;
	u32 side = side_by(config, sk, swapped(own), &key);
	if (side == NEITHER)
		return 0;
	if (state == CLOSED)
		ended(&key, side);
	/* A client's end is known as soon as it may send, where its server is surely here, too. */
	else if (side == SERVER || fold(key.client) == key.server)
		know(&key);
	return 0;
}
