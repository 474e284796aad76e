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
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_F_MMAPABLE (1 << 10)

#define RELOCATED __attribute__((preserve_access_index))

struct sk_buff {
	u16 network_header;
	unsigned char *head;
	unsigned char *data;
} RELOCATED;

struct sock_common {
	/* The other's port as it stands in a packet, then the own one as a number. */
	u32 skc_portpair;
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
} RELOCATED;

struct task_struct {
	int pid;
} RELOCATED;

/* Helpers by number: include/uapi/linux/bpf.h. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
