//! A connection to the kernel's routing subsystem.

use crosstalk_core::Fault;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::wire::{HEADER, Message, attributes, u16_at, u32_at};
use crate::errno::{check, check_size};
use crate::refusal;

/// The attribute of an acknowledgement that contains the kernel's message
/// (`NLMSGERR_ATTR_MSG`, Documentation/userspace-api/netlink/intro.rst).
const ERROR_MESSAGE: u16 = 1;

/// Set in an acknowledgement that carries attributes.
const HAS_ATTRIBUTES: u16 = 0x200;

/// A connection to the kernel's network configuration (rtnetlink), in the network namespace in
/// which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a connection in the caller's network namespace.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open() -> Result<Netlink, Fault> {
        open().map_err(|e| refusal::fault("open a netlink socket", e))
    }

    /// Sends a request and waits for its acknowledgement. `what` completes "cannot …".
    pub(super) fn request(&mut self, message: Message, what: &str) -> Result<(), Fault> {
        self.exchange(message).map_err(|Refusal { error, message }| {
            let step = if message.is_empty() { what.to_string() } else { format!("{what} ({message})") };
            match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => refusal::fault(&step, error),
                Some(libc::EOPNOTSUPP | libc::ENOENT) => {
                    Fault::environment(format!("cannot {step}: {error}")).remedy(
                        "the kernel needs the modules veth, bridge and sch_tbf: sudo modprobe -a veth bridge sch_tbf",
                    )
                }
                _ => Fault::environment(format!("cannot {step}: {error}")),
            }
        })
    }

    fn exchange(&mut self, message: Message) -> Result<(), Refusal> {
        self.sequence += 1;
        let bytes = message.finish(self.sequence);
        // SAFETY: pointer and length describe the live buffer.
        check_size(unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) })?;
        let mut answer = vec![0; 8192];
        loop {
            // SAFETY: pointer and length describe the live buffer.
            let length = check_size(unsafe {
                libc::recv(self.socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
            })?;
            if let Some(result) = acknowledgement(&answer[..length], self.sequence) {
                return result;
            }
        }
    }
}

fn open() -> io::Result<Netlink> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes integers and returns a new descriptor or −1.
    let raw = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
    // SAFETY: the kernel has just given this descriptor to us and nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // The kernel answers within the request's system call. The deadline should never be reached.
    let deadline = libc::timeval { tv_sec: 10, tv_usec: 0 };
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &deadline)?;
    // Kernels before 4.12 have no messages, only error numbers.
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        let _ = set(&socket, libc::SOL_NETLINK, option, &1i32);
    }
    Ok(Netlink { socket, sequence: 0 })
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer and size describe the live value, of the type that the option takes.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), size)
    })?;
    Ok(())
}

/// An error number, and the kernel's message about it.
struct Refusal {
    error: io::Error,
    message: String,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal { error, message: String::new() }
    }
}

/// The acknowledgement of request `sequence` in `bytes`; `None` if they are about another one.
fn acknowledgement(bytes: &[u8], sequence: u32) -> Option<Result<(), Refusal>> {
    if u16_at(bytes, 4)? != libc::NLMSG_ERROR as u16 || u32_at(bytes, 8)? != sequence {
        return None;
    }
    let code = u32_at(bytes, HEADER)? as i32;
    if code == 0 {
        return Some(Ok(()));
    }
    // The number is followed by the request's header; its rest is left out (`NETLINK_CAP_ACK`).
    let behind = bytes.get(HEADER + 4 + HEADER..).unwrap_or_default();
    let message = attributes(if u16_at(bytes, 6)? & HAS_ATTRIBUTES != 0 { behind } else { &[] })
        .into_iter()
        .find(|(kind, _)| *kind == ERROR_MESSAGE)
        .map(|(_, text)| String::from_utf8_lossy(text).trim_end_matches('\0').to_string());
    Some(Err(Refusal { error: io::Error::from_raw_os_error(-code), message: message.unwrap_or_default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_of_another_request_is_skipped() {
        let mut bytes = vec![0; 36];
        bytes[4..6].copy_from_slice(&2u16.to_ne_bytes());
        bytes[8..12].copy_from_slice(&7u32.to_ne_bytes());
        assert!(acknowledgement(&bytes, 6).is_none());
        assert!(matches!(acknowledgement(&bytes, 7), Some(Ok(()))));
        bytes[16..20].copy_from_slice(&(-17i32).to_ne_bytes());
        let Some(Err(refused)) = acknowledgement(&bytes, 7) else { panic!("an error") };
        assert_eq!(refused.error.raw_os_error(), Some(17));
    }

    #[test]
    fn a_refusal_is_reported_with_its_step() {
        let mut socket = Netlink::open().expect("rtnetlink is there");
        let fault = socket.switch_on("no-such-device").expect_err("not there");
        assert!(fault.message.contains("no-such-device"), "{fault}");
    }
}
