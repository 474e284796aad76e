//! The client: sends a message, waits until it comes back, and times it.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_observe::stages::{Flow, Protocol, Tracer};

use super::channel::{Arrival, Channel, DatagramChannel, StreamChannel};
use super::outcome::Outcome;
use super::samples::{FollowedMessage, Samples};
use super::session::Session;
use super::spec::Spec;
use crate::clock;
use crate::message::{ARRIVAL_TIME, DEPARTURE_TIME, ServerStamps, has_number, read_time, write_number};
use crate::pin::pin;
use crate::processors;
use crate::session::client::{open_conversation, read_response, request_session};
use crate::session::datagrams::{connect_datagrams, only_socket};
use crate::session::medium::{Medium, WaitTimes, with_stream};
use crate::session::protocol::Request;
use crate::transport::Transport;
use crosstalk_work::peer::socket::{closed_fault, connection_fault};
use crosstalk_work::peer::{Deadline, Line, TICK};

/// Room for messages for each second of measuring: more than a core can send.
const MESSAGES_A_SECOND: f64 = 5e6;

/// The most messages that are kept of one size (16 bytes each).
const MOST_MESSAGES: usize = 8 << 20;

/// Measures every size of `spec` with the server at `target`.
///
/// # Errors
/// Where the server cannot be reached or fails; where no message is answered; interrupted.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Deadline) -> Result<Vec<Outcome>, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::timing_overhead();
    let (mut line, server) = open_conversation(target, "latency", until)?;
    let shared = clock::is_shared(&server.clock);
    processors::check(spec.mode, spec.pin, &server)?;
    if spec.stages && !shared {
        return Err(Fault::usage("stages need client and server on one host")
            .of_parameter("stages")
            .remedy("leave it out, or use a server on this host"));
    }
    spec.sizes
        .iter()
        .map(|&size| {
            let stamps = match (shared && ServerStamps::Arrival.fits_into(size.0), spec.stages) {
                (false, _) => ServerStamps::None,
                (true, false) => ServerStamps::Arrival,
                (true, true) => ServerStamps::Both,
            };
            let samples = session(&mut line, target, &spec.session(size, stamps), spec, until)?;
            Ok(Outcome::new(spec, size, &samples, no_one_way(shared, size), overhead))
        })
        .collect()
}

/// Why there is no one-way time, where there is none.
fn no_one_way(shared: bool, size: Bytes) -> Option<String> {
    if !shared {
        Some("client and server do not share a clock: only round trips can be timed".to_string())
    } else if !ServerStamps::Arrival.fits_into(size.0) {
        Some(format!(
            "a message of {} B has no room for the time of arrival ({} B)",
            size.0, ARRIVAL_TIME.end
        ))
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
    until: &Deadline,
) -> Result<Samples, Fault> {
    let ready = request_session(line, &Request::Echo(session.clone()), until)?;
    let nap = TICK.min(Duration::from_secs_f64(spec.patience.0));
    let mut tracer = None;
    let mut samples = if session.transport == Transport::Udp {
        let socket = only_socket(connect_datagrams(target, line, &ready, until)?)?;
        tracer = spec
            .stages
            .then(|| trace(Protocol::Udp, socket.local_addr(), socket.peer_addr(), session))
            .transpose()?;
        let channel =
            DatagramChannel::new(socket, session.mode, nap).map_err(|e| connection_fault(target, &e))?;
        ping_pong(channel, line, session, spec, until)
    } else {
        let waiting = WaitTimes::same_on_both_sides(session.mode.longest_sleep(nap));
        let medium = Medium::connect(session.transport, target, &ready, waiting, until)?;
        if let (true, Medium::Tcp(socket)) = (spec.stages, &medium) {
            tracer = Some(trace(Protocol::Tcp, socket.local_addr(), socket.peer_addr(), session)?);
        }
        with_stream!(medium, stream => ping_pong(StreamChannel::new(stream, session.mode), line, session, spec, until))
    }?;
    if let Some(tracer) = tracer {
        samples.records = tracer.records(samples.sent)?;
    }
    line.send(&Request::Finished)?;
    Ok(samples)
}

/// Attaches to the kernel's tracepoints on the path of the messages.
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
    Tracer::attach(&Flow { protocol, client: here, server: there, size: session.size as u32 })
}

/// Sends one message at a time for the duration of `spec`.
fn ping_pong(
    mut channel: impl Channel,
    line: &mut Line,
    session: &Session,
    spec: &Spec,
    until: &Deadline,
) -> Result<Samples, Fault> {
    let room = ((spec.duration.0 * MESSAGES_A_SECOND) as usize).clamp(1000, MOST_MESSAGES);
    let mut samples = Samples {
        round_trips: touched(room),
        one_ways: if session.stamps == ServerStamps::None { Vec::new() } else { touched(room) },
        followed: if spec.stages { Vec::with_capacity(room) } else { Vec::new() },
        ..Samples::default()
    };
    let mut message = vec![0; session.size as usize];
    let mut reply = message.clone();
    let mut now = clock::now();
    let left = until.time_left().as_secs_f64();
    let end = now + nanoseconds(Seconds(spec.duration.0.min(left)));
    while now < end && samples.round_trips.len() < room && !until.is_cancelled() {
        write_number(&mut message, samples.sent);
        let sent = clock::now();
        let deadline = sent + nanoseconds(spec.patience);
        channel.send(&message, deadline).map_err(|e| connection_fault(line.peer(), &e))?;
        let answered = reply_to(&mut channel, &mut reply, &mut samples, deadline, line, until)?;
        now = clock::now();
        samples.sent += 1;
        if answered {
            samples.round_trips.push(now - sent);
            if session.stamps != ServerStamps::None {
                samples.one_ways.push(read_time(&reply, ARRIVAL_TIME).saturating_sub(sent));
            }
            if spec.stages {
                let (number, replied) = (samples.sent - 1, read_time(&reply, DEPARTURE_TIME));
                samples.followed.push(FollowedMessage { number, sent, replied });
            }
        } else {
            lost(&mut samples, session, line, until)?;
        }
    }
    if left < spec.duration.0 && now >= end {
        // The deadline has a clock of its own, by which it may be a moment away.
        thread::sleep(until.time_left());
    }
    until.check("the measurement to end")?;
    if samples.round_trips.is_empty() {
        return Err(Fault::attempt(format!("none of {} messages was answered in time", samples.sent))
            .at(line.peer().to_string())
            .remedy("allow a longer `patience`, or see what drops the datagrams"));
    }
    Ok(samples)
}

/// Waits for the reply to the message just sent; `false` if it does not arrive in time.
#[inline]
fn reply_to(
    channel: &mut impl Channel,
    reply: &mut [u8],
    samples: &mut Samples,
    deadline: u64,
    line: &Line,
    until: &Deadline,
) -> Result<bool, Fault> {
    loop {
        match channel.receive(reply).map_err(|e| connection_fault(line.peer(), &e))? {
            Arrival::Whole(n) if n == reply.len() && has_number(reply, samples.sent) => return Ok(true),
            Arrival::Whole(_) => samples.late += 1,
            Arrival::NotYet => {}
            Arrival::Closed => return Err(closed_fault(line.peer())),
        }
        if until.is_cancelled() {
            return Err(Fault::interrupted());
        }
        if clock::now() >= deadline || until.is_over() {
            return Ok(false);
        }
    }
}

/// Counts a lost message, and checks that the server is still there.
#[cold]
fn lost(samples: &mut Samples, session: &Session, line: &mut Line, until: &Deadline) -> Result<(), Fault> {
    samples.lost += 1;
    until.check("a reply")?;
    if line.is_readable() {
        // During a session the server speaks only to refuse it.
        read_response(line, until)?;
    }
    if session.transport.is_lossy() {
        return Ok(());
    }
    Err(Fault::attempt("the server does not answer, though the connection stands")
        .at(line.peer().to_string())
        .remedy("see whether it is stopped or overloaded, or allow a longer `patience`"))
}

fn nanoseconds(seconds: Seconds) -> u64 {
    (seconds.0 * 1e9) as u64
}

/// An empty vector with its memory mapped, so that the loop has no page faults.
fn touched(room: usize) -> Vec<u64> {
    let mut memory = vec![u64::MAX; room];
    memory.clear();
    memory
}
