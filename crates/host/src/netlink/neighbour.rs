//! Who is where on a link: `RTM_NEWNEIGH` (rtnetlink(7)), for IPv4's neighbour
//! table (arp(7)) and for a bridge's forwarding table.

use crosstalk_core::Fault;
use std::net::Ipv4Addr;

use super::link::index;
use super::socket::Socket;
use super::wire::Message;

/// Creates, or replaces what was learnt.
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

impl Socket {
    /// Has the caller's network namespace know for ever that `address` is at
    /// `hardware` on `device`.
    ///
    /// All namespaces of a host share one neighbour table of
    /// `net.ipv4.neigh.default.gc_thresh3` entries; what was set by hand does
    /// not count (since Linux 5.0, "neighbor: Improve garbage collection").
    ///
    /// # Errors
    /// When the device is not there, or the kernel refuses.
    pub fn neighbour(&mut self, device: &str, address: Ipv4Addr, hardware: [u8; 6]) -> Result<(), Fault> {
        let header = header(libc::AF_INET, index(device)?, libc::NUD_PERMANENT, 0);
        let message = Message::new(libc::RTM_NEWNEIGH, SET, &header)
            .with(libc::NDA_DST, &address.octets())
            .with(libc::NDA_LLADDR, &hardware);
        self.request(message, &format!("tell {device} where {address} is"))
    }

    /// Has the bridge that `port` is plugged into send there what is for
    /// `hardware`, without having seen it.
    ///
    /// # Errors
    /// When the port is not there or in no bridge, or the kernel refuses.
    pub fn forward(&mut self, port: &str, hardware: [u8; 6]) -> Result<(), Fault> {
        // NUD_NOARP is a bridge's word for "static"; NUD_PERMANENT would be the bridge itself.
        let header = header(libc::AF_BRIDGE, index(port)?, libc::NUD_NOARP, libc::NTF_MASTER);
        let message = Message::new(libc::RTM_NEWNEIGH, SET, &header).with(libc::NDA_LLADDR, &hardware);
        self.request(message, &format!("tell the switch what is behind {port}"))
    }
}
