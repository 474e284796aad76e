//! Static neighbour entries: nodes that know each other's hardware addresses from the start.
//!
//! All namespaces of a host share one neighbour table, by default of 1,024 entries. 33 nodes
//! that all communicate need more, and get "No route to host". Static entries do not count, so
//! each node gets them for its peers. They also keep address resolution out of measurements.

use crosstalk_core::Fault;
use crosstalk_host::sysctl;

/// In clusters of at most this many nodes each knows all others: 65,280 entries of half a
/// KiB of kernel memory. Kernels before 6.13 visit all of them for each node that ends, so
/// there cannot be many more.
const MAX_FULL_MESH: usize = 256;

/// The host's limit of entries by address resolution, in all its namespaces.
const LIMIT: &str = "net.ipv4.neigh.default.gc_thresh3";

/// The peers for which `node` gets entries: all others. In a large cluster only node 0 gets all
/// others, and all others get node 0, which programs need to start and to end.
pub(super) fn known(node: usize, count: usize) -> impl Iterator<Item = usize> {
    let known = if node == 0 || count <= MAX_FULL_MESH { 0..count } else { 0..1 };
    known.filter(move |peer| *peer != node)
}

/// A note for the results of a large cluster.
pub(super) fn note(count: usize) -> Option<String> {
    let limit = sysctl::read(LIMIT).map(|limit| format!(" ({limit} here)")).unwrap_or_default();
    (count > MAX_FULL_MESH).then(|| {
        format!(
            "except for node 0, nodes find each other by ARP, and all nodes together have at most {LIMIT} \
             pairs{limit}: with more, a program gets \"No route to host\""
        )
    })
}

/// Adds the most likely remedy to a refusal.
pub(super) fn explain(fault: Fault) -> Fault {
    // Linux before 5.0 counts static entries too.
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
