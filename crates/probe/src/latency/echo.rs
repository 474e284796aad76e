//! The server: sends every message back.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::channel::{Arrival, Channel, DatagramChannel, StreamChannel};
use super::session::Session;
use crate::clock;
use crate::message::{ARRIVAL_TIME, DEPARTURE_TIME, ServerStamps};
use crate::pin::pin;
use crate::session::context::ServerContext;
use crate::session::datagrams::{accept_datagrams, only_socket};
use crate::session::limits::{
    LONGEST_SESSION, LONGEST_SILENCE, SESSION_GRACE, is_closed, session_deadline, silent_client_fault,
};
use crate::session::medium::{Medium, WaitTimes, with_stream};
use crate::session::token::token;
use crate::transport::Transport;
use crosstalk_work::peer::socket::connection_fault;
use crosstalk_work::peer::{Deadline, Line, TICK};

/// Serves one session of the probe.
///
/// # Errors
/// Where the session is invalid, or the client falls silent.
pub fn echo(session: &Session, line: &Line, context: ServerContext, until: &Deadline) -> Result<(), Fault> {
    session.transport.check_size(Bytes(session.size))?;
    let until = session_deadline(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let peer = line.peer();
    if session.transport == Transport::Udp {
        let socket = only_socket(accept_datagrams(context.socket.listener, line, token, 1, &until)?)?;
        let channel =
            DatagramChannel::new(socket, session.mode, TICK).map_err(|e| connection_fault(peer, &e))?;
        return reflect(channel, session, line, &until);
    }
    // The client waits as the server does.
    let waiting = WaitTimes::same_on_both_sides(session.mode.longest_sleep(TICK));
    let medium = Medium::accept(session.transport, context, line, token, waiting, &until)?;
    with_stream!(medium, stream => reflect(StreamChannel::new(stream, session.mode), session, line, &until))
}

/// Writes the session's times into a message that had arrived at `now` and is sent next.
#[inline]
fn write_times(message: &mut [u8], stamps: ServerStamps, now: u64) {
    // A datagram of an unexpected size may be too short for them.
    if stamps == ServerStamps::None || message.len() < stamps.bytes_needed() {
        return;
    }
    message[ARRIVAL_TIME].copy_from_slice(&now.to_le_bytes());
    if stamps == ServerStamps::Both {
        message[DEPARTURE_TIME].copy_from_slice(&clock::now().to_le_bytes());
    }
}

/// Nanoseconds without a message after which the client counts as stopped.
fn idle(seconds: f64) -> u64 {
    (seconds.clamp(LONGEST_SILENCE.as_secs_f64(), LONGEST_SESSION) * 1e9) as u64
}

/// Sends every message back until the client says something else.
fn reflect(mut channel: impl Channel, session: &Session, line: &Line, until: &Deadline) -> Result<(), Fault> {
    let mut message = vec![0; session.size as usize];
    let stamps = if session.stamps.fits_into(session.size) { session.stamps } else { ServerStamps::None };
    let mut now = clock::now();
    let end = now + until.time_left().as_nanos() as u64;
    let idle = idle(session.idle);
    loop {
        let outcome = channel.receive(&mut message).and_then(|arrival| {
            if let Arrival::Whole(n) = arrival {
                now = clock::now();
                write_times(&mut message[..n], stamps, now);
                channel.send(&message[..n], now + (SESSION_GRACE * 1e9) as u64)?;
            }
            Ok(arrival)
        });
        match outcome {
            // A client that never falls silent is served for no longer than it announced.
            Ok(Arrival::Whole(_)) if now < end && !until.is_cancelled() => {}
            Ok(Arrival::Closed) => return Ok(()),
            Ok(_) if line.is_readable() => return Ok(()),
            Ok(_) if clock::now().saturating_sub(now) > idle => return Err(silent_client_fault(line.peer())),
            Ok(_) => until.check("the next message")?,
            Err(e) if is_closed(e.kind()) => return Ok(()),
            Err(e) => return Err(connection_fault(line.peer(), &e)),
        }
    }
}
