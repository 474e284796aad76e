//! Accepts connections to a server, also while it serves a client.
//!
//! Data connections of the current session are handed to it. Other clients learn that the server
//! is busy, and for how long. The acceptor hangs up on callers that are silent or send something
//! else, so that nobody keeps others waiting.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::cpu::allowed;

use super::caller::{Greeting, NewConnection};
use super::protocol::{Response, VERSION};
use crate::clock;
use crosstalk_work::peer::socket::{closed_fault, is_temporary};
use crosstalk_work::peer::{Deadline, Line, TICK};

/// How long a caller may take to greet or to show its token. A port scanner must not hold a place.
const GREETING: Duration = Duration::from_secs(2);

/// How long a client waits before it learns that the server is busy: the previous conversation may
/// be about to end.
const WAIT: Duration = Duration::from_millis(500);

/// How long a data connection may take once its client has said something else.
const LATE: Duration = Duration::from_millis(500);

/// The most callers that have not greeted; one more replaces the oldest.
const MOST: usize = 64;

/// Accepts a server's connections on one thread, and hands clients and data connections over to
/// the serving thread.
pub struct Acceptor {
    state: Mutex<State>,
    wake: OwnedFd,
}

#[derive(Default)]
struct State {
    /// When the current conversation may be over; `None`: there is none.
    busy: Option<Instant>,
    /// The token of the current session, and where its connections go.
    expected: Option<(u64, Sender<TcpStream>)>,
    over: bool,
}

impl Acceptor {
    /// The acceptor of a server without a client.
    ///
    /// # Errors
    /// Where the kernel has no event descriptor.
    pub fn new() -> Result<Self, Fault> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Fault::environment(format!("cannot make an event descriptor: {e}")))?;
        Ok(Acceptor { state: Mutex::default(), wake })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // The counter can only be full, and then the other thread wakes up, too.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Notes that the current conversation takes at most `time`, so that other clients can be
    /// refused.
    pub fn announce_busy(&self, time: Duration) {
        self.state().busy = Some(Instant::now() + time);
    }

    /// Notes that the conversation is over: the next client may begin.
    pub fn allow_next(&self) {
        self.state().busy = None;
        self.wake();
    }

    /// Stops accepting connections.
    pub fn stop_accepting(&self) {
        self.state().over = true;
        self.wake();
    }

    /// From now on, hands over connections that show `token`.
    pub fn expect_token(&self, token: u64) -> DataConnections<'_> {
        let (sender, streams) = channel();
        self.state().expected = Some((token, sender));
        DataConnections { acceptor: self, streams }
    }

    /// Accepts connections until the end; hands over clients that have greeted, one at a time.
    ///
    /// # Errors
    /// Where the listener fails.
    pub fn accept_connections(
        &self,
        listener: &TcpListener,
        greeted: &Sender<Line>,
        until: &Deadline,
    ) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::environment(format!("cannot accept a connection: {e}"));
        listener.set_nonblocking(true).map_err(failed)?;
        let mut callers: Vec<NewConnection> = Vec::new();
        while !self.state().over && !until.is_cancelled() && !until.is_over() {
            self.wait(listener, &callers).map_err(failed)?;
            loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        if callers.len() == MOST {
                            callers.remove(0);
                        }
                        callers.extend(NewConnection::new(stream));
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    // The caller can be gone before it is accepted (accept(2)).
                    Err(e) if is_temporary(&e) || e.kind() == ErrorKind::ConnectionAborted => {}
                    Err(e) => return Err(failed(e)),
                }
            }
            callers = callers.into_iter().filter_map(|caller| self.attend(caller, greeted)).collect();
        }
        Ok(())
    }

    /// Waits until something happens, or for a tick.
    fn wait(&self, listener: &TcpListener, callers: &[NewConnection]) -> io::Result<()> {
        let undecided = callers.iter().filter(|caller| !caller.greeted);
        let mut fds = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        fds.extend(undecided.map(|caller| PollFd::new(&caller.stream, PollFlags::IN)));
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        match poll(&mut fds, Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        // The count does not matter.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        Ok(())
    }

    /// Handles a caller; returns it if it has to wait.
    fn attend(&self, mut caller: NewConnection, greeted: &Sender<Line>) -> Option<NewConnection> {
        if !caller.greeted {
            let expected = self.state().expected.as_ref().map(|(token, _)| *token);
            match caller.read_greeting(expected) {
                Greeting::Nothing => return (caller.since.elapsed() < GREETING).then_some(caller),
                Greeting::Gone => return None,
                Greeting::Token(token) => {
                    caller.stream.set_nonblocking(false).ok()?;
                    let state = self.state();
                    let (_, sender) = state.expected.as_ref().filter(|(known, _)| *known == token)?;
                    // The session may have all its connections already.
                    let _ = sender.send(caller.stream);
                    return None;
                }
                // A client of another version reads this one's and hangs up.
                Greeting::Hello(version) if version != VERSION => {
                    let _ = caller.into_line().ok()?.send(&hello());
                    return None;
                }
                Greeting::Hello(_) => (caller.greeted, caller.since) = (true, Instant::now()),
            }
        }
        let mut state = self.state();
        match state.busy {
            None => {
                let line = caller.into_line().ok()?;
                if line.send(&hello()).is_ok() && greeted.send(line).is_ok() {
                    state.busy = Some(Instant::now());
                }
                None
            }
            Some(_) if caller.since.elapsed() < WAIT => Some(caller),
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                let _ = caller
                    .into_line()
                    .ok()?
                    .send(&Response::Busy { seconds: left.as_secs_f64().ceil().max(1.0) });
                None
            }
        }
    }
}

fn hello() -> Response {
    Response::Hello { version: VERSION, clock: clock::clock_identity(), cpus: allowed() }
}

/// The data connections of a session, as they arrive.
pub struct DataConnections<'a> {
    acceptor: &'a Acceptor,
    streams: Receiver<TcpStream>,
}

impl DataConnections<'_> {
    /// The next data connection.
    ///
    /// A client that hangs up or says something else instead will not connect. A client that sends
    /// little may already have connected, sent everything and said so: its connection counts.
    ///
    /// # Errors
    /// Where the client will not connect; where the time is up; interrupted.
    pub fn accept_next(&self, line: &Line, until: &Deadline) -> Result<TcpStream, Fault> {
        loop {
            until.check("the client to connect")?;
            let speaks = line.is_readable();
            match self.streams.recv_timeout(if speaks { LATE } else { TICK }) {
                Ok(stream) if !line.peer_has_closed() => return Ok(stream),
                Err(RecvTimeoutError::Timeout) if !speaks && !line.peer_has_closed() => {}
                _ => return Err(closed_fault(line.peer())),
            }
        }
    }
}

impl Drop for DataConnections<'_> {
    fn drop(&mut self) {
        self.acceptor.state().expected = None;
    }
}

#[cfg(test)]
mod tests;
