//! The serving end: sends back what comes.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::spec::Session;
use super::wire::{ARRIVAL, Arrival, DEPARTURE, Datagrams, Stamps, Stream, Wire};
use crate::arguments::Transport;
use crate::clock;
use crate::control::{GRACE, expect_datagrams, limit, only, token};
use crate::medium::{Medium, Waiting, over};
use crate::pin::pin;
use crate::server::{IDLE, Serving, closed, idled};
use crosstalk_work::peer::socket::broken;
use crosstalk_work::peer::{Line, TICK, Until};

/// Serves one session of the probe.
pub fn echo(session: &Session, line: &Line, serving: Serving, until: &Until) -> Result<(), Fault> {
    session.transport.carries(Bytes(session.size))?;
    let until = limit(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let peer = line.peer();
    if session.transport == Transport::Udp {
        let socket = only(expect_datagrams(serving.door.listener, line, token, 1, &until)?)?;
        let wire = Datagrams::new(socket, session.mode, TICK).map_err(|e| broken(peer, &e))?;
        return reflect(wire, session, line, &until);
    }
    // The measuring end may sleep, and is looked for, where this one does.
    let waiting = Waiting::alike(session.mode.nap(TICK));
    let medium = Medium::serve(session.transport, serving, line, token, waiting, &until)?;
    over!(medium, stream => reflect(Stream::new(stream, session.mode), session, line, &until))
}

/// Writes the times that are asked for into a message that has come by `now`, and is sent next.
#[inline]
fn write_times(message: &mut [u8], stamps: Stamps, now: u64) {
    // A datagram of another size than was agreed upon may be too short for them.
    if stamps == Stamps::None || message.len() < stamps.room() {
        return;
    }
    message[ARRIVAL].copy_from_slice(&now.to_le_bytes());
    if stamps == Stamps::Both {
        message[DEPARTURE].copy_from_slice(&clock::now().to_le_bytes());
    }
}

/// Nanoseconds without a message after which the measuring end counts as stopped.
fn idle(seconds: f64) -> u64 {
    (seconds.clamp(IDLE.as_secs_f64(), 86_400.0) * 1e9) as u64
}

/// Sends every message back, until the measuring end has something else to say.
fn reflect(mut wire: impl Wire, session: &Session, line: &Line, until: &Until) -> Result<(), Fault> {
    let mut message = vec![0; session.size as usize];
    let stamps = if session.stamps.fit(session.size) { session.stamps } else { Stamps::None };
    let mut now = clock::now();
    let end = now + until.left().as_nanos() as u64;
    let idle = idle(session.idle);
    loop {
        let outcome = wire.take(&mut message).and_then(|arrival| {
            if let Arrival::Whole(n) = arrival {
                now = clock::now();
                write_times(&mut message[..n], stamps, now);
                wire.put(&message[..n], now + (GRACE * 1e9) as u64)?;
            }
            Ok(arrival)
        });
        match outcome {
            // Also an end that never falls silent is served for no longer than it said.
            Ok(Arrival::Whole(_)) if now < end && !until.cancelled() => {}
            Ok(Arrival::Closed) => return Ok(()),
            Ok(_) if line.stirs() => return Ok(()),
            Ok(_) if clock::now().saturating_sub(now) > idle => return Err(idled(line.peer())),
            Ok(_) => until.check("the next message")?,
            Err(e) if closed(e.kind()) => return Ok(()),
            Err(e) => return Err(broken(line.peer(), &e)),
        }
    }
}
