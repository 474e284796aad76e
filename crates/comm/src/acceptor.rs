//! Where a rank accepts connections, and how it connects to others.

use crosstalk_core::Fault;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use crate::deadline::Deadline;
use crate::header::{HEADER, Header, Kind};
use crate::poll::{self, PolledSocket};

/// How long a caller may take to send `Hello`. Others are unknown callers, and ignored.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a rank lets others in, and where they do.
#[derive(Debug)]
pub(crate) struct Acceptor {
    socket: TcpListener,
    endpoints: Vec<SocketAddr>,
    pub(super) key: u64,
}

impl AsRawFd for Acceptor {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Somebody who has connected and said who it is.
pub(crate) struct AcceptedPeer {
    pub(crate) hello: Header,
    pub(crate) stream: TcpStream,
}

impl Acceptor {
    pub(crate) fn new(socket: TcpListener, endpoints: Vec<SocketAddr>, key: u64) -> Self {
        Acceptor { socket, endpoints, key }
    }

    /// The next caller that belongs to the attempt; `None`: nobody, or an unknown caller.
    ///
    /// # Errors
    /// If no connection can be accepted, or it is another version of this program.
    pub(crate) fn accept(&self) -> Result<Option<AcceptedPeer>, Fault> {
        let stream = match self.socket.accept() {
            Ok((stream, _)) => stream,
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) =>
            {
                return Ok(None);
            }
            Err(e) => return Err(Fault::environment(format!("cannot accept connections: {e}"))),
        };
        let hello = read_hello(&stream)?;
        let belongs =
            |hello: &Header| hello.key == self.key && (hello.source as usize) < self.endpoints.len();
        Ok(hello.filter(belongs).map(|hello| AcceptedPeer { hello, stream }))
    }

    /// Connects to a rank, and says who this one is.
    pub(crate) fn call(
        &self,
        kind: Kind,
        id: usize,
        peer: usize,
        deadline: &Deadline,
    ) -> Result<TcpStream, Fault> {
        let endpoint = self.endpoints[peer];
        let unreachable =
            |e: std::io::Error| Fault::attempt(format!("cannot connect to {endpoint}: {e}")).on(peer);
        loop {
            deadline.remaining(&|| format!("connecting to rank {peer}"))?;
            let mut stream = match TcpStream::connect_timeout(&endpoint, Duration::from_secs(1)) {
                Ok(stream) => stream,
                Err(e) if e.kind() == ErrorKind::TimedOut => continue,
                // It listened when the attempt began.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
                    return Err(Fault::gone(
                        "the node is gone, or has finished without the messages that are waited for",
                    )
                    .on(peer)
                    .remedy(format!("look at what node {peer} reported last")));
                }
                Err(e) => return Err(unreachable(e)),
            };
            let hello = Header { key: self.key, ..Header::bare(kind, id, 0) };
            stream.write_all(&hello.encode()).map_err(unreachable)?;
            return Ok(stream);
        }
    }

    /// Waits until somebody calls, at most until the next check of the deadline.
    pub(crate) fn wait(&self, deadline: &Deadline, doing: &dyn Fn() -> String) -> Result<(), Fault> {
        let left = deadline.remaining(doing)?;
        poll::wait(&mut [PolledSocket::new(self.as_raw_fd(), false)], left)
            .map_err(|e| Fault::environment(format!("cannot wait for connections: {e}")))
    }
}

/// Reads a caller's first header; `None` for an unknown caller, which is ignored.
fn read_hello(mut stream: &TcpStream) -> Result<Option<Header>, Fault> {
    let mut wire = [0; HEADER];
    let read = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_read_timeout(Some(HELLO_TIMEOUT)))
        .and_then(|()| stream.read_exact(&mut wire));
    if read.is_err() || !wire.starts_with(b"XTLK") {
        return Ok(None);
    }
    let hello = Header::decode(&wire)?;
    Ok(matches!(hello.kind, Kind::Hello | Kind::ClockServer).then_some(hello))
}
