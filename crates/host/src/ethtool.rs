//! Segmentation and aggregation offloads of a network device
//! (`SIOCETHTOOL`, include/uapi/linux/ethtool.h).

use crosstalk_core::Fault;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::errno::check;

const SET_TSO: u32 = 0x1f;
const SET_GSO: u32 = 0x24;
const SET_GRO: u32 = 0x2c;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switches TCP segmentation (TSO), generic segmentation (GSO) and generic
/// receive (GRO) offload of `device`, in the caller's network namespace.
///
/// A shaped link needs them off: a segment of 64 KB would pass the shaper as one
/// packet, and arrive all at once, unlike on a wire.
///
/// # Errors
/// If the device does not exist, or refuses.
pub fn set_offloads(device: &str, on: bool) -> Result<(), Fault> {
    let socket = socket()?;
    for (name, command) in [("TSO", SET_TSO), ("GSO", SET_GSO), ("GRO", SET_GRO)] {
        let mut value = EthtoolValue { command, data: u32::from(on) };
        let mut request = named(device);
        request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut value).cast();
        // SAFETY: the request is a whole ifreq whose name ends in a zero and
        // whose data point to a live `ethtool_value`, as these commands ask.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &mut request) })
            .map_err(|e| {
                let state = if on { "on" } else { "off" };
                Fault::environment(format!("cannot switch {name} {state}: {e}")).at(device.to_string())
            })?;
    }
    Ok(())
}

/// A socket in the caller's network namespace, for requests about its devices (netdevice(7)).
pub(crate) fn socket() -> Result<OwnedFd, Fault> {
    // SAFETY: socket takes integers and returns a new descriptor or −1.
    let raw = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
        .map_err(|e| Fault::environment(format!("cannot open a socket: {e}")))?;
    // SAFETY: the kernel has just given this descriptor to us and nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// A request about a device.
pub(crate) fn named(device: &str) -> libc::ifreq {
    // SAFETY: ifreq is bytes and a union of plain data, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_named() {
        let fault = set_offloads("no-such-device", false).expect_err("not there");
        assert_eq!(fault.place.as_deref(), Some("no-such-device"));
    }
}
