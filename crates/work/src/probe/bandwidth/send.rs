//! The measuring end: sends, then asks what came.

use rustix::io::Errno;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::{BitRate, Bytes};

use super::count::Counted;
use super::outcome::Outcome;
use super::spec::Spec;
use crate::peer::socket::{broken, gone, passing};
use crate::peer::{Line, TICK, Until};
use crate::probe::arguments::Transport;
use crate::probe::clock;
use crate::probe::control::{Answer, Ask, answer, datagrams_to, open, ready, unexpected};
use crate::probe::medium::{Medium, Waiting, over};
use crate::probe::pin::pin;

/// A connection that takes no byte for so long leads to nobody.
const STALLED: u64 = 5_000_000_000;

/// What the measuring end sent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sent {
    /// Bytes of payload.
    pub bytes: u64,
    /// Writes, or datagrams.
    pub writes: u64,
    /// From the first to after the last, in seconds.
    pub seconds: f64,
}

/// Measures every size of `spec` against the serving end at `target`.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Until) -> Result<Vec<Outcome>, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::overhead();
    let (mut line, _) = open(target, until)?;
    spec.sizes
        .iter()
        .map(|&size| {
            let (sent, counted) = session(&mut line, target, size, spec, until)?;
            Outcome::new(spec, size, sent, &counted, overhead.max(counted.overhead))
                .map_err(|f| f.at(target.to_string()))
        })
        .collect()
}

/// Measures one size.
fn session(
    line: &mut Line,
    target: SocketAddr,
    size: Bytes,
    spec: &Spec,
    until: &Until,
) -> Result<(Sent, Counted), Fault> {
    let ready = ready(line, &Ask::Count(spec.session(size)), until)?;
    let sent = if spec.transport == Transport::Udp {
        let socket = datagrams_to(target, line, &ready, until)?;
        datagrams(&socket, size, spec.rate, Budget::new(spec, until), line, until)?
    } else {
        let medium = Medium::meet(spec.transport, target, &ready, Waiting::alike(Some(TICK)), until)?;
        over!(medium, end => stream(end, size, Budget::new(spec, until), line, until)?)
        // Dropped there: the end of the stream tells the serving end to stop counting.
    };
    line.say(&Ask::Finished)?;
    match answer(line, until)? {
        Answer::Counted(counted) => Ok((sent, counted)),
        other => Err(unexpected(target, &other)),
    }
}

/// How long and how much to send.
#[derive(Debug, Clone, Copy)]
struct Budget {
    begin: u64,
    end: u64,
    bytes: u64,
}

impl Budget {
    fn new(spec: &Spec, until: &Until) -> Self {
        let begin = clock::now();
        let seconds = spec.duration.0.min(until.left().as_secs_f64());
        Budget { begin, end: begin + (seconds * 1e9) as u64, bytes: spec.bytes.map_or(u64::MAX, |b| b.0) }
    }
}

/// Writes of `size` bytes into a stream.
fn stream(
    mut end: impl Write,
    size: Bytes,
    budget: Budget,
    line: &Line,
    until: &Until,
) -> Result<Sent, Fault> {
    let failed = |e: io::Error| broken(line.peer(), &e);
    let payload = vec![0x5a; size.0 as usize];
    let mut sent = Sent::default();
    let (mut now, mut moved) = (budget.begin, budget.begin);
    while now < budget.end && sent.bytes < budget.bytes && !until.cancelled() {
        let write = size.0.min(budget.bytes - sent.bytes) as usize;
        let written = end.write(&payload[..write]);
        now = clock::now();
        match written {
            Ok(n) => {
                sent.bytes += n as u64;
                sent.writes += 1;
                moved = now;
            }
            Err(e) if passing(&e) && now - moved < STALLED => {}
            Err(e) if passing(&e) => return Err(stalled(line)),
            Err(e) => return Err(failed(e)),
        }
    }
    until.check("the measurement to end")?;
    sent.seconds = (now - budget.begin) as f64 * 1e-9;
    Ok(sent)
}

fn stalled(line: &Line) -> Fault {
    Fault::attempt("the other end takes no more bytes, though the connection stands")
        .at(line.peer().to_string())
        .remedy("see whether it is stopped, or the path is cut")
}

/// Datagrams of `size` bytes, at `rate` or as fast as the socket takes them.
fn datagrams(
    socket: &UdpSocket,
    size: Bytes,
    rate: Option<BitRate>,
    budget: Budget,
    line: &Line,
    until: &Until,
) -> Result<Sent, Fault> {
    let failed = |e: io::Error| broken(line.peer(), &e);
    socket.set_nonblocking(false).and_then(|()| socket.set_write_timeout(Some(TICK))).map_err(failed)?;
    let payload = vec![0x5a; size.0 as usize];
    let gap = rate.map_or(0.0, |rate| size.0 as f64 * 8e9 / rate.0);
    let mut sent = Sent::default();
    let mut now = budget.begin;
    while now < budget.end && sent.bytes < budget.bytes && !until.cancelled() {
        let due = budget.begin + (sent.writes as f64 * gap) as u64;
        if due > now {
            pause((due - now).min(budget.end - now));
            now = clock::now();
            continue;
        }
        match socket.send(&payload) {
            Ok(n) => {
                sent.bytes += n as u64;
                sent.writes += 1;
            }
            // A full queue of the device (send(2)): nothing was sent.
            Err(e) if passing(&e) || e.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {}
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Err(gone(line.peer())),
            Err(e) => return Err(failed(e)),
        }
        now = clock::now();
    }
    until.check("the measurement to end")?;
    sent.seconds = (now - budget.begin) as f64 * 1e-9;
    Ok(sent)
}

/// Waits so many nanoseconds: asleep where sleeping is exact enough, and a
/// while at most, so that a slow rate can be cancelled.
fn pause(ns: u64) {
    const SLACK: u64 = 200_000;
    if ns > SLACK {
        thread::sleep(Duration::from_nanos(ns - SLACK).min(TICK));
    } else {
        std::hint::spin_loop();
    }
}
