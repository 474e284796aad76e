//! Whether a network device carries frames.
//!
//! The kernel switches a device on at once, but lets frames through only when it has come
//! to hear that the other end is there, which it does at most once a second for all
//! devices (net/core/link_watch.c): what is sent before is dropped.

use crosstalk_core::Fault;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::errno::check;
use crate::ethtool::{named, socket};

/// How often to look.
const TICK: Duration = Duration::from_millis(2);

/// Waits until `device`, of the caller's network namespace, carries frames.
///
/// # Errors
/// When it is not there, or does not within `deadline`.
pub fn wait(device: &str, deadline: Duration) -> Result<(), Fault> {
    let began = Instant::now();
    let socket = socket()?;
    loop {
        let mut request = named(device);
        // SAFETY: the request is a whole ifreq whose name ends in a zero.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as libc::Ioctl, &mut request) })
            .map_err(|e| Fault::environment(format!("cannot ask about it: {e}")).at(device.to_string()))?;
        // SAFETY: the call has filled in the flags.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        if flags & libc::IFF_RUNNING != 0 {
            return Ok(());
        }
        if began.elapsed() > deadline {
            return Err(Fault::environment("the device has no carrier").at(device.to_string()));
        }
        std::thread::sleep(TICK);
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
