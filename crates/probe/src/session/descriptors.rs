//! File descriptors that are handed to the peer over a Unix socket (unix(7), SCM_RIGHTS).

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crosstalk_core::Fault;
use crosstalk_work::peer::Deadline;
use crosstalk_work::peer::socket::wait_readable;

/// Hands two file descriptors to the peer.
///
/// # Errors
/// Where the socket fails.
pub fn send_descriptors(stream: &UnixStream, descriptors: [BorrowedFd; 2]) -> Result<(), Fault> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(&[1])], &mut control, SendFlags::NOSIGNAL)
        .map(drop)
        .map_err(|e| broken_socket_fault(&e.into()))
}

/// Takes two file descriptors from the peer.
///
/// # Errors
/// Where the socket fails, the peer sends none, or the time is up.
pub fn receive_descriptors(stream: &UnixStream, until: &Deadline) -> Result<[OwnedFd; 2], Fault> {
    wait_readable(stream, until, "the server's file descriptors")?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)
        .map_err(|e| broken_socket_fault(&e.into()))?;
    let received: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    received.try_into().map_err(|_| Fault::attempt("the server handed over no file descriptors"))
}

/// The fault for a Unix socket that fails.
pub fn broken_socket_fault(e: &io::Error) -> Fault {
    Fault::attempt(format!("the Unix socket failed: {e}"))
}
