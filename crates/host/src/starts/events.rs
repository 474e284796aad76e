//! Events of processes: the kernel reports a program when it runs already (`PROC_EVENT_EXEC` of the process events
//! connector, `Documentation/driver-api/connector.rst`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::{mem, ptr};

use crate::errno::{check, check_size};

/// Bytes of `struct nlmsghdr`, of `struct cn_msg`, and of the fields of `struct proc_event` before its data
/// (include/uapi/linux/{netlink,connector,cn_proc}.h).
const NETLINK: usize = 16;
const CONNECTOR: usize = 20;
const EVENT: usize = 16;
/// `CN_IDX_PROC` and `CN_VAL_PROC`.
const PROCESSES: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`.
const LISTEN: u32 = 1;
/// `PROC_EVENT_EXEC`.
const EXEC: u32 = 2;
/// The most messages that are read at once: whoever reads them has other things to do as well.
const MOST: usize = 1000;
/// Bytes of events that may wait.
const QUEUE: libc::c_int = 4 << 20;

/// Programs that have been started.
#[derive(Debug)]
pub struct ProcessEvents {
    socket: OwnedFd,
}

impl ProcessEvents {
    /// Begins to receive events.
    ///
    /// # Errors
    /// If this user may not, or the kernel has no process events.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket takes integers and returns a new descriptor or −1.
        let raw = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_CONNECTOR) })?;
        // SAFETY: the kernel has just given this descriptor to us and nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: a sockaddr_nl is integers, for which zero is valid.
        let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = PROCESSES;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: pointer and length describe the live address.
        check(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) })?;
        let length = size_of_val(&QUEUE) as libc::socklen_t;
        // A smaller queue loses more; that is counted.
        // SAFETY: pointer and length describe a live integer.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                ptr::from_ref(&QUEUE).cast(),
                length,
            )
        };
        let request = request();
        // SAFETY: pointer and length describe the live buffer.
        check_size(unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) })?;
        Ok(ProcessEvents { socket })
    }

    /// The processes that have started a program, without waiting for one. Events that were lost (ENOBUFS of
    /// netlink(7)) are skipped.
    ///
    /// # Errors
    /// Those of recv(2).
    pub fn read(&self) -> io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        let mut bytes = [0_u8; 4096];
        for _ in 0..MOST {
            // SAFETY: pointer and length describe the live buffer.
            let received = check_size(unsafe {
                libc::recv(self.socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0)
            });
            match received {
                Ok(length) => pids.extend(executed(&bytes[..length])),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(pids),
                Err(e) => return Err(e),
            }
        }
        Ok(pids)
    }
}

impl AsFd for ProcessEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The message that begins the events.
fn request() -> Vec<u8> {
    let total = (NETLINK + CONNECTOR + 4) as u32;
    let mut bytes = Vec::new();
    // Length, type, flags, sequence and port of the header.
    bytes.extend(total.to_ne_bytes());
    bytes.extend((libc::NLMSG_DONE as u16).to_ne_bytes());
    bytes.extend([0; 10]);
    // Index, value, sequence and acknowledgement of the connector; then the length, and flags.
    for word in [PROCESSES, PROCESSES, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(4_u16.to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(LISTEN.to_ne_bytes());
    bytes
}

/// The process that has started a program, if the message is of that event.
fn executed(message: &[u8]) -> Option<u32> {
    let word = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    let event = NETLINK + CONNECTOR;
    let tgid = event + EVENT + 4;
    (word(NETLINK)? == PROCESSES && word(event)? == EXEC).then(|| word(tgid)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executions_are_read() {
        let mut message = vec![0; NETLINK + CONNECTOR + EVENT];
        message[NETLINK..NETLINK + 4].copy_from_slice(&PROCESSES.to_ne_bytes());
        message[NETLINK + CONNECTOR..NETLINK + CONNECTOR + 4].copy_from_slice(&EXEC.to_ne_bytes());
        message.extend(8_u32.to_ne_bytes());
        assert_eq!(executed(&message), None, "it is cut off");
        message.extend(7_u32.to_ne_bytes());
        assert_eq!(executed(&message), Some(7), "the process, not the thread");
        message[NETLINK + CONNECTOR] = 1;
        assert_eq!(executed(&message), None, "another event");
        assert_eq!(request().len(), 40);
    }
}
