//! The end that serves: it does what the measuring end asks, one conversation
//! after the other.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};

use super::control::{Answer, Ask, VERSION};
use super::{bandwidth, clock, latency};
use crate::peer::socket::{accept, listen};
use crate::peer::{Line, Until};

/// How long a caller may take to greet: a port scanner must not block the port.
const GREETING: Duration = Duration::from_secs(2);

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

/// Serves measuring ends that come in at `door`. With [`Times::Forever`] a
/// conversation that fails is told to `failed`, and the next is awaited.
pub fn serve<'a>(
    door: impl Into<Door<'a>>,
    times: Times,
    until: &Until,
    failed: &mut dyn FnMut(Fault),
) -> Result<(), Fault> {
    let door = door.into();
    loop {
        let (stream, peer) = accept(door.listener, until)?;
        let mut line = Line::new(stream)?;
        if !greeted(&mut line, until) {
            continue;
        }
        match (converse(&mut line, door, until).map_err(|f| f.at(peer.to_string())), times) {
            (outcome, Times::Once) => return outcome,
            (Err(fault), _) if fault.kind == FaultKind::Interrupted || until.is_over() => return Err(fault),
            (Err(fault), Times::Forever) => failed(fault),
            (Ok(()), Times::Forever) => {}
        }
    }
}

/// Whether the caller is a measuring end of this version.
fn greeted(line: &mut Line, until: &Until) -> bool {
    let Ok(Some(Ask::Hello { version })) = line.hear(&until.within(GREETING)) else {
        return false;
    };
    // One of another version learns this one's and goes away by itself.
    let said = line.say(&Answer::Hello { version: VERSION, clock: clock::identity() });
    said.is_ok() && version == VERSION
}

/// Does what is asked until the measuring end hangs up.
fn converse(line: &mut Line, door: Door, until: &Until) -> Result<(), Fault> {
    while let Some(ask) = line.hear(until)? {
        let outcome = match ask {
            Ask::Echo(session) => latency::echo(&session, line, door, until),
            Ask::Count(session) => bandwidth::count(&session, line, door, until),
            Ask::Hello { .. } | Ask::Finished => Ok(()),
        };
        if let Err(fault) = outcome {
            let reason = fault.to_string();
            // It learns the reason where it still listens; this end keeps the fault anyway.
            let _ = line.say(&Answer::Refused { reason });
            return Err(fault);
        }
    }
    Ok(())
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
                if theirs.kind != FaultKind::Interrupted && ours.message.contains("went away") =>
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
