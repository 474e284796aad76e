//! Bridges: switches in software (`Documentation/networking/bridge.rst`).

use crosstalk_core::Fault;

use super::link::{device_header, index};
use super::socket::Netlink;
use super::wire::Message;

/// `IFLA_BR_MCAST_SNOOPING`, include/uapi/linux/if_link.h.
const MULTICAST_SNOOPING: u16 = 23;

impl Netlink {
    /// Creates a switch without spanning tree, so that ports forward at once, and without
    /// multicast snooping, so that it sends no frames of its own.
    ///
    /// # Errors
    /// If the name is taken, or the kernel refuses.
    pub fn create_bridge(&mut self, name: &str) -> Result<(), Fault> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let message = Message::new(libc::RTM_NEWLINK, flags, &device_header(0, 0, 0))
            .with_text(libc::IFLA_IFNAME, name)
            .nest(libc::IFLA_LINKINFO, |info| {
                info.with_text(libc::IFLA_INFO_KIND, "bridge")
                    .nest(libc::IFLA_INFO_DATA, |data| data.with(MULTICAST_SNOOPING, &[0]))
            });
        self.request(message, &format!("make the switch {name}"))
    }

    /// Connects a device to a switch, and switches the device on.
    ///
    /// # Errors
    /// If either does not exist, or the kernel refuses (a bridge has 1,023 ports).
    pub fn add_to_bridge(&mut self, device: &str, bridge: &str) -> Result<(), Fault> {
        let header = device_header(index(device)?, libc::IFF_UP, libc::IFF_UP);
        let message = Message::new(libc::RTM_NEWLINK, 0, &header)
            .with(libc::IFLA_MASTER, &index(bridge)?.to_ne_bytes());
        self.request(message, &format!("connect {device} to {bridge}"))
    }
}
