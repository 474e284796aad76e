//! The server of the probes: does what its client asks, one conversation after the other. Clients
//! that connect meanwhile learn that it is busy.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use crosstalk_core::{Fault, FaultKind};

use crate::session::acceptor::Acceptor;
use crate::session::context::{ListenSocket, ServerContext};
use crate::session::limits::{LONGEST_SILENCE, parse_announced_time, silent_client_fault};
use crate::session::protocol::{Request, Response};
use crate::{bandwidth, latency};
use crosstalk_work::peer::{Deadline, Line, TICK};

/// How many conversations a server holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversations {
    /// One.
    Once,
    /// One after the other, until the limit.
    Forever,
}

/// Serves clients that connect to `socket`. With [`Conversations::Forever`] a conversation that fails is
/// reported to `failed`, and the server goes on.
///
/// # Errors
/// Where connections cannot be accepted; with [`Conversations::Once`] where the conversation fails; where
/// the time is up; interrupted.
pub fn serve<'a>(
    socket: impl Into<ListenSocket<'a>>,
    times: Conversations,
    until: &Deadline,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    let socket = socket.into();
    let acceptor = Acceptor::new()?;
    let (greeted, clients) = channel();
    thread::scope(|scope| {
        let accepts = &acceptor;
        let accepting = scope.spawn(move || accepts.accept_connections(socket.listener, &greeted, until));
        let context = ServerContext { socket, acceptor: &acceptor };
        let served = conversations(context, &clients, times, until, failed);
        acceptor.stop_accepting();
        match accepting.join() {
            Ok(Err(fault)) => Err(fault),
            _ => served,
        }
    })
}

fn conversations(
    context: ServerContext,
    clients: &Receiver<Line>,
    times: Conversations,
    until: &Deadline,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    loop {
        until.check("a connection")?;
        let mut line = match clients.recv_timeout(TICK) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                until.check("a connection")?;
                return Err(Fault::attempt("no more connections are accepted"));
            }
        };
        let peer = line.peer();
        let outcome = converse(&mut line, context, until).map_err(|f| f.at(peer.to_string()));
        drop(line);
        context.acceptor.allow_next();
        match (outcome, times) {
            (outcome, Conversations::Once) => return outcome,
            (Err(fault), _) if fault.kind == FaultKind::Interrupted || until.is_over() => return Err(fault),
            (Err(fault), Conversations::Forever) => failed(fault),
            (Ok(()), Conversations::Forever) => {}
        }
    }
}

/// Does what the client asks until it hangs up.
fn converse(line: &mut Line, context: ServerContext, until: &Deadline) -> Result<(), Fault> {
    loop {
        context.acceptor.announce_busy(LONGEST_SILENCE);
        let request = line.receive(&until.at_most(LONGEST_SILENCE)).map_err(|fault| {
            let idle = fault.kind == FaultKind::Attempt && !until.is_over() && !line.is_readable();
            if idle { silent_client_fault(line.peer()) } else { fault }
        })?;
        let Some(request) = request else { return Ok(()) };
        let outcome = match request {
            Request::Echo(session) => {
                context.acceptor.announce_busy(parse_announced_time(session.seconds));
                latency::echo::echo(&session, line, context, until)
            }
            Request::Count(session) => {
                context.acceptor.announce_busy(parse_announced_time(session.seconds));
                bandwidth::server::serve(&session, line, context, until)
            }
            Request::Hello { .. } | Request::Finished => Ok(()),
        };
        if let Err(fault) = outcome {
            let reason = fault.to_string();
            // The client may have hung up. The server reports the fault in either case.
            let _ = line.send(&Response::Refused { reason });
            return Err(fault);
        }
    }
}
