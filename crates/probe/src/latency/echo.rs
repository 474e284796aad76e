//! The server: sends every message back.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::channel::{Arrival, Channel, DatagramChannel, StreamChannel};
use super::session::Session;
use crate::clock;
use crate::message::{ARRIVAL, DEPARTURE, Stamps};
use crate::pin::pin;
use crate::session::context::ServerContext;
use crate::session::datagrams::{only, serve_datagrams};
use crate::session::limits::{GRACE, IDLE, LONGEST, is_closed, limit, silent};
use crate::session::medium::{Medium, Waiting, with_stream};
use crate::session::token::token;
use crate::transport::Transport;
use crosstalk_work::peer::socket::broken;
use crosstalk_work::peer::{Line, TICK, Until};

/// Serves one session of the probe.
///
/// # Errors
/// Where the session is invalid, or the client falls silent.
pub fn echo(session: &Session, line: &Line, context: ServerContext, until: &Until) -> Result<(), Fault> {
    session.transport.check_size(Bytes(session.size))?;
    let until = limit(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let peer = line.peer();
    if session.transport == Transport::Udp {
        let socket = only(serve_datagrams(context.socket.listener, line, token, 1, &until)?)?;
        let channel = DatagramChannel::new(socket, session.mode, TICK).map_err(|e| broken(peer, &e))?;
        return reflect(channel, session, line, &until);
    }
    // The client waits as the server does.
    let waiting = Waiting::alike(session.mode.nap(TICK));
    let medium = Medium::serve(session.transport, context, line, token, waiting, &until)?;
    with_stream!(medium, stream => reflect(StreamChannel::new(stream, session.mode), session, line, &until))
}

/// Writes the session's times into a message that had arrived at `now` and is sent next.
#[inline]
fn write_times(message: &mut [u8], stamps: Stamps, now: u64) {
    // A datagram of an unexpected size may be too short for them.
    if stamps == Stamps::None || message.len() < stamps.room() {
        return;
    }
    message[ARRIVAL].copy_from_slice(&now.to_le_bytes());
    if stamps == Stamps::Both {
        message[DEPARTURE].copy_from_slice(&clock::now().to_le_bytes());
    }
}

/// Nanoseconds without a message after which the client counts as stopped.
fn idle(seconds: f64) -> u64 {
    (seconds.clamp(IDLE.as_secs_f64(), LONGEST) * 1e9) as u64
}

/// Sends every message back until the client says something else.
fn reflect(mut channel: impl Channel, session: &Session, line: &Line, until: &Until) -> Result<(), Fault> {
    let mut message = vec![0; session.size as usize];
    let stamps = if session.stamps.fit(session.size) { session.stamps } else { Stamps::None };
    let mut now = clock::now();
    let end = now + until.left().as_nanos() as u64;
    let idle = idle(session.idle);
    loop {
        let outcome = channel.receive(&mut message).and_then(|arrival| {
            if let Arrival::Whole(n) = arrival {
                now = clock::now();
                write_times(&mut message[..n], stamps, now);
                channel.send(&message[..n], now + (GRACE * 1e9) as u64)?;
            }
            Ok(arrival)
        });
        match outcome {
            // A client that never falls silent is served for no longer than it announced.
            Ok(Arrival::Whole(_)) if now < end && !until.cancelled() => {}
            Ok(Arrival::Closed) => return Ok(()),
            Ok(_) if line.stirs() => return Ok(()),
            Ok(_) if clock::now().saturating_sub(now) > idle => return Err(silent(line.peer())),
            Ok(_) => until.check("the next message")?,
            Err(e) if is_closed(e.kind()) => return Ok(()),
            Err(e) => return Err(broken(line.peer(), &e)),
        }
    }
}
