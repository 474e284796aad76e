//! The kernel's statistics of a TCP connection (tcp(7)).

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

use crate::errno::check;

/// The number of segments that a connection has retransmitted so far (`TCP_INFO`).
///
/// # Errors
/// If it is no TCP socket.
pub fn retransmitted_segments(socket: &impl AsFd) -> io::Result<u64> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: pointer and length describe live memory, of which the kernel writes at most that much.
    check(unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &mut length)
    })?;
    // SAFETY: it is made of integers, for which the zeros are valid that the kernel has not written.
    Ok(u64::from(unsafe { info.assume_init() }.tcpi_total_retrans))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_new_connection_has_retransmitted_nothing_and_a_datagram_socket_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let stream = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        assert_eq!(retransmitted_segments(&stream).expect("is reported"), 0);
        assert!(retransmitted_segments(&UdpSocket::bind("127.0.0.1:0").expect("binds")).is_err());
    }
}
