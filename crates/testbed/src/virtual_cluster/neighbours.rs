//! Which nodes know each other's hardware addresses from the start.
//!
//! All namespaces of a host share one neighbour table, by default of 1,024
//! entries: 33 nodes that all talk to each other need more, and are then told
//! "No route to host". Entries set by hand do not count there, so nodes are
//! told of each other; that also keeps address resolution out of what is measured.

use crosstalk_core::Fault;
use crosstalk_host::sysctl;
use std::net::Ipv4Addr;

/// In clusters of at most this many nodes each knows all others: 65,280 entries
/// of half a KiB of kernel memory. Kernels before 6.13 walk through all of them
/// for each node that ends, so there cannot be many more.
const MOST_IN_FULL: usize = 256;

/// The host's limit on what is found by address resolution, in all its namespaces.
const LIMIT: &str = "net.ipv4.neigh.default.gc_thresh3";

/// A locally administered address (IEEE 802, second bit of the first byte) that
/// a node made anew has again, so that its peers still know it.
pub(super) fn hardware(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0, a, b, c, d]
}

/// The peers that `node` is told of: all others, or in a large cluster only
/// node 0, and node 0 all others: this is what a program's start and end need.
pub(super) fn known(node: usize, count: usize) -> impl Iterator<Item = usize> {
    let told = if node == 0 || count <= MOST_IN_FULL { 0..count } else { 0..1 };
    told.filter(move |peer| *peer != node)
}

/// What a reader of a large cluster's results must know.
pub(super) fn note(count: usize) -> Option<String> {
    let limit = sysctl::read(LIMIT).map(|limit| format!(" ({limit} here)")).unwrap_or_default();
    (count > MOST_IN_FULL).then(|| {
        format!(
            "beyond node 0, nodes find each other by ARP, and all nodes together keep at most {LIMIT} \
             pairs{limit}: more, and a program is told \"No route to host\""
        )
    })
}

/// What a refusal most likely means.
pub(super) fn explain(fault: Fault) -> Fault {
    // Linux before 5.0 counts what was set by hand too.
    fault.remedy(format!("make the host's neighbour table larger: sudo sysctl -w {LIMIT}=70000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nodes_all_know_each_other_and_many_know_node_0() {
        let pairs = |count: usize| -> usize { (0..count).map(|node| known(node, count).count()).sum() };
        assert_eq!(pairs(1), 0);
        assert_eq!(pairs(64), 64 * 63);
        assert_eq!(pairs(1000), 2 * 999);
        assert_eq!(known(7, 1000).collect::<Vec<_>>(), [0]);
        assert_eq!(known(2, 4).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!((note(256), note(257).is_some()), (None, true));
    }
}
