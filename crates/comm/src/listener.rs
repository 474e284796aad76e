//! Getting connected: every rank listens, dials the ranks below its own number
//! and is dialled by those above.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::header::{HEADER, Header, Kind};
use crate::link::Link;
use crate::mesh::{Mesh, Patience};
use crate::poll::{self, Watched};
use crate::rank::Rank;

/// How long a caller may take to say who it is; one that does not is a stranger.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// A rank that listens and is not connected yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    endpoint: SocketAddr,
}

/// Listens on a free port of `address`, which is the node's own.
pub fn bind(address: IpAddr) -> Result<Listener, Fault> {
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
    /// Where the other ranks find this one.
    pub fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// Connects to every other rank of the part. `endpoints` holds every
    /// rank's [`Listener::endpoint`] by number. The rank gives up, with a
    /// fault, when the part's deadline passes, counted from here, and soon
    /// after `cancelled` becomes true.
    pub fn connect<'c>(
        self,
        part: &Part,
        endpoints: &[Option<SocketAddr>],
        cancelled: &'c AtomicBool,
    ) -> Result<Rank<'c>, Fault> {
        check(part, endpoints)?;
        let deadline = Duration::try_from_secs_f64(part.deadline.0).unwrap_or(Duration::MAX);
        let far = Duration::from_secs(365 * 24 * 3600);
        let patience = Patience { until: Instant::now() + deadline.min(far), cancelled };
        let mut links: Vec<Option<Link>> = (0..part.nodes).map(|_| None).collect();
        for (peer, endpoint) in endpoints.iter().enumerate().take(part.node) {
            let endpoint = endpoint.ok_or_else(|| silent(peer))?;
            links[peer] = Some(dial(part, peer, endpoint, &patience)?);
        }
        while let Some(missing) = (part.node + 1..part.nodes).find(|peer| links[*peer].is_none()) {
            if let Some((peer, link)) = self.answer(part, missing, &patience)? {
                if links[peer].is_some() {
                    return Err(Fault::attempt("it connected twice").on(peer));
                }
                links[peer] = Some(link);
            }
        }
        Ok(Rank::new(part, Mesh::new(part.node, links, patience)))
    }

    /// Waits a moment for a caller; `None` when none came or a stranger did.
    fn answer(
        &self,
        part: &Part,
        missing: usize,
        patience: &Patience,
    ) -> Result<Option<(usize, Link)>, Fault> {
        let left = patience.left(&|| format!("waiting for node {missing} to connect"))?;
        let broken = |e| Fault::environment(format!("cannot accept connections: {e}"));
        poll::wait(&mut [Watched::new(self.socket.as_raw_fd(), false)], left).map_err(broken)?;
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

fn dial(part: &Part, peer: usize, endpoint: SocketAddr, patience: &Patience) -> Result<Link, Fault> {
    let unreachable =
        |e: std::io::Error| Fault::attempt(format!("cannot connect to {endpoint}: {e}")).on(peer);
    loop {
        patience.left(&|| format!("connecting to node {peer}"))?;
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

/// Who calls; `None` for a stranger, who must not disturb the part. Another
/// version of ourselves is no stranger but a fault.
fn read_hello(mut stream: &TcpStream) -> Result<Option<Header>, Fault> {
    let mut wire = [0; HEADER];
    let read = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_read_timeout(Some(INTRODUCTION)))
        .and_then(|()| stream.read_exact(&mut wire));
    if read.is_err() || !wire.starts_with(b"XTLK") {
        return Ok(None);
    }
    let hello = Header::decode(&wire)?;
    Ok((hello.kind == Kind::Hello).then_some(hello))
}

fn silent(peer: usize) -> Fault {
    Fault::attempt("it takes part but does not listen").on(peer)
}
