//! The server of the probes: does what its client asks, one conversation after the other. Clients
//! that connect meanwhile learn that it is busy.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use crosstalk_core::{Fault, FaultKind};

use crate::session::acceptor::Acceptor;
use crate::session::context::{ListenSocket, ServerContext};
use crate::session::limits::{IDLE, announced, silent};
use crate::session::protocol::{Request, Response};
use crate::{bandwidth, latency};
use crosstalk_work::peer::{Line, TICK, Until};

/// How many conversations a server holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// One.
    Once,
    /// One after the other, until the limit.
    Forever,
}

/// Serves clients that connect to `socket`. With [`Times::Forever`] a conversation that fails is
/// reported to `failed`, and the server goes on.
///
/// # Errors
/// Where connections cannot be accepted; with [`Times::Once`] where the conversation fails; where
/// the time is up; interrupted.
pub fn serve<'a>(
    socket: impl Into<ListenSocket<'a>>,
    times: Times,
    until: &Until,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    let socket = socket.into();
    let acceptor = Acceptor::new()?;
    let (greeted, clients) = channel();
    thread::scope(|scope| {
        let accepts = &acceptor;
        let accepting = scope.spawn(move || accepts.run(socket.listener, &greeted, until));
        let context = ServerContext { socket, acceptor: &acceptor };
        let served = conversations(context, &clients, times, until, failed);
        acceptor.end();
        match accepting.join() {
            Ok(Err(fault)) => Err(fault),
            _ => served,
        }
    })
}

fn conversations(
    context: ServerContext,
    clients: &Receiver<Line>,
    times: Times,
    until: &Until,
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
        context.acceptor.free();
        match (outcome, times) {
            (outcome, Times::Once) => return outcome,
            (Err(fault), _) if fault.kind == FaultKind::Interrupted || until.is_over() => return Err(fault),
            (Err(fault), Times::Forever) => failed(fault),
            (Ok(()), Times::Forever) => {}
        }
    }
}

/// Does what the client asks until it hangs up.
fn converse(line: &mut Line, context: ServerContext, until: &Until) -> Result<(), Fault> {
    loop {
        context.acceptor.busy_for(IDLE);
        let request = line.hear(&until.within(IDLE)).map_err(|fault| {
            let idle = fault.kind == FaultKind::Attempt && !until.is_over() && !line.stirs();
            if idle { silent(line.peer()) } else { fault }
        })?;
        let Some(request) = request else { return Ok(()) };
        let outcome = match request {
            Request::Echo(session) => {
                context.acceptor.busy_for(announced(session.seconds));
                latency::echo::echo(&session, line, context, until)
            }
            Request::Count(session) => {
                context.acceptor.busy_for(announced(session.seconds));
                bandwidth::server::serve(&session, line, context, until)
            }
            Request::Hello { .. } | Request::Finished => Ok(()),
        };
        if let Err(fault) = outcome {
            let reason = fault.to_string();
            // The client may have hung up. The server reports the fault in either case.
            let _ = line.say(&Response::Refused { reason });
            return Err(fault);
        }
    }
}
