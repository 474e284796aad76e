/* The beginning of an exchange, of its answer, and its end. */
#pragma once

#include "state.h"

/* Whether all steps of an exchange that can be seen have been seen. */
INLINE int is_whole(const struct exchange *exchange)
{
	return exchange->at[A_XMIT] && (!exchange->at[SEND] || exchange->at[A_READ]);
}

/* Ends the exchange on a connection: records it, or counts why it is not recorded. */
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

/* The connection with this key, which is added if it is new. */
INLINE struct connection *know(const struct key *key)
{
	u32 zero = 0;
	struct connection *none = bpf_map_lookup_elem(&blank, &zero);

	if (none)
		bpf_map_update_elem(&connections, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&connections, key);
}

/* Notes that the client begins to send a request. */
INLINE void asks(struct connection *connection, const struct key *key, u64 now)
{
	if (connection->phase == ASKED)
		return;
	finish(connection, OVERLAPPED);
	begin(connection, key);
	connection->now.at[SEND] = now;
}

/* Notes that the server begins to send an answer. */
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
