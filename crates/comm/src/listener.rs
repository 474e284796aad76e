//! How a rank begins: it listens, and learns where the others do. In virtual time it connects to the clock server, which
//! rank 0 starts. Connections to other ranks are made when they are needed.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::mpi::{Algorithm, Choice, Operation};
use crosstalk_core::units::Bytes;
use crosstalk_model::collective::Choices;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::acceptor::{AcceptedPeer, Acceptor};
use crate::clock::Clock;
use crate::clock_server;
use crate::deadline::Deadline;
use crate::header::Kind;
use crate::mesh::{Mesh, WaitPolicy};
use crate::rank::Rank;

/// A rank that listens, and is not connected yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    endpoint: SocketAddr,
    record: Option<String>,
    keep: Vec<PathBuf>,
}

/// Listens on a free port of `address`, an address of this node.
///
/// # Errors
/// An environment fault if the address cannot be bound.
pub fn listen(address: IpAddr) -> Result<Listener, Fault> {
    listen_at((address, 0).into())
}

/// Listens on a port of this node.
///
/// # Errors
/// An environment fault if it cannot be bound.
pub fn listen_at(address: SocketAddr) -> Result<Listener, Fault> {
    let listen = || {
        let socket = TcpListener::bind(address)?;
        let endpoint = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, endpoint, record: None, keep: Vec::new() })
    };
    listen().map_err(|e: std::io::Error| {
        Fault::environment(format!("cannot listen on {}: {e}", address.ip()))
            .remedy("check that the address belongs to this node")
    })
}

impl Listener {
    /// The address at which the other ranks connect.
    pub fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// At rank 0 in virtual time: the run's schedule is recorded under this title, and [`Rank::finish`] writes it to a
    /// file, each of several: to `NAME.unfaithful.schedule` if the run was not faithful.
    pub fn recording_to(mut self, title: String, file: PathBuf) -> Self {
        self.record = Some(title);
        self.keep.push(file);
        self
    }

    /// Becomes a rank of the part. `endpoints` are the ranks' [`Listener::endpoint`]s, by number.
    ///
    /// # Errors
    /// If there is not an endpoint for each rank, or, in virtual time, the ranks do not come to rank 0. Also when the
    /// part's deadline has passed, counted from this call, and soon after `cancelled` becomes true; so do the rank's
    /// operations.
    pub fn connect<'c>(
        self,
        part: &Part,
        endpoints: &[Option<SocketAddr>],
        cancelled: &'c AtomicBool,
    ) -> Result<Rank<'c>, Fault> {
        let endpoints = check(part, endpoints)?;
        let allowed = Duration::try_from_secs_f64(part.deadline.0).unwrap_or(Duration::MAX);
        let far = Duration::from_secs(365 * 24 * 3600);
        let deadline = Deadline { until: Instant::now() + allowed.min(far), cancelled };
        let acceptor = Acceptor::new(self.socket, endpoints, part.seed);
        let (id, size) = (part.node, part.nodes);
        let Some(emulation) = &part.emulation else {
            let mesh = Mesh::new(id, size, acceptor, deadline, WaitPolicy::BusyPoll);
            return Ok(Rank::new(id, size, mesh, Clock::real(), over_tcp()));
        };
        let mut mesh = Mesh::new(id, size, acceptor, deadline, WaitPolicy::Sleep);
        let clock = join(&mut mesh, size, emulation, self.record)?;
        let choices = Choices::new(emulation.mpi.as_ref().map_or(&[][..], |mpi| &mpi.collectives));
        let mut rank = Rank::new(id, size, mesh, clock, choices);
        rank.keep = self.keep;
        Ok(rank)
    }
}

/// The algorithms of collectives over TCP. There a round takes longer beside its data than on the networks of the
/// defaults: between two ranks on one machine, reductions of 8 KiB were faster in one round, and those of
/// 64 KiB in halves. The limit lies between; with more ranks it was not measured.
fn over_tcp() -> Choices {
    let short = |operation, algorithm| Choice {
        operation,
        up_to: Some(Bytes(16 << 10)),
        up_to_in_all: None,
        from_ranks: None,
        algorithm,
    };
    Choices::new(&[
        short(Operation::Reduce, Algorithm::Binomial),
        short(Operation::Allreduce, Algorithm::RecursiveDoubling),
    ])
}

/// Connects to the clock server; at rank 0, starts it.
fn join(mesh: &mut Mesh, size: usize, emulation: &Emulation, record: Option<String>) -> Result<Clock, Fault> {
    let own = mesh.acceptor.call(Kind::ClockServer, mesh.id, 0, &mesh.deadline)?;
    let replies = own.try_clone();
    let replies = replies.map_err(|e| Fault::environment(format!("cannot set up a connection: {e}")))?;
    let client = clock_server::Client::new(own)?;
    mesh.replies = Some(clock_server::Replies::new(replies));
    if mesh.id != 0 {
        return Ok(Clock::virtual_time(mesh.id, emulation, client, None));
    }
    let mut streams: Vec<Option<TcpStream>> = (0..size).map(|_| None).collect();
    while let Some(missing) = streams.iter().position(Option::is_none) {
        mesh.acceptor.wait(&mesh.deadline, &|| format!("waiting for node {missing} to connect"))?;
        match mesh.acceptor.accept()? {
            Some(AcceptedPeer { hello, stream }) if hello.kind == Kind::ClockServer => {
                streams[hello.source as usize] = Some(stream);
            }
            Some(caller) => mesh.accept_peer(caller)?,
            None => {}
        }
    }
    let server = clock_server::begin(emulation, streams.into_iter().flatten().collect(), record)?;
    Ok(Clock::virtual_time(0, emulation, client, Some(server)))
}

fn check(part: &Part, endpoints: &[Option<SocketAddr>]) -> Result<Vec<SocketAddr>, Fault> {
    let on_boards = |emulation: &Emulation| emulation.board.len() * emulation.ranks_per_node as usize;
    let placed = part.emulation.as_ref().map_or(part.nodes, on_boards);
    if part.node >= part.nodes || endpoints.len() != part.nodes || placed < part.nodes {
        return Err(Fault::attempt(format!(
            "expected an endpoint and a board for each of {} nodes, found {} and {placed}; this is node {}",
            part.nodes,
            endpoints.len(),
            part.node
        )));
    }
    let does_not_listen = |peer| Fault::attempt("it takes part but does not listen").on(peer);
    endpoints
        .iter()
        .enumerate()
        .map(|(peer, endpoint)| endpoint.ok_or_else(|| does_not_listen(peer)))
        .collect()
}
