//! The end that serves: it does what the measuring end asks, one conversation
//! after the other. Who comes meanwhile learns that it is busy.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};

use super::acceptor::Acceptor;
use super::control::{Answer, Ask};
use super::{bandwidth, latency};
use crosstalk_work::peer::socket::listen;
use crosstalk_work::peer::{Line, TICK, Until};

/// How long a measuring end may ask for nothing, or send nothing of what it has announced: it is
/// stopped, or the path is cut, and others are to be served.
pub const IDLE: Duration = Duration::from_secs(5);

/// How many conversations to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// One, then end.
    Once,
    /// One after the other, until the limit.
    Forever,
}

/// Where measuring ends come in.
#[derive(Debug, Clone, Copy)]
pub struct Door<'a> {
    /// Where they connect.
    pub listener: &'a TcpListener,
    /// A folder that ends on this host see, too, where their networks are not one.
    pub scratch: Option<&'a Path>,
}

impl<'a> From<&'a TcpListener> for Door<'a> {
    fn from(listener: &'a TcpListener) -> Self {
        Door { listener, scratch: None }
    }
}

/// What a session is served with.
#[derive(Clone, Copy)]
pub struct Serving<'a> {
    /// Where its end came in.
    pub door: Door<'a>,
    /// Who takes in its connections.
    pub acceptor: &'a Acceptor,
}

/// Serves measuring ends that come in at `door`. With [`Times::Forever`] a
/// conversation that fails is told to `failed`, and the next is awaited.
pub fn serve<'a>(
    door: impl Into<Door<'a>>,
    times: Times,
    until: &Until,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    let door = door.into();
    let acceptor = Acceptor::new()?;
    let (greeted, callers) = channel();
    thread::scope(|scope| {
        let accepts = &acceptor;
        let accepting = scope.spawn(move || accepts.run(door.listener, &greeted, until));
        let served = conversations(Serving { door, acceptor: &acceptor }, &callers, times, until, failed);
        acceptor.end();
        match accepting.join() {
            Ok(Err(fault)) => Err(fault),
            _ => served,
        }
    })
}

fn conversations(
    serving: Serving,
    callers: &Receiver<Line>,
    times: Times,
    until: &Until,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    loop {
        until.check("a connection")?;
        let mut line = match callers.recv_timeout(TICK) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                until.check("a connection")?;
                return Err(Fault::attempt("no more connections are taken"));
            }
        };
        let peer = line.peer();
        let outcome = converse(&mut line, serving, until).map_err(|f| f.at(peer.to_string()));
        drop(line);
        serving.acceptor.free();
        match (outcome, times) {
            (outcome, Times::Once) => return outcome,
            (Err(fault), _) if fault.kind == FaultKind::Interrupted || until.is_over() => return Err(fault),
            (Err(fault), Times::Forever) => failed(fault),
            (Ok(()), Times::Forever) => {}
        }
    }
}

/// Does what is asked until the measuring end hangs up.
fn converse(line: &mut Line, serving: Serving, until: &Until) -> Result<(), Fault> {
    loop {
        serving.acceptor.busy_for(IDLE);
        let asked = line.hear(&until.within(IDLE)).map_err(|fault| {
            let idle = fault.kind == FaultKind::Attempt && !until.is_over() && !line.stirs();
            if idle { idled(line.peer()) } else { fault }
        })?;
        let Some(ask) = asked else { return Ok(()) };
        let outcome = match ask {
            Ask::Echo(session) => {
                serving.acceptor.busy_for(about(session.seconds));
                latency::echo(&session, line, serving, until)
            }
            Ask::Count(session) => {
                serving.acceptor.busy_for(about(session.seconds));
                bandwidth::serve(&session, line, serving, until)
            }
            Ask::Hello { .. } | Ask::Finished => Ok(()),
        };
        if let Err(fault) = outcome {
            let reason = fault.to_string();
            // It learns the reason where it still listens; this end keeps the fault anyway.
            let _ = line.say(&Answer::Refused { reason });
            return Err(fault);
        }
    }
}

/// How long a session will go on, whatever was said.
fn about(seconds: f64) -> Duration {
    Duration::from_secs_f64(if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 86_400.0) })
}

/// The fault for an end that has fallen silent.
pub fn idled(peer: SocketAddr) -> Fault {
    Fault::attempt("the measuring end has fallen silent, and was hung up on")
        .at(peer.to_string())
        .remedy("see whether it is stopped, or the path is cut")
}

/// Both ends on this host: serves on the loopback and calls `measure` with
/// where that is.
pub fn here<T>(until: &Until, measure: impl FnOnce(SocketAddr) -> Result<T, Fault>) -> Result<T, Fault> {
    let listener = listen(([127, 0, 0, 1], 0).into())?;
    let target = listener
        .local_addr()
        .map_err(|e| Fault::environment(format!("a listener without an address: {e}")))?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let until = Until::new(Seconds(until.left().as_secs_f64()), &over);
            serve(&listener, Times::Once, &until, &mut |_| ())
        });
        let measured = measure(target);
        over.store(true, Ordering::Relaxed);
        let served = serving.join().map_err(|_| Fault::attempt("the serving end panicked"))?;
        match (measured, served) {
            // The serving end knows why it hung up; the measuring end only that it did.
            (Err(ours), Err(theirs))
                if theirs.kind != FaultKind::Interrupted && ours.kind == FaultKind::Gone =>
            {
                Err(theirs)
            }
            (measured, _) => measured,
        }
    })
}

/// Whether the other end closed the connection, which ends a session well.
pub fn closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
