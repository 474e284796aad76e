//! Devices and addresses: `RTM_NEWLINK`, `RTM_NEWADDR`, `RTM_DELLINK`.

use crosstalk_core::Fault;
use std::ffi::CString;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::socket::Netlink;
use super::wire::Message;

/// Flags of a request that creates something; if it exists already, that is an error.
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

/// `VETH_INFO_PEER`, include/uapi/linux/veth.h.
const VETH_PEER: u16 = 1;

/// `struct ifinfomsg` for device `index`; `flags` are set or cleared where `change` says so.
pub(super) fn device_header(index: u32, flags: i32, change: i32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&change.to_ne_bytes());
    header
}

/// The index of a device in the caller's network namespace.
pub(super) fn index(device: &str) -> Result<u32, Fault> {
    let name = CString::new(device).map_err(|_| Fault::environment("a device name holds a zero byte"))?;
    // SAFETY: the name ends in a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Fault::environment(format!("there is no network device {device}"))),
        index => Ok(index),
    }
}

impl Netlink {
    /// Creates a veth pair, two connected devices: `here`, with the address `hardware`, and
    /// `there` in the network namespace of the open file `elsewhere`.
    ///
    /// # Errors
    /// If a name is taken, or the kernel refuses.
    pub fn create_veth(
        &mut self,
        here: &str,
        hardware: [u8; 6],
        there: &str,
        elsewhere: BorrowedFd<'_>,
    ) -> Result<(), Fault> {
        let namespace = elsewhere.as_raw_fd().to_ne_bytes();
        let message = Message::new(libc::RTM_NEWLINK, CREATE, &device_header(0, 0, 0))
            .with_text(libc::IFLA_IFNAME, here)
            .with(libc::IFLA_ADDRESS, &hardware)
            .nest(libc::IFLA_LINKINFO, |info| {
                info.with_text(libc::IFLA_INFO_KIND, "veth").nest(libc::IFLA_INFO_DATA, |data| {
                    data.nest(VETH_PEER, |peer| {
                        peer.raw(&device_header(0, 0, 0))
                            .with_text(libc::IFLA_IFNAME, there)
                            .with(libc::IFLA_NET_NS_FD, &namespace)
                    })
                })
            });
        self.request(message, &format!("make the link {here}–{there}"))
    }

    /// Sets the hardware address of a device, which must be off.
    ///
    /// # Errors
    /// When it is not there, or the kernel refuses.
    pub fn set_hardware_address(&mut self, device: &str, address: [u8; 6]) -> Result<(), Fault> {
        let message = Message::new(libc::RTM_NEWLINK, 0, &device_header(index(device)?, 0, 0))
            .with(libc::IFLA_ADDRESS, &address);
        self.request(message, &format!("give {device} a hardware address"))
    }

    /// Switches a device on.
    ///
    /// # Errors
    /// When it is not there, or the kernel refuses.
    pub fn switch_on(&mut self, device: &str) -> Result<(), Fault> {
        let header = device_header(index(device)?, libc::IFF_UP, libc::IFF_UP);
        self.request(Message::new(libc::RTM_NEWLINK, 0, &header), &format!("switch {device} on"))
    }

    /// Removes a device, and its peer.
    ///
    /// # Errors
    /// When it is not there, or the kernel refuses.
    pub fn delete_device(&mut self, device: &str) -> Result<(), Fault> {
        let header = device_header(index(device)?, 0, 0);
        self.request(Message::new(libc::RTM_DELLINK, 0, &header), &format!("remove {device}"))
    }

    /// Adds an address to a device; the first `prefix` bits are the network's.
    ///
    /// # Errors
    /// When the device is not there, or the kernel refuses.
    pub fn add_address(&mut self, device: &str, address: Ipv4Addr, prefix: u8) -> Result<(), Fault> {
        // struct ifaddrmsg: family, prefix length, flags, scope (0: universe), device.
        let mut header = [0; 8];
        header[0] = libc::AF_INET as u8;
        header[1] = prefix;
        header[4..8].copy_from_slice(&index(device)?.to_ne_bytes());
        let mask = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
        let broadcast = Ipv4Addr::from(u32::from(address) | mask);
        let message = Message::new(libc::RTM_NEWADDR, CREATE, &header)
            .with(libc::IFA_LOCAL, &address.octets())
            .with(libc::IFA_ADDRESS, &address.octets())
            .with(libc::IFA_BROADCAST, &broadcast.octets());
        self.request(message, &format!("give {device} the address {address}"))
    }
}
