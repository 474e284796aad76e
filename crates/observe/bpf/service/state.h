/* The state of connections and threads, and the records of exchanges. */
#pragma once

#include "../kernel.h"

/* As in src/service/exchange.rs. */
enum stamp {
	SEND,      /* the client begins to send */
	QUEUE,     /* its packet is given to the queueing discipline */
	XMIT,      /* and to the driver */
	RECEIVE,   /* the server's stack receives it */
	READY,     /* it is in the socket's queue */
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
	FOREIGN,     /* read by a process that is not traced */
	NO_ROOM,     /* requests on connections that there was no room for */
	UNASKED,     /* the server sent without a request */
	AGAIN,       /* packets that were retransmitted */
	COUNTS,
};

#define CONNECTIONS (1 << 16)
#define THREADS (1 << 14)
#define ESTABLISHED 1
#define CLOSED 7
/* The prefix of an IPv4 address in IPv6, ::ffff:0:0/96, in the byte order of memory. */
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
	u16 cpu;      /* that received it */
	u16 queue;    /* of the device, plus one; zero: not known */
	u16 read_cpu; /* on which it was read */
	u16 unused[3];
};

struct connection {
	struct exchange now;
	u64 off_before; /* of the reader, when it had read */
	u32 phase;
	u32 seen;  /* the client's sequence numbers before this one have arrived */
	u32 based; /* whether `seen` is known */
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
	u32 some;   /* only `members` and their children are traced */
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

/* An empty connection, which is too large for the stack of a program. */
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
