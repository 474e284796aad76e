/* Counts what tasks of certain control groups wait for inside the kernel: for pages that it
 * takes from others on their behalf, and for locks that others hold.
 *
 * Spinlocks are waited for in interrupts, too, whatever task these interrupt: so a wait is
 * known by its lock and its thread. Times are CLOCK_MONOTONIC in nanoseconds. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define GROUPS (1 << 14)
/* include/trace/events/lock.h */
#define LCB_F_MUTEX (1 << 5)
#define WAITING (1 << 14)

/* As in src/waits.rs. */
struct waits {
	u64 reclaiming; /* how long tasks took pages away */
	u64 reclaimed;  /* pages that it took */
	u64 contended;  /* times that a lock was held by others */
	u64 locked_out; /* how long it was */
};

/* By the id of the group (version 2). User space puts in the groups that count. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(GROUPS);
	MAP_KEY(u64);
	MAP_VALUE(struct waits);
} groups SEC(".maps");

struct wait {
	u64 lock; /* zero: reclaim */
	u64 thread;
};

/* When a wait began. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_LRU_HASH);
	MAP_ENTRIES(WAITING);
	MAP_KEY(struct wait);
	MAP_VALUE(u64);
} waiting SEC(".maps");

INLINE struct waits *group(void)
{
	u64 id = bpf_get_current_cgroup_id();

	return bpf_map_lookup_elem(&groups, &id);
}

INLINE void begin(u64 lock, u64 flags)
{
	struct wait wait = { lock, (u32)bpf_get_current_pid_tgid() };
	u64 now = bpf_ktime_get_ns();

	/* What began before and was not seen to end is over. */
	if (group())
		bpf_map_update_elem(&waiting, &wait, &now, flags);
}

/* How long the wait was that ends here; zero: it was not seen to begin. */
INLINE u64 end(u64 lock)
{
	struct wait wait = { lock, (u32)bpf_get_current_pid_tgid() };
	u64 *began = bpf_map_lookup_elem(&waiting, &wait);
	u64 took;

	if (!began)
		return 0;
	took = bpf_ktime_get_ns() - *began;
	bpf_map_delete_elem(&waiting, &wait);
	return took;
}

INLINE int end_reclaim(u64 pages)
{
	struct waits *waits = group();
	u64 took;

	if (!waits)
		return 0;
	took = end(0);
	if (took) {
		__sync_fetch_and_add(&waits->reclaiming, took);
		__sync_fetch_and_add(&waits->reclaimed, pages);
	}
	return 0;
}

/* Because a group has reached its limit. */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int mm_vmscan_memcg_reclaim_begin(u64 *arguments)
{
	begin(0, BPF_ANY);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int mm_vmscan_memcg_reclaim_end(u64 *arguments)
{
	return end_reclaim(arguments[0]);
}

/* Because the machine has no free page. */
SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int mm_vmscan_direct_reclaim_begin(u64 *arguments)
{
	begin(0, BPF_ANY);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int mm_vmscan_direct_reclaim_end(u64 *arguments)
{
	return end_reclaim(arguments[0]);
}

SEC("tp_btf/contention_begin")
int contention_begin(u64 *arguments)
{
	/* A mutex is first waited for on the processor, then asleep: that is one wait. */
	begin(arguments[0], arguments[1] & LCB_F_MUTEX ? BPF_NOEXIST : BPF_ANY);
	return 0;
}

SEC("tp_btf/contention_end")
int contention_end(u64 *arguments)
{
	struct waits *waits = group();
	u64 took;

	if (!waits)
		return 0;
	took = end(arguments[0]);
	if (took) {
		__sync_fetch_and_add(&waits->contended, 1);
		__sync_fetch_and_add(&waits->locked_out, took);
	}
	return 0;
}
