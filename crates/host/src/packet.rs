//! Messages between two processes of one machine, with open files attached:
//! a `SOCK_SEQPACKET` pair and `SCM_RIGHTS` (unix(7)). One message is one
//! packet. The stream ends when the other process has ended.

use crosstalk_core::Fault;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::errno::{check, check_size};
use crate::process::wait_readable;

/// The longest message, in bytes.
const LONGEST: usize = 64 << 10;

/// A buffer for the ancillary data of one descriptor, aligned for its header.
#[repr(C, align(8))]
struct Ancillary([u8; 24]);

/// One side of a connection between two processes of this host that carries messages and open
/// files.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<OwnedFd> for PacketSocket {
    fn from(socket: OwnedFd) -> Self {
        PacketSocket { socket }
    }
}

impl From<PacketSocket> for OwnedFd {
    fn from(packets: PacketSocket) -> Self {
        packets.socket
    }
}

impl PacketSocket {
    /// Two connected sides. Programs that are started later inherit neither.
    ///
    /// # Errors
    /// If the process may open no more files.
    pub fn pair() -> Result<(PacketSocket, PacketSocket), Fault> {
        let mut ends = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: the array is valid for writing two descriptors.
        check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })
            .map_err(|e| Fault::environment(format!("cannot create a pair of sockets: {e}")))?;
        // SAFETY: the kernel has just given both descriptors to us and nobody else.
        Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()) })
    }

    /// The connection on this process's standard input, which its parent has set. Standard input is
    /// empty from now on, so that no process started later keeps the connection open.
    ///
    /// # Errors
    /// If there is no standard input.
    pub fn from_stdin() -> Result<PacketSocket, Fault> {
        let failed = |e: io::Error| Fault::environment(format!("no standard input: {e}"));
        let stdin = io::stdin();
        let socket = stdin.as_fd().try_clone_to_owned().map_err(failed)?;
        empty(stdin.as_fd(), 0).map_err(failed)?;
        Ok(socket.into())
    }

    /// Sends one message, and one open file with it.
    ///
    /// # Errors
    /// If the other side has ended.
    pub fn send(&self, message: &impl Serialize, file: Option<BorrowedFd<'_>>) -> Result<(), Fault> {
        let bytes = serde_json::to_vec(message).map_err(|e| Fault::environment(e.to_string()))?;
        if bytes.len() > LONGEST {
            return Err(Fault::environment(format!("a message of {} bytes is too long", bytes.len())));
        }
        self.send_bytes(&bytes, file)
            .map_err(|e| Fault::environment(format!("the other side has ended: {e}")))
    }

    fn send_bytes(&self, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut ancillary = Ancillary([0; 24]);
        let mut header = message_header(&mut part);
        if let Some(file) = file {
            header.msg_control = ancillary.0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Ancillary>() as _;
            // SAFETY: the buffer holds one control header and one descriptor
            // (CMSG_SPACE(4) = 24 bytes) and is aligned for the header.
            unsafe {
                let control = libc::CMSG_FIRSTHDR(&header);
                (*control).cmsg_level = libc::SOL_SOCKET;
                (*control).cmsg_type = libc::SCM_RIGHTS;
                (*control).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as _;
                libc::CMSG_DATA(control).cast::<libc::c_int>().write_unaligned(file.as_raw_fd());
            }
        }
        // SAFETY: the header points to live buffers; MSG_NOSIGNAL turns a gone
        // peer into an error instead of a signal.
        check_size(unsafe { libc::sendmsg(self.socket.as_raw_fd(), &header, libc::MSG_NOSIGNAL) })?;
        Ok(())
    }

    /// The next message; `None` when the other side has ended.
    ///
    /// # Errors
    /// If none arrives within `deadline` (`None`: waits without end), or it cannot be read.
    pub fn receive<T: DeserializeOwned>(
        &self,
        deadline: Option<Duration>,
    ) -> Result<Option<(T, Option<OwnedFd>)>, Fault> {
        let ready = wait_readable(&[self], deadline)
            .map_err(|e| Fault::environment(format!("cannot wait for a message: {e}")))?;
        if !ready[0] {
            let waited = deadline.unwrap_or_default().as_secs_f64();
            return Err(Fault::environment(format!("no answer within {waited} s")));
        }
        let mut bytes = vec![0; LONGEST];
        let (length, file) = match self.receive_bytes(&mut bytes) {
            Ok((0, _)) => return Ok(None),
            Ok(received) => received,
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(e) => return Err(Fault::environment(format!("the other side has ended: {e}"))),
        };
        let message = serde_json::from_slice(&bytes[..length])
            .map_err(|e| Fault::environment(format!("not a message of this program: {e}")))?;
        Ok(Some((message, file)))
    }

    fn receive_bytes(&self, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut ancillary = Ancillary([0; 24]);
        let mut header = message_header(&mut part);
        header.msg_control = ancillary.0.as_mut_ptr().cast();
        header.msg_controllen = size_of::<Ancillary>() as _;
        // SAFETY: the header points to live buffers that may be written to.
        let length = check_size(unsafe {
            libc::recvmsg(self.socket.as_raw_fd(), &mut header, libc::MSG_CMSG_CLOEXEC)
        })?;
        // SAFETY: the kernel filled the control buffer and set its length; a
        // SCM_RIGHTS header that fits it carries one descriptor, now ours.
        let file = unsafe {
            let control = libc::CMSG_FIRSTHDR(&header);
            (!control.is_null()
                && (*control).cmsg_level == libc::SOL_SOCKET
                && (*control).cmsg_type == libc::SCM_RIGHTS)
                .then(|| {
                    OwnedFd::from_raw_fd(libc::CMSG_DATA(control).cast::<libc::c_int>().read_unaligned())
                })
        };
        Ok((length, file))
    }
}

/// Closes the file of a descriptor in this process only, so that a forked copy does not keep a
/// connection open. The descriptor stays valid, for an empty file.
pub fn close_in_this_process(descriptor: BorrowedFd<'_>) {
    // An error means that no more files can be opened; the copy then ends with its parent.
    let _ = empty(descriptor, libc::O_CLOEXEC);
}

/// Replaces the descriptor's file by an empty one.
fn empty(descriptor: BorrowedFd<'_>, flags: libc::c_int) -> io::Result<()> {
    let nothing = File::open("/dev/null")?;
    // SAFETY: both descriptors are open; the number stays valid for its owner.
    check(unsafe { libc::dup3(nothing.as_raw_fd(), descriptor.as_raw_fd(), flags) }).map(drop)
}

fn message_header(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: msghdr is plain pointers and lengths, for which zero means "none".
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const SOON: Option<Duration> = Some(Duration::from_secs(2));

    #[test]
    fn a_message_and_a_file_arrive_together() {
        let (here, there) = PacketSocket::pair().expect("a pair");
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        here.send(&"look", Some(theirs.as_fd())).expect("sends");
        drop(theirs);
        let (text, file) = there.receive::<String>(SOON).expect("reads").expect("not the end");
        assert_eq!(text, "look");
        let mut arrived = UnixStream::from(file.expect("a file came along"));
        arrived.write_all(b"hello").expect("writes");
        drop(arrived);
        let mut text = String::new();
        ours.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "hello");
    }

    #[test]
    fn messages_keep_their_bounds_and_the_end_is_seen() {
        let (here, there) = PacketSocket::pair().expect("a pair");
        for number in 0..3 {
            here.send(&number, None).expect("sends");
        }
        drop(here);
        for number in 0..3 {
            let (got, file) = there.receive::<i32>(SOON).expect("reads").expect("not the end");
            assert_eq!(got, number);
            assert!(file.is_none());
        }
        assert!(there.receive::<i32>(SOON).expect("ends").is_none());
        assert!(there.send(&1, None).is_err(), "the other side has ended");
    }

    #[test]
    fn waiting_has_an_end() {
        let (_here, there) = PacketSocket::pair().expect("a pair");
        let fault = there.receive::<i32>(Some(Duration::from_millis(20))).expect_err("silence");
        assert!(fault.message.contains("no answer within"), "{fault}");
    }
}
