/* What the programs need of the kernel, in the kernel's names. Fields are found by
 * name where a program is loaded (BPF CO-RE), so that a type holds only what is read. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define MAP_TYPE(value) int (*type)[value]
#define MAP_ENTRIES(value) int (*max_entries)[value]
#define MAP_KEY(kind) kind *key
#define MAP_VALUE(kind) kind *value
#define MAP_FLAGS(value) int (*map_flags)[value]
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_MMAPABLE (1 << 10)

/* A map's update: whether or not there is one; only where there is none yet. */
#define BPF_ANY 0
#define BPF_NOEXIST 1
/* A ring buffer's reader looks by itself. */
#define BPF_RB_NO_WAKEUP 1

#define INLINE static __attribute__((always_inline)) inline
#define RELOCATED __attribute__((preserve_access_index))

#define TCP 6
#define UDP 17
#define AF_INET 2
#define AF_INET6 10

struct ns_common {
	u32 inum;
} RELOCATED;

struct net {
	struct ns_common ns;
} RELOCATED;

typedef struct {
	struct net *net;
} RELOCATED possible_net_t;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
} RELOCATED;

struct sock_common {
	/* The other's port as it stands in a packet, then the own one as a number. */
	u32 skc_portpair;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_num;
	u16 skc_dport;
	u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} RELOCATED;

struct list_head {
	struct list_head *next;
} RELOCATED;

struct wait_queue_head {
	struct list_head head;
} RELOCATED;

struct socket_wq {
	struct wait_queue_head wait;
} RELOCATED;

struct sock {
	struct sock_common __sk_common;
	struct socket_wq *sk_wq;
	u16 sk_protocol;
} RELOCATED;

struct inet_sock {
	u16 inet_sport;
} RELOCATED;

struct net_device {
	possible_net_t nd_net;
} RELOCATED;

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	u32 len;
	u16 queue_mapping;
	u16 network_header;
	u16 transport_header;
	unsigned char *head;
	unsigned char *data;
} RELOCATED;

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *real_parent;
} RELOCATED;

/* Helpers by number: include/uapi/linux/bpf.h. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_cgroup_id)(void) = (void *)80;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_ringbuf_output)(void *ring, const void *data, u64 size, u64 flags) = (void *)130;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;

INLINE u16 big16(const u8 *bytes)
{
	return (u16)bytes[0] << 8 | bytes[1];
}

INLINE u32 big32(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}
