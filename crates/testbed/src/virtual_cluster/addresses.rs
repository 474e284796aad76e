//! The addresses of a cluster's nodes, and the names of their ports at the switch.

use std::net::Ipv4Addr;

/// The most nodes: a kernel bridge has 1,023 usable ports (net/bridge/br_private.h, `BR_MAX_PORTS`).
pub(super) const MAX_NODES: usize = 1_000;

/// A node's address. The cluster has network namespaces of its own, so that its addresses cannot
/// conflict with the host's.
pub(super) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (node / 250) as u8, 1 + (node % 250) as u8)
}

/// The hardware address of a node: a locally administered one (IEEE 802, second bit of the first
/// byte). A node that is created again has the same one, so that its peers still know it.
pub(super) fn hardware(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0, a, b, c, d]
}

/// The name of the switch's device of a node's link.
pub(super) fn port(node: usize) -> String {
    format!("port{node}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_differ_and_stay_in_their_network() {
        let all: std::collections::BTreeSet<_> = (0..MAX_NODES).map(address).collect();
        assert_eq!(all.len(), MAX_NODES);
        assert!(all.iter().all(|a| a.octets()[..2] == [10, 77] && !matches!(a.octets()[3], 0 | 255)));
    }
}
