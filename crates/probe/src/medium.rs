//! What carries bytes in order between the two ends: made by both in the same
//! words, and then read and written as any stream.

use rustix::io::ioctl_fionbio;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crosstalk_comm::ring::{Ring, Side, memory};
use crosstalk_comm::uring::Uring;
use crosstalk_core::Fault;
use crosstalk_host::nudge::Nudged;

use super::arguments::Transport;
use super::control::{Answer, Ready, data};
use super::meeting::{Meeting, give, meet, take};
use super::server::Serving;
use crosstalk_work::peer::socket::broken;
use crosstalk_work::peer::{Line, Until};

/// How an end of a medium waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// How long reading and writing sleep at most; `None`: they never sleep.
    pub nap: Option<Duration>,
    /// Whether the other end sleeps, and may have to be woken.
    pub other_sleeps: bool,
}

impl Waiting {
    /// As the other end does.
    pub fn alike(nap: Option<Duration>) -> Self {
        Waiting { nap, other_sleeps: nap.is_some() }
    }
}

/// A stream of bytes each way. Reading and writing sleep no longer than the nap it was
/// made with; without one they never sleep.
pub enum Medium {
    /// A TCP connection without Nagle's delay.
    Tcp(TcpStream),
    /// The same through io_uring.
    Uring(Box<Uring>),
    /// A Unix socket.
    Unix(UnixStream),
    /// A pipe each way.
    Pipe(Pipe),
    /// Rings in memory that both ends see.
    Shared(Ring),
}

/// `$body` with `$stream` being the stream that a medium is, compiled for each.
macro_rules! over {
    ($medium:expr, $stream:ident => $body:expr) => {
        match $medium {
            $crate::medium::Medium::Tcp($stream) => $body,
            $crate::medium::Medium::Uring($stream) => $body,
            $crate::medium::Medium::Unix($stream) => $body,
            $crate::medium::Medium::Pipe($stream) => $body,
            $crate::medium::Medium::Shared($stream) => $body,
        }
    };
}
pub(crate) use over;

impl Medium {
    /// The serving end's: says that it is ready, and waits for the measuring end.
    pub fn serve(
        transport: Transport,
        serving: Serving,
        line: &Line,
        token: u64,
        waiting: Waiting,
        until: &Until,
    ) -> Result<Self, Fault> {
        let mut served = Medium::serve_all(transport, serving, line, token, waiting, 1, until)?;
        served.pop().ok_or_else(|| Fault::attempt("no stream was asked for"))
    }

    /// The same of several streams.
    pub fn serve_all(
        transport: Transport,
        serving: Serving,
        line: &Line,
        token: u64,
        waiting: Waiting,
        streams: usize,
        until: &Until,
    ) -> Result<Vec<Self>, Fault> {
        let ready = |spot| line.say(&Answer::Ready(Ready { token, udp: Vec::new(), spot }));
        if Medium::is_tcp(transport) {
            let arrivals = serving.acceptor.expect(token);
            ready(None)?;
            let next = |_| {
                let socket = arrivals.next(line, until)?;
                Medium::tcp(transport, socket, waiting.nap).map_err(|e| broken(line.peer(), &e))
            };
            return (0..streams).map(next).collect();
        }
        let meeting = Meeting::open(serving.door.scratch, token)?;
        ready(Some(meeting.spot.clone()))?;
        (0..streams)
            .map(|_| Medium::hand_over(transport, meeting.accept(line, token, until)?, waiting))
            .collect()
    }

    /// What is between two ends on this host, one of which came by `stream`.
    fn hand_over(transport: Transport, stream: UnixStream, waiting: Waiting) -> Result<Self, Fault> {
        let failed = |e: io::Error| Fault::environment(format!("cannot make a {}: {e}", transport.name()));
        match transport {
            Transport::Pipe => {
                let made = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()));
                let (here, there) = (made()?, made()?);
                give(&stream, [there.0.as_fd(), here.1.as_fd()])?;
                Pipe::new(here.0.into(), there.1.into(), waiting.nap).map(Medium::Pipe).map_err(failed)
            }
            Transport::Shared => {
                let memory = memory().map_err(failed)?;
                // Two are handed over whatever the medium is.
                give(&stream, [memory.as_fd(), memory.as_fd()])?;
                Ring::map(&memory, Side::First, waiting.nap, waiting.other_sleeps)
                    .map(Medium::Shared)
                    .map_err(failed)
            }
            _ => Medium::unix(stream, waiting.nap).map_err(failed),
        }
    }

    /// The TCP socket, where it is one.
    pub fn socket(&self) -> Option<&TcpStream> {
        match self {
            Medium::Tcp(socket) => Some(socket),
            Medium::Uring(uring) => Some(uring.socket()),
            _ => None,
        }
    }

    /// The measuring end's, to a serving end that is ready.
    pub fn meet(
        transport: Transport,
        target: SocketAddr,
        ready: &Ready,
        waiting: Waiting,
        until: &Until,
    ) -> Result<Self, Fault> {
        let nap = waiting.nap;
        let failed = |e: io::Error| broken(target, &e);
        if Medium::is_tcp(transport) {
            return Medium::tcp(transport, data(target, ready.token, until)?, nap).map_err(failed);
        }
        let spot =
            ready.spot.as_ref().ok_or_else(|| Fault::attempt("the other end did not say where to meet"))?;
        let stream = meet(spot, ready.token)?;
        match transport {
            Transport::Pipe => {
                let [input, output] = take(&stream, until)?;
                Pipe::new(input.into(), output.into(), nap).map(Medium::Pipe).map_err(failed)
            }
            Transport::Shared => {
                let [memory, _] = take(&stream, until)?;
                Ring::map(&memory, Side::Second, nap, waiting.other_sleeps)
                    .map(Medium::Shared)
                    .map_err(failed)
            }
            _ => Medium::unix(stream, nap).map_err(failed),
        }
    }

    fn is_tcp(transport: Transport) -> bool {
        matches!(transport, Transport::Tcp | Transport::IoUring)
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

/// A pipe each way.
#[derive(Debug)]
pub struct Pipe {
    input: File,
    output: File,
    /// Pipes have no deadlines of their own: the thread that uses it is woken.
    nap: Option<Duration>,
    nudged: Option<Nudged>,
}

impl Pipe {
    fn new(input: File, output: File, nap: Option<Duration>) -> io::Result<Self> {
        for end in [&input, &output] {
            ioctl_fionbio(end, nap.is_none())?;
        }
        Ok(Pipe { input, output, nap, nudged: None })
    }

    /// Begun by the thread that waits, and not by the one that made the pipe.
    #[inline]
    fn nudge(&mut self) {
        if let (None, Some(nap)) = (&self.nudged, self.nap) {
            self.nudged = Some(Nudged::begin(nap));
        }
    }
}

impl Read for Pipe {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.nudge();
        let input = &mut self.input;
        match &self.nudged {
            Some(nudged) => nudged.while_waiting(|| input.read(into)),
            None => input.read(into),
        }
    }
}

impl Write for Pipe {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.nudge();
        let output = &mut self.output;
        match &self.nudged {
            Some(nudged) => nudged.while_waiting(|| output.write(bytes)),
            None => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
