//! How the two ends of a UDP session find each other: the measuring end sends
//! the session's token until it comes back. The serving end so learns the
//! address to answer to, whatever translates addresses between them.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use crosstalk_core::Fault;

use super::control::comes;
use crosstalk_work::peer::socket::{broken, is_readable, passing};
use crosstalk_work::peer::{Line, TICK, Until};

/// How often to repeat the greeting.
const REPEAT: Duration = Duration::from_millis(50);

/// How long to go on.
const PATIENCE: Duration = Duration::from_secs(3);

/// Bytes of a greeting.
const SIZE: usize = 8;

/// The measuring end's socket, connected to `target`, which answers.
pub fn greet(local: IpAddr, target: SocketAddr, token: u64, until: &Until) -> Result<UdpSocket, Fault> {
    let failed = |e: io::Error| broken(target, &e);
    let socket = UdpSocket::bind((local, 0)).map_err(failed)?;
    socket.connect(target).map_err(failed)?;
    let limit = until.within(PATIENCE);
    let mut reply = [0; SIZE];
    while !limit.is_over() {
        until.check("the other end's first datagram")?;
        // Errors are of earlier datagrams: the next greeting tells.
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

/// The serving end's: waits for the greeting from the host at the other end of `line`,
/// answers it, and is connected to whoever sent it.
pub fn await_greeting(socket: &UdpSocket, line: &Line, token: u64, until: &Until) -> Result<(), Fault> {
    let host = line.peer().ip();
    let failed = |e: io::Error| Fault::attempt(format!("the UDP socket failed: {e}"));
    socket.set_read_timeout(Some(TICK)).map_err(failed)?;
    let limit = until.within(PATIENCE);
    let mut greeting = [0; SIZE];
    loop {
        comes(socket, line, &limit)?;
        match socket.recv_from(&mut greeting) {
            Ok((SIZE, from)) if from.ip() == host && greeting == token.to_le_bytes() => {
                socket.connect(from).map_err(failed)?;
                socket.send(&greeting).map_err(failed)?;
                return Ok(());
            }
            Ok(_) => {}
            Err(e) if passing(&e) => {}
            Err(e) => return Err(failed(e)),
        }
    }
}
