//! The server: sends or receives as the client asks.

use crosstalk_core::Fault;

use super::carriers::Carriers;
use super::counter::count_received;
use super::sender::{make_payload, send_on_all};
use super::session::Session;
use crate::pin::pin;
use crate::session::context::ServerContext;
use crate::session::datagrams::accept_datagrams;
use crate::session::limits::session_deadline;
use crate::session::medium::{Medium, WaitTimes};
use crate::session::protocol::Response;
use crate::session::token::token;
use crate::transport::Transport;
use crosstalk_work::peer::{Deadline, Line, TICK};

/// Serves one session of the probe.
///
/// # Errors
/// Where the session is invalid, or the client fails.
pub fn serve(session: &Session, line: &Line, context: ServerContext, until: &Deadline) -> Result<(), Fault> {
    session.check()?;
    let until = session_deadline(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let payload = if session.reverse { make_payload(session) } else { Vec::new() };
    let streams = session.streams;
    let carriers = if session.transport == Transport::Udp {
        Carriers::Datagrams(accept_datagrams(context.socket.listener, line, token, streams, &until)?)
    } else {
        let waiting = WaitTimes::same_on_both_sides(Some(TICK));
        let media = Medium::accept_all(session.transport, context, line, token, waiting, streams, &until)?;
        Carriers::Streams(media)
    };
    if session.reverse {
        let sent = send_on_all(carriers, session, &payload, line.peer(), &until, |_| Ok(()))?;
        return line.send(&Response::Sent(sent));
    }
    let counted = count_received(carriers, session, token, line, &until, &mut |interval| {
        line.send(&Response::Interval(interval))
    })?;
    line.send(&Response::Counted(counted))
}
