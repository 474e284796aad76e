/* The running thread, and when the scheduler woke and ran it. */
#pragma once

#include "state.h"

INLINE int is_asked_about(u32 tgid)
{
	if (bpf_map_lookup_elem(&members, &tgid))
		return 1;
	u32 parent = bpf_get_current_task_btf()->real_parent->tgid;
	return bpf_map_lookup_elem(&members, &parent) != 0;
}

/* The entry of the running thread, which is added if it is new. */
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

/* Copies when the scheduler woke and ran the reader, since there was something to read. */
INLINE void schedule(u64 *at, u32 ready, const struct thread *thread)
{
	u64 since = at[ready];

	if (!since)
		return;
	at[ready + 1] = thread->waking >= since ? thread->waking : 0;
	at[ready + 2] = thread->wakeup >= since ? thread->wakeup : 0;
	at[ready + 3] = thread->run >= since ? thread->run : 0;
}
