//! Waiting for a network device's carrier.
//!
//! The kernel switches a device on at once, but drops frames until it has noticed the carrier. It
//! checks for carriers at most once a second (net/core/link_watch.c).

use crosstalk_core::Fault;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::errno::check;
use crate::ethtool::{named, socket};

/// How often the carrier is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits until `device`, in the caller's network namespace, carries frames.
///
/// # Errors
/// If it does not exist, or has no carrier within `deadline`.
pub fn wait(device: &str, deadline: Duration) -> Result<(), Fault> {
    let began = Instant::now();
    let socket = socket()?;
    loop {
        let mut request = named(device);
        // SAFETY: the request is a whole ifreq whose name ends in a zero.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as libc::Ioctl, &mut request) })
            .map_err(|e| Fault::environment(format!("cannot read its flags: {e}")).at(device.to_string()))?;
        // SAFETY: the call has filled in the flags.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        if flags & libc::IFF_RUNNING != 0 {
            return Ok(());
        }
        if began.elapsed() > deadline {
            return Err(Fault::environment("the device has no carrier").at(device.to_string()));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_carries_frames_and_a_missing_device_is_named() {
        wait("lo", Duration::from_secs(1)).expect("is on");
        let fault = wait("no-such-device", Duration::ZERO).expect_err("not there");
        assert_eq!(fault.place.as_deref(), Some("no-such-device"));
    }
}
