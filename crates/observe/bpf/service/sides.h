/* The side of a traced connection, server or client, that a socket or a packet belongs to. */
#pragma once

#include "state.h"

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

/* The side that a socket with the local port `own` belongs to. */
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

/* The side that a socket belongs to. */
INLINE u32 side_of(struct config *config, struct sock *sk, struct key *key)
{
	return side_by(config, sk, sk->__sk_common.skc_num, key);
}

struct segment {
	u32 end; /* the sequence number after it */
	u32 begin;
};

/* The side that sent a packet, and the packet's segment; NEITHER if the packet has no bytes, or
 * its connection is not traced. `skb` begins with its network header. */
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
	/* Too large for the length in its header: the stack has joined several packets. */
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
