//! The measuring end: sends, waits for the same message to come back, times it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_observe::stages::{Flow, Protocol, Record, Tracer};

use super::outcome::Outcome;
use super::spec::{Session, Spec};
use super::wire::{ARRIVAL, Arrival, DEPARTURE, Datagrams, Stamps, Stream, Wire, is_number, number, time};
use crate::arguments::Transport;
use crate::clock;
use crate::control::{Ask, answer, datagrams_to, only, open, ready};
use crate::medium::{Medium, Waiting, over};
use crate::pin::pin;
use crate::processors;
use crosstalk_work::peer::socket::{broken, gone};
use crosstalk_work::peer::{Line, TICK, Until};

/// Room for so many messages a second of measuring: more than a core can do.
const MESSAGES_A_SECOND: f64 = 5e6;

/// At most so many messages are kept of one size (16 bytes each).
const MOST_MESSAGES: usize = 8 << 20;

/// What was seen of one size, in nanoseconds, in the order of sending.
#[derive(Debug, Default)]
pub struct Samples {
    /// There and back.
    pub round_trips: Vec<u64>,
    /// There; empty where the ends do not share a clock.
    pub one_ways: Vec<u64>,
    /// What is known of each beside; empty where nobody asks.
    pub followed: Vec<Followed>,
    /// What the kernel saw of them.
    pub records: Vec<Record>,
    /// Messages sent.
    pub sent: u64,
    /// Not answered in time.
    pub lost: u64,
    /// Replies that came too late, after their message counted as lost.
    pub late: u64,
}

/// What stages need to know of a message, in nanoseconds of the probes' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// Its number.
    pub number: u64,
    /// When it was sent.
    pub sent: u64,
    /// When the serving end began to send the reply.
    pub replied: u64,
}

/// Measures every size of `spec` against the serving end at `target`.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Until) -> Result<Vec<Outcome>, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::overhead();
    let (mut line, host) = open(target, "latency", until)?;
    let shared = clock::is_shared(&host.clock);
    processors::each_polls(spec.mode, spec.pin, &host)?;
    if spec.stages && !shared {
        return Err(Fault::usage("stages are seen where both ends are on one host")
            .of_parameter("stages")
            .remedy("leave it out, or measure between two ends on this host"));
    }
    spec.sizes
        .iter()
        .map(|&size| {
            let stamps = match (shared && Stamps::Arrival.fit(size.0), spec.stages) {
                (false, _) => Stamps::None,
                (true, false) => Stamps::Arrival,
                (true, true) => Stamps::Both,
            };
            let samples = session(&mut line, target, &spec.session(size, stamps), spec, until)?;
            Ok(Outcome::new(spec, size, &samples, no_one_way(shared, size), overhead))
        })
        .collect()
}

/// Why there is no one-way time, where there is none.
fn no_one_way(shared: bool, size: Bytes) -> Option<String> {
    if !shared {
        Some("the two ends do not share a clock: only round trips can be timed".to_string())
    } else if !Stamps::Arrival.fit(size.0) {
        Some(format!("a message of {} B has no room for the time of arrival ({} B)", size.0, ARRIVAL.end))
    } else {
        None
    }
}

/// Measures one size.
fn session(
    line: &mut Line,
    target: SocketAddr,
    session: &Session,
    spec: &Spec,
    until: &Until,
) -> Result<Samples, Fault> {
    let ready = ready(line, &Ask::Echo(session.clone()), until)?;
    let nap = TICK.min(Duration::from_secs_f64(spec.patience.0));
    let mut tracer = None;
    let mut samples = if session.transport == Transport::Udp {
        let socket = only(datagrams_to(target, line, &ready, until)?)?;
        tracer = spec
            .stages
            .then(|| trace(Protocol::Udp, socket.local_addr(), socket.peer_addr(), session))
            .transpose()?;
        let wire = Datagrams::new(socket, session.mode, nap).map_err(|e| broken(target, &e))?;
        ping_pong(wire, line, session, spec, until)
    } else {
        let waiting = Waiting::alike(session.mode.nap(nap));
        let medium = Medium::meet(session.transport, target, &ready, waiting, until)?;
        if let (true, Medium::Tcp(socket)) = (spec.stages, &medium) {
            tracer = Some(trace(Protocol::Tcp, socket.local_addr(), socket.peer_addr(), session)?);
        }
        over!(medium, stream => ping_pong(Stream::new(stream, session.mode), line, session, spec, until))
    }?;
    if let Some(tracer) = tracer {
        samples.records = tracer.records(samples.sent)?;
    }
    line.say(&Ask::Finished)?;
    Ok(samples)
}

/// Attaches to the kernel's tracepoints on the messages' way.
fn trace(
    protocol: Protocol,
    here: io::Result<SocketAddr>,
    there: io::Result<SocketAddr>,
    session: &Session,
) -> Result<Tracer, Fault> {
    let known = |address: io::Result<SocketAddr>| {
        address.map_err(|e| Fault::attempt(format!("a socket without an address: {e}")))
    };
    let (here, there) = (known(here)?, known(there)?);
    Tracer::attach(&Flow { protocol, here, there, size: session.size as u32 })
}

/// One message at a time, for as long as it was asked for.
fn ping_pong(
    mut wire: impl Wire,
    line: &mut Line,
    session: &Session,
    spec: &Spec,
    until: &Until,
) -> Result<Samples, Fault> {
    let room = ((spec.duration.0 * MESSAGES_A_SECOND) as usize).clamp(1000, MOST_MESSAGES);
    let mut samples = Samples {
        round_trips: touched(room),
        one_ways: if session.stamps == Stamps::None { Vec::new() } else { touched(room) },
        followed: if spec.stages { Vec::with_capacity(room) } else { Vec::new() },
        ..Samples::default()
    };
    let mut message = vec![0; session.size as usize];
    let mut reply = message.clone();
    let mut now = clock::now();
    let end = now + nanoseconds(Seconds(spec.duration.0.min(until.left().as_secs_f64())));
    while now < end && samples.round_trips.len() < room && !until.cancelled() {
        number(&mut message, samples.sent);
        let sent = clock::now();
        let deadline = sent + nanoseconds(spec.patience);
        wire.put(&message, deadline).map_err(|e| broken(line.peer(), &e))?;
        let answered = reply_to(&mut wire, &mut reply, &mut samples, deadline, line, until)?;
        now = clock::now();
        samples.sent += 1;
        if answered {
            samples.round_trips.push(now - sent);
            if session.stamps != Stamps::None {
                samples.one_ways.push(time(&reply, ARRIVAL).saturating_sub(sent));
            }
            if spec.stages {
                let (number, replied) = (samples.sent - 1, time(&reply, DEPARTURE));
                samples.followed.push(Followed { number, sent, replied });
            }
        } else {
            lost(&mut samples, session, line, until)?;
        }
    }
    until.check("the measurement to end")?;
    if samples.round_trips.is_empty() {
        return Err(Fault::attempt(format!("none of {} messages was answered in time", samples.sent))
            .at(line.peer().to_string())
            .remedy("allow a longer `patience`, or see what drops the datagrams"));
    }
    Ok(samples)
}

/// Waits for the reply to the message just sent. `false`: not in time.
#[inline]
fn reply_to(
    wire: &mut impl Wire,
    reply: &mut [u8],
    samples: &mut Samples,
    deadline: u64,
    line: &Line,
    until: &Until,
) -> Result<bool, Fault> {
    loop {
        match wire.take(reply).map_err(|e| broken(line.peer(), &e))? {
            Arrival::Whole(n) if n == reply.len() && is_number(reply, samples.sent) => return Ok(true),
            Arrival::Whole(_) => samples.late += 1,
            Arrival::NotYet => {}
            Arrival::Closed => return Err(gone(line.peer())),
        }
        if until.cancelled() {
            return Err(Fault::interrupted());
        }
        if clock::now() >= deadline || until.is_over() {
            return Ok(false);
        }
    }
}

/// Counts a lost message, and finds out whether the other end is still there.
#[cold]
fn lost(samples: &mut Samples, session: &Session, line: &mut Line, until: &Until) -> Result<(), Fault> {
    samples.lost += 1;
    until.check("a reply")?;
    if line.stirs() {
        // It has nothing to say in mid-run but that it will not go on.
        answer(line, until)?;
    }
    if session.transport.loses() {
        return Ok(());
    }
    Err(Fault::attempt("the other end does not answer, though the connection stands")
        .at(line.peer().to_string())
        .remedy("see whether it is stopped or overloaded, or allow a longer `patience`"))
}

fn nanoseconds(seconds: Seconds) -> u64 {
    (seconds.0 * 1e9) as u64
}

/// An empty vector whose memory is there: the loop must meet no page fault.
fn touched(room: usize) -> Vec<u64> {
    let mut memory = vec![u64::MAX; room];
    memory.clear();
    memory
}
