//! The server: sends or receives as the client asks.

use crosstalk_core::Fault;

use super::carriers::Carriers;
use super::counter::count;
use super::sender::{payload, send};
use super::session::Session;
use crate::pin::pin;
use crate::session::context::ServerContext;
use crate::session::datagrams::serve_datagrams;
use crate::session::limits::limit;
use crate::session::medium::{Medium, Waiting};
use crate::session::protocol::Response;
use crate::session::token::token;
use crate::transport::Transport;
use crosstalk_work::peer::{Line, TICK, Until};

/// Serves one session of the probe.
///
/// # Errors
/// Where the session is invalid, or the client fails.
pub fn serve(session: &Session, line: &Line, context: ServerContext, until: &Until) -> Result<(), Fault> {
    session.check()?;
    let until = limit(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let payload = if session.reverse { payload(session) } else { Vec::new() };
    let streams = session.streams;
    let carriers = if session.transport == Transport::Udp {
        Carriers::Datagrams(serve_datagrams(context.socket.listener, line, token, streams, &until)?)
    } else {
        let waiting = Waiting::alike(Some(TICK));
        let media = Medium::serve_all(session.transport, context, line, token, waiting, streams, &until)?;
        Carriers::Streams(media)
    };
    if session.reverse {
        let sent = send(carriers, session, &payload, line.peer(), &until, |_| Ok(()))?;
        return line.say(&Response::Sent(sent));
    }
    let counted = count(carriers, session, token, line, &until, &mut |interval| {
        line.say(&Response::Interval(interval))
    })?;
    line.say(&Response::Counted(counted))
}
