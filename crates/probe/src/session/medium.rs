//! A stream of bytes between client and server over any transport but UDP.

use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crosstalk_comm::ring::{Ring, Side, create_memory};
use crosstalk_comm::uring::Uring;
use crosstalk_core::Fault;

use super::client::connect_data_stream;
use super::context::ServerContext;
use super::descriptors::{receive_descriptors, send_descriptors};
use super::pipe::Pipe;
use super::protocol::{Ready, Response};
use super::unix_socket::{UnixSocket, connect_unix};
use crate::transport::Transport;
use crosstalk_work::peer::socket::connection_fault;
use crosstalk_work::peer::{Deadline, Line};

/// How long one side of a medium sleeps while it waits, and whether its peer sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimes {
    /// How long reading and writing sleep at most; `None`: they never sleep.
    pub nap: Option<Duration>,
    /// Whether the peer sleeps, and may have to be woken.
    pub peer_sleeps: bool,
}

impl WaitTimes {
    /// Both sides sleep at most `nap`, or never.
    pub fn same_on_both_sides(nap: Option<Duration>) -> Self {
        WaitTimes { nap, peer_sleeps: nap.is_some() }
    }
}

/// What carries the bytes of a session in both directions: TCP, a Unix socket, pipes or shared
/// memory. Reading and writing sleep no longer than its nap; without one they never sleep.
pub enum Medium {
    /// A TCP connection without Nagle's delay.
    Tcp(TcpStream),
    /// The same through io_uring.
    Uring(Box<Uring>),
    /// A Unix socket.
    Unix(UnixStream),
    /// A pipe in each direction.
    Pipe(Pipe),
    /// Rings in shared memory.
    Shared(Ring),
}

/// Runs `$body` with the stream of a medium as `$stream`, compiled for each kind of stream.
macro_rules! with_stream {
    ($medium:expr, $stream:ident => $body:expr) => {
        match $medium {
            $crate::session::medium::Medium::Tcp($stream) => $body,
            $crate::session::medium::Medium::Uring($stream) => $body,
            $crate::session::medium::Medium::Unix($stream) => $body,
            $crate::session::medium::Medium::Pipe($stream) => $body,
            $crate::session::medium::Medium::Shared($stream) => $body,
        }
    };
}
pub(crate) use with_stream;

impl Medium {
    /// The server's medium: sends the client that it is ready, and waits for it to connect.
    ///
    /// # Errors
    /// Where the client does not connect, or the medium cannot be made.
    pub fn accept(
        transport: Transport,
        context: ServerContext,
        line: &Line,
        token: u64,
        waiting: WaitTimes,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        let mut served = Medium::accept_all(transport, context, line, token, waiting, 1, until)?;
        served.pop().ok_or_else(|| Fault::attempt("expected at least one stream, found none"))
    }

    /// The server's media for several streams: as [`Medium::accept`], for each.
    ///
    /// # Errors
    /// As of [`Medium::accept`].
    pub fn accept_all(
        transport: Transport,
        context: ServerContext,
        line: &Line,
        token: u64,
        waiting: WaitTimes,
        streams: usize,
        until: &Deadline,
    ) -> Result<Vec<Self>, Fault> {
        let ready = |unix| line.send(&Response::Ready(Ready { token, udp: Vec::new(), unix }));
        if transport.is_tcp() {
            let connections = context.acceptor.expect_token(token);
            ready(None)?;
            let next = |_| {
                let socket = connections.accept_next(line, until)?;
                Medium::tcp(transport, socket, waiting.nap).map_err(|e| connection_fault(line.peer(), &e))
            };
            return (0..streams).map(next).collect();
        }
        let unix = UnixSocket::open(context.socket.scratch, token)?;
        ready(Some(unix.address.clone()))?;
        (0..streams)
            .map(|_| Medium::hand_over(transport, unix.accept(line, token, until)?, waiting))
            .collect()
    }

    /// Makes the medium to a client on this host that connected by `stream`.
    fn hand_over(transport: Transport, stream: UnixStream, waiting: WaitTimes) -> Result<Self, Fault> {
        let failed = |e: io::Error| Fault::environment(format!("cannot make a {}: {e}", transport.name()));
        match transport {
            Transport::Pipe => {
                let made = || pipe_with(PipeFlags::CLOEXEC).map(<[_; 2]>::from).map_err(|e| failed(e.into()));
                let ([input, to_server], [from_server, output]) = (made()?, made()?);
                send_descriptors(&stream, [from_server.as_fd(), to_server.as_fd()])?;
                Pipe::new(input.into(), output.into(), waiting.nap).map(Medium::Pipe).map_err(failed)
            }
            Transport::Shared => {
                let memory = create_memory().map_err(failed)?;
                // Every medium hands over two descriptors.
                send_descriptors(&stream, [memory.as_fd(), memory.as_fd()])?;
                Ring::map(&memory, Side::First, waiting.nap, waiting.peer_sleeps)
                    .map(Medium::Shared)
                    .map_err(failed)
            }
            _ => Medium::unix(stream, waiting.nap).map_err(failed),
        }
    }

    /// The TCP socket, where it is one.
    pub fn tcp_socket(&self) -> Option<&TcpStream> {
        match self {
            Medium::Tcp(socket) => Some(socket),
            Medium::Uring(uring) => Some(uring.socket()),
            _ => None,
        }
    }

    /// The client's, to a server that is ready.
    ///
    /// # Errors
    /// Where the server cannot be reached, or is not on this host.
    pub fn connect(
        transport: Transport,
        target: SocketAddr,
        ready: &Ready,
        waiting: WaitTimes,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        let nap = waiting.nap;
        let failed = |e: io::Error| connection_fault(target, &e);
        if transport.is_tcp() {
            return Medium::tcp(transport, connect_data_stream(target, ready.token, until)?, nap)
                .map_err(failed);
        }
        let unix = ready.unix.as_ref();
        let unix = unix.ok_or_else(|| Fault::attempt("the server did not report its Unix socket"))?;
        let stream = connect_unix(unix, ready.token)?;
        match transport {
            Transport::Pipe => {
                let [input, output] = receive_descriptors(&stream, until)?;
                Pipe::new(input.into(), output.into(), nap).map(Medium::Pipe).map_err(failed)
            }
            Transport::Shared => {
                let [memory, _] = receive_descriptors(&stream, until)?;
                Ring::map(&memory, Side::Second, nap, waiting.peer_sleeps).map(Medium::Shared).map_err(failed)
            }
            _ => Medium::unix(stream, nap).map_err(failed),
        }
    }

    fn tcp(transport: Transport, socket: TcpStream, nap: Option<Duration>) -> io::Result<Self> {
        if transport == Transport::IoUring {
            return Ok(Medium::Uring(Box::new(Uring::new(socket, nap)?)));
        }
        socket.set_nonblocking(nap.is_none())?;
        socket.set_read_timeout(nap)?;
        socket.set_write_timeout(nap)?;
        Ok(Medium::Tcp(socket))
    }

    fn unix(socket: UnixStream, nap: Option<Duration>) -> io::Result<Self> {
        socket.set_nonblocking(nap.is_none())?;
        socket.set_read_timeout(nap)?;
        socket.set_write_timeout(nap)?;
        Ok(Medium::Unix(socket))
    }
}
