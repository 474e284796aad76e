//! The UDP sockets of a session, and how client and server find each other.
//!
//! The client sends the session's token until it comes back. So the server learns the address to
//! answer to, also through a network address translation.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use crosstalk_core::Fault;

use super::arrival::await_data_connection;
use super::protocol::{Ready, Response};
use super::token::SIZE;
use crosstalk_work::peer::socket::{connection_fault, is_readable, is_temporary, udp_on_address_of};
use crosstalk_work::peer::{Deadline, Line, TICK};

/// How often the client repeats the token.
const REPEAT: Duration = Duration::from_millis(50);

/// For how long both go on.
const PATIENCE: Duration = Duration::from_secs(3);

/// The server's UDP sockets, each connected to one of the client's.
///
/// # Errors
/// Where a socket fails, or the client's token does not arrive.
pub fn accept_datagrams(
    listener: &TcpListener,
    line: &Line,
    token: u64,
    streams: usize,
    until: &Deadline,
) -> Result<Vec<UdpSocket>, Fault> {
    let peer = line.peer();
    let failed = |e| connection_fault(peer, &e);
    let near = SocketAddr::new(line.local()?.ip(), listener.local_addr().map_err(failed)?.port());
    let sockets: Vec<UdpSocket> = (0..streams).map(|_| udp_on_address_of(near)).collect::<Result<_, _>>()?;
    let port = |socket: &UdpSocket| socket.local_addr().map(|address| address.port());
    let udp = sockets.iter().map(port).collect::<Result<_, _>>().map_err(failed)?;
    line.send(&Response::Ready(Ready { token, udp, unix: None }))?;
    sockets.iter().try_for_each(|socket| await_token(socket, line, token, until))?;
    Ok(sockets)
}

/// The client's UDP sockets, connected to those of a server that is ready.
///
/// # Errors
/// Where a socket fails, or the server does not send the token back.
pub fn connect_datagrams(
    target: SocketAddr,
    line: &Line,
    ready: &Ready,
    until: &Deadline,
) -> Result<Vec<UdpSocket>, Fault> {
    let local = line.local()?.ip();
    let to = |port: &u16| send_token(local, SocketAddr::new(target.ip(), *port), ready.token, until);
    ready.udp.iter().map(to).collect()
}

/// The only one of these sockets.
///
/// # Errors
/// Where there is none.
pub fn only_socket(mut sockets: Vec<UdpSocket>) -> Result<UdpSocket, Fault> {
    sockets.pop().ok_or_else(|| Fault::attempt("the server did not report its UDP port"))
}

/// A socket to `target`, which has sent the token back.
fn send_token(local: IpAddr, target: SocketAddr, token: u64, until: &Deadline) -> Result<UdpSocket, Fault> {
    let failed = |e: io::Error| connection_fault(target, &e);
    let socket = UdpSocket::bind((local, 0)).map_err(failed)?;
    socket.connect(target).map_err(failed)?;
    let limit = until.at_most(PATIENCE);
    let mut reply = [0; SIZE];
    while !limit.is_over() {
        until.check("the server's first datagram")?;
        // An error is that of an earlier datagram: the next one shows whether it persists.
        let _ = socket.send(&token.to_le_bytes());
        let answered = is_readable(&socket, REPEAT) && socket.recv(&mut reply).is_ok_and(|n| n == SIZE);
        if answered && reply == token.to_le_bytes() {
            return Ok(socket);
        }
    }
    Err(Fault::attempt("UDP datagrams are not answered, though the TCP connection stands")
        .at(target.to_string())
        .remedy("open this UDP port in the firewalls between the hosts, or measure transport = \"tcp\""))
}

/// Waits for the token from the host of `line`, sends it back, and connects the socket to its sender.
fn await_token(socket: &UdpSocket, line: &Line, token: u64, until: &Deadline) -> Result<(), Fault> {
    let host = line.peer().ip();
    let failed = |e: io::Error| Fault::attempt(format!("the UDP socket failed: {e}"));
    socket.set_read_timeout(Some(TICK)).map_err(failed)?;
    let limit = until.at_most(PATIENCE);
    let mut received = [0; SIZE];
    loop {
        await_data_connection(socket, line, &limit)?;
        match socket.recv_from(&mut received) {
            Ok((SIZE, from)) if from.ip() == host && received == token.to_le_bytes() => {
                socket.connect(from).map_err(failed)?;
                socket.send(&received).map_err(failed)?;
                return Ok(());
            }
            Ok(_) => {}
            Err(e) if is_temporary(&e) => {}
            Err(e) => return Err(failed(e)),
        }
    }
}
