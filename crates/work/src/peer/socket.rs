//! Sockets with deadlines, and faults with a remedy for their errors.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crosstalk_core::Fault;

use super::until::{Deadline, TICK};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Listens on `addr` (port 0: any free one).
///
/// # Errors
/// When the port is in use, or the address is not this host's.
pub fn listen(addr: SocketAddr) -> Result<TcpListener, Fault> {
    TcpListener::bind(addr).map_err(|e| {
        let fault = Fault::environment(format!("cannot listen: {e}")).at(addr.to_string());
        match e.kind() {
            ErrorKind::AddrInUse => {
                fault.remedy("choose another port, or end what listens there (`ss -ltnp`)")
            }
            ErrorKind::AddrNotAvailable => fault.remedy("give an address of this host (`ip address`)"),
            ErrorKind::PermissionDenied => fault.remedy("choose a port above 1023"),
            _ => fault,
        }
    })
}

/// Connects to another process, without Nagle's delay (RFC 896).
///
/// # Errors
/// Where nobody listens there, or the deadline has passed.
pub fn connect(addr: SocketAddr, until: &Deadline) -> Result<TcpStream, Fault> {
    until.check("a connection")?;
    let limit = CONNECT.min(until.time_left()).max(Duration::from_millis(1));
    let stream = TcpStream::connect_timeout(&addr, limit).map_err(|e| {
        Fault::attempt(format!("cannot connect: {e}")).at(addr.to_string()).remedy(
            "see that the other end was started, and check the route and the firewall between the hosts",
        )
    })?;
    stream.set_nodelay(true).map_err(|e| connection_fault(addr, &e))?;
    Ok(stream)
}

/// Waits for the next connection; returns it and the peer's address.
///
/// # Errors
/// At the deadline, or where the socket fails.
pub fn accept(listener: &TcpListener, until: &Deadline) -> Result<(TcpStream, SocketAddr), Fault> {
    let failed = |e: io::Error| Fault::environment(format!("cannot take a connection: {e}"));
    // The peer can have closed a connection before it is accepted (accept(2)).
    listener.set_nonblocking(true).map_err(failed)?;
    loop {
        wait_readable(listener, until, "a connection")?;
        match listener.accept() {
            Ok((stream, peer)) => {
                stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true)).map_err(failed)?;
                return Ok((stream, peer));
            }
            Err(e) if is_temporary(&e) || e.kind() == ErrorKind::ConnectionAborted => {}
            Err(e) => return Err(failed(e)),
        }
    }
}

/// Waits until there is something to read, or the peer has closed.
///
/// # Errors
/// At the deadline, or when it is cancelled.
pub fn wait_readable(fd: &impl AsFd, until: &Deadline, what: &str) -> Result<(), Fault> {
    loop {
        until.check(what)?;
        if is_readable(fd, until.time_left().min(TICK)) {
            return Ok(());
        }
    }
}

/// Whether there is something to read, or the peer has closed, within `wait`.
pub fn is_readable(fd: &impl AsFd, wait: Duration) -> bool {
    happens(fd, PollFlags::IN, wait)
}

/// Whether the peer of a stream has closed, even if there is still something to read.
pub fn is_closed(fd: &impl AsFd) -> bool {
    happens(fd, PollFlags::RDHUP, Duration::ZERO)
}

fn happens(fd: &impl AsFd, what: PollFlags, wait: Duration) -> bool {
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    let mut fds = [PollFd::new(fd, what)];
    poll(&mut fds, Some(&wait)).is_ok_and(|n| n > 0)
}

/// A UDP socket on the address of `beside`, on its port where that is free (one
/// hole in a firewall serves both), else on any.
pub fn udp_on_address_of(beside: SocketAddr) -> Result<UdpSocket, Fault> {
    UdpSocket::bind(beside)
        .or_else(|_| UdpSocket::bind(SocketAddr::new(beside.ip(), 0)))
        .map_err(|e| Fault::environment(format!("cannot open a UDP socket: {e}")).at(beside.to_string()))
}

/// Whether an error is temporary: the same call may succeed later.
pub fn is_temporary(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The fault for an error in mid-run.
pub fn connection_fault(peer: SocketAddr, e: &io::Error) -> Fault {
    match e.kind() {
        ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionRefused => closed_fault(peer),
        _ => Fault::attempt(format!("the connection failed: {e}")).at(peer.to_string()),
    }
}

/// The fault for a peer that has closed during the run.
pub fn closed_fault(peer: SocketAddr) -> Fault {
    Fault::gone("the other end went away in mid-run")
        .at(peer.to_string())
        .remedy("see on that host why it ended, then run again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_port_in_use_is_named_with_its_remedy() {
        let first = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let addr = first.local_addr().expect("has one");
        let fault = listen(addr).expect_err("is taken");
        assert_eq!(fault.place, Some(addr.to_string()));
        assert!(fault.remedy.is_some_and(|r| r.contains("another port")), "no remedy");
    }

    #[test]
    fn a_refused_connection_names_the_address() {
        let addr = {
            let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
            listener.local_addr().expect("has one")
        };
        let flag = AtomicBool::new(false);
        let fault = connect(addr, &Deadline::new(Seconds(2.0), &flag)).expect_err("nobody listens");
        assert_eq!(fault.place, Some(addr.to_string()));
        assert!(fault.message.contains("refused") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn nobody_comes_and_the_wait_ends() {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let flag = AtomicBool::new(false);
        let fault = accept(&listener, &Deadline::new(Seconds(0.2), &flag)).expect_err("nobody comes");
        assert!(fault.message.contains("a connection"), "{fault}");
    }
}
