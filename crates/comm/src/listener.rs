//! Connecting the ranks: every rank listens, connects to the ranks of lower number,
//! and accepts connections of those of higher number.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::header::{HEADER, Header, Kind};
use crate::link::Link;
use crate::mesh::{Deadline, Mesh};
use crate::poll::{self, PolledSocket};
use crate::rank::Rank;

/// How long a caller may take to send `Hello`. Others are unknown callers, and ignored.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// A rank that listens, and is not connected yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    endpoint: SocketAddr,
}

/// Listens on a free port of `address`, an address of this node.
///
/// # Errors
/// An environment fault if the address cannot be bound.
pub fn listen(address: IpAddr) -> Result<Listener, Fault> {
    let listen = || {
        let socket = TcpListener::bind((address, 0))?;
        let endpoint = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, endpoint })
    };
    listen().map_err(|e: std::io::Error| {
        Fault::environment(format!("cannot listen on {address}: {e}"))
            .remedy("check that the address belongs to this node")
    })
}

impl Listener {
    /// The address at which the other ranks connect.
    pub fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// Connects to every other rank of the part. `endpoints` are the ranks'
    /// [`Listener::endpoint`]s, by number.
    ///
    /// # Errors
    /// If a rank cannot be connected to. Also when the part's deadline has passed, counted
    /// from this call, and soon after `cancelled` becomes true; so do the rank's operations.
    pub fn connect<'c>(
        self,
        part: &Part,
        endpoints: &[Option<SocketAddr>],
        cancelled: &'c AtomicBool,
    ) -> Result<Rank<'c>, Fault> {
        check(part, endpoints)?;
        let allowed = Duration::try_from_secs_f64(part.deadline.0).unwrap_or(Duration::MAX);
        let far = Duration::from_secs(365 * 24 * 3600);
        let deadline = Deadline { until: Instant::now() + allowed.min(far), cancelled };
        let mut links: Vec<Option<Link>> = (0..part.nodes).map(|_| None).collect();
        for (peer, endpoint) in endpoints.iter().enumerate().take(part.node) {
            let endpoint = endpoint.ok_or_else(|| does_not_listen(peer))?;
            links[peer] = Some(connect_to(part, peer, endpoint, &deadline)?);
        }
        while let Some(missing) = (part.node + 1..part.nodes).find(|peer| links[*peer].is_none()) {
            if let Some((peer, link)) = self.accept(part, missing, &deadline)? {
                if links[peer].is_some() {
                    return Err(Fault::attempt("it connected twice").on(peer));
                }
                links[peer] = Some(link);
            }
        }
        Ok(Rank::new(part, Mesh::new(part.node, links, deadline)))
    }

    /// Waits a moment for a rank to connect. `None` if none did, or an unknown caller.
    fn accept(
        &self,
        part: &Part,
        missing: usize,
        deadline: &Deadline,
    ) -> Result<Option<(usize, Link)>, Fault> {
        let left = deadline.remaining(&|| format!("waiting for node {missing} to connect"))?;
        let broken = |e| Fault::environment(format!("cannot accept connections: {e}"));
        poll::wait(&mut [PolledSocket::new(self.socket.as_raw_fd(), false)], left).map_err(broken)?;
        let stream = match self.socket.accept() {
            Ok((stream, _)) => stream,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {
                return Ok(None);
            }
            Err(e) => return Err(broken(e)),
        };
        let Some(hello) = read_hello(&stream)? else { return Ok(None) };
        let peer = hello.source as usize;
        if hello.key != part.seed || peer <= part.node || peer >= part.nodes {
            return Ok(None);
        }
        Link::new(stream, peer, part.seed).map(|link| Some((peer, link))).map_err(broken)
    }
}

fn check(part: &Part, endpoints: &[Option<SocketAddr>]) -> Result<(), Fault> {
    let placed = part.emulation.as_ref().map_or(part.nodes, |emulation| emulation.board.len());
    if part.node >= part.nodes || endpoints.len() != part.nodes || placed < part.nodes {
        return Err(Fault::attempt(format!(
            "expected an endpoint and a board for each of {} nodes, found {} and {placed}; this is node {}",
            part.nodes,
            endpoints.len(),
            part.node
        )));
    }
    Ok(())
}

fn connect_to(part: &Part, peer: usize, endpoint: SocketAddr, deadline: &Deadline) -> Result<Link, Fault> {
    let unreachable =
        |e: std::io::Error| Fault::attempt(format!("cannot connect to {endpoint}: {e}")).on(peer);
    loop {
        deadline.remaining(&|| format!("connecting to node {peer}"))?;
        let mut stream = match TcpStream::connect_timeout(&endpoint, Duration::from_secs(1)) {
            Ok(stream) => stream,
            Err(e) if e.kind() == ErrorKind::TimedOut => continue,
            Err(e) => return Err(unreachable(e)),
        };
        let hello = Header { key: part.seed, ..Header::bare(Kind::Hello, part.node, 0) };
        stream.write_all(&hello.encode()).map_err(unreachable)?;
        return Link::new(stream, peer, part.seed).map_err(unreachable);
    }
}

/// Reads a caller's `Hello`; `None` for an unknown caller, which is ignored.
///
/// # Errors
/// If it is another version of this program.
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
    Ok((hello.kind == Kind::Hello).then_some(hello))
}

fn does_not_listen(peer: usize) -> Fault {
    Fault::attempt("it takes part but does not listen").on(peer)
}
