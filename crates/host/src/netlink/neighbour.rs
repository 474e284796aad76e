//! Static entries in IPv4's neighbour table (arp(7)) and in a bridge's forwarding table:
//! `RTM_NEWNEIGH` (rtnetlink(7)).

use crosstalk_core::Fault;
use std::net::Ipv4Addr;

use super::link::index;
use super::socket::Netlink;
use super::wire::Message;

/// Flags of a request that creates an entry, or replaces a learnt one.
const SET: i32 = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;

/// `struct ndmsg`, include/uapi/linux/neighbour.h.
fn header(family: i32, device: u32, state: u16, flags: u8) -> [u8; 12] {
    let mut header = [0; 12];
    header[0] = family as u8;
    header[4..8].copy_from_slice(&device.to_ne_bytes());
    header[8..10].copy_from_slice(&state.to_ne_bytes());
    header[10] = flags;
    header
}

impl Netlink {
    /// Adds a permanent entry to the caller's network namespace: `address` has the hardware
    /// address `hardware` on `device`.
    ///
    /// All namespaces of a host share one neighbour table of
    /// `net.ipv4.neigh.default.gc_thresh3` entries. Permanent entries do not count (since
    /// Linux 5.0, "neighbor: Improve garbage collection").
    ///
    /// # Errors
    /// When the device is not there, or the kernel refuses.
    pub fn add_neighbour(&mut self, device: &str, address: Ipv4Addr, hardware: [u8; 6]) -> Result<(), Fault> {
        let header = header(libc::AF_INET, index(device)?, libc::NUD_PERMANENT, 0);
        let message = Message::new(libc::RTM_NEWNEIGH, SET, &header)
            .with(libc::NDA_DST, &address.octets())
            .with(libc::NDA_LLADDR, &hardware);
        self.request(message, &format!("add {address} to the neighbours of {device}"))
    }

    /// Adds an entry to the bridge of `port`: frames for `hardware` are forwarded to that port.
    ///
    /// # Errors
    /// If the port does not exist or is in no bridge, or the kernel refuses.
    pub fn add_forwarding(&mut self, port: &str, hardware: [u8; 6]) -> Result<(), Fault> {
        // NUD_NOARP is a bridge's word for "static"; NUD_PERMANENT would be the bridge itself.
        let header = header(libc::AF_BRIDGE, index(port)?, libc::NUD_NOARP, libc::NTF_MASTER);
        let message = Message::new(libc::RTM_NEWNEIGH, SET, &header).with(libc::NDA_LLADDR, &hardware);
        self.request(message, &format!("add a forwarding entry for {port}"))
    }
}
