/* Hands every frame that arrives on a queue to the AF_XDP socket of that queue. */
#include "kernel.h"

#define BPF_MAP_TYPE_XSKMAP 17
#define XDP_PASS 2
#define QUEUES 64

/* include/uapi/linux/bpf.h */
struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;

struct {
	MAP_TYPE(BPF_MAP_TYPE_XSKMAP);
	MAP_ENTRIES(QUEUES);
	MAP_KEY(u32);
	MAP_VALUE(u32);
} sockets SEC(".maps");

/* A queue without a socket: the kernel's protocols get the frame. */
SEC("xdp")
int redirect(struct xdp_md *frame)
{
	return bpf_redirect_map(&sockets, frame->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
