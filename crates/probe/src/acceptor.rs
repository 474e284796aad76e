//! Takes in who connects to a serving end, also while it serves another: data connections of the
//! session that goes on are handed to it, other callers learn that it is busy and for how long, and
//! who says nothing, or nothing that makes sense, is hung up on. So nobody keeps others waiting.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::receive;
use crosstalk_host::cpu::allowed;

use super::clock;
use super::control::{Answer, Ask, VERSION};
use crosstalk_work::peer::socket::{gone, passing};
use crosstalk_work::peer::{Line, TICK, Until};

/// How long a caller may take to greet, or to show its token: a port scanner must not hold a place.
const GREETING: Duration = Duration::from_secs(2);

/// How long a caller waits for its turn before it learns that this end is busy: a conversation that
/// has just ended may not have been cleared away.
const TURN: Duration = Duration::from_millis(500);

/// How long a data connection may take to be taken in once its end has something else to say.
const LATE: Duration = Duration::from_millis(500);

/// How many callers may be undecided at a time; one more replaces the oldest.
const MOST: usize = 64;

/// Bytes of a token, and the most of a greeting.
const TOKEN: usize = 8;
const LONGEST: usize = 256;

/// What the accepting and the serving thread share.
pub struct Acceptor {
    state: Mutex<State>,
    wake: OwnedFd,
}

#[derive(Default)]
struct State {
    /// When the conversation that goes on may be over; `None`: there is none.
    busy: Option<Instant>,
    /// The token of the session that goes on, and where its connections go.
    expected: Option<(u64, Sender<TcpStream>)>,
    over: bool,
}

/// Somebody who has connected.
struct Caller {
    stream: TcpStream,
    said: Vec<u8>,
    since: Instant,
    greeted: bool,
}

/// What a caller has greeted with.
enum Greeting {
    Nothing,
    Gone,
    Token(u64),
    Hello(u32),
}

impl Acceptor {
    /// Of a serving end that is free.
    pub fn new() -> Result<Self, Fault> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Fault::environment(format!("cannot make an event descriptor: {e}")))?;
        Ok(Acceptor { state: Mutex::default(), wake })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It can only be full, and then the other thread wakes up all the same.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// The conversation that goes on may take so long.
    pub fn busy_for(&self, time: Duration) {
        self.state().busy = Some(Instant::now() + time);
    }

    /// The conversation is over: the next caller may come in.
    pub fn free(&self) {
        self.state().busy = None;
        self.wake();
    }

    /// Nobody is to be taken in any more.
    pub fn end(&self) {
        self.state().over = true;
        self.wake();
    }

    /// From now on connections that show `token` are handed over.
    pub fn expect(&self, token: u64) -> Arrivals<'_> {
        let (give, streams) = channel();
        self.state().expected = Some((token, give));
        Arrivals { acceptor: self, streams }
    }

    /// Takes callers in until the end; hands over who has greeted, one at a time.
    pub fn run(&self, listener: &TcpListener, greeted: &Sender<Line>, until: &Until) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::environment(format!("cannot take a connection: {e}"));
        listener.set_nonblocking(true).map_err(failed)?;
        let mut callers: Vec<Caller> = Vec::new();
        while !self.state().over && !until.cancelled() && !until.is_over() {
            self.wait(listener, &callers).map_err(failed)?;
            loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        if callers.len() == MOST {
                            callers.remove(0);
                        }
                        callers.extend(Caller::new(stream));
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    // The caller can be gone before it is taken (accept(2)).
                    Err(e) if passing(&e) || e.kind() == ErrorKind::ConnectionAborted => {}
                    Err(e) => return Err(failed(e)),
                }
            }
            callers = callers.into_iter().filter_map(|caller| self.attend(caller, greeted)).collect();
        }
        Ok(())
    }

    /// Until something happens, or for a tick.
    fn wait(&self, listener: &TcpListener, callers: &[Caller]) -> io::Result<()> {
        let undecided = callers.iter().filter(|caller| !caller.greeted);
        let mut fds = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        fds.extend(undecided.map(|caller| PollFd::new(&caller.stream, PollFlags::IN)));
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        match poll(&mut fds, Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        // What it counted does not matter.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        Ok(())
    }

    /// Does what can be done for a caller now; returns one that has to wait.
    fn attend(&self, mut caller: Caller, greeted: &Sender<Line>) -> Option<Caller> {
        if !caller.greeted {
            let expected = self.state().expected.as_ref().map(|(token, _)| *token);
            match caller.hear(expected) {
                Greeting::Nothing => return (caller.since.elapsed() < GREETING).then_some(caller),
                Greeting::Gone => return None,
                Greeting::Token(token) => {
                    caller.stream.set_nonblocking(false).ok()?;
                    let state = self.state();
                    let (_, give) = state.expected.as_ref().filter(|(known, _)| *known == token)?;
                    // Who expected it may be content already.
                    let _ = give.send(caller.stream);
                    return None;
                }
                // One of another version learns this one's and goes away by itself.
                Greeting::Hello(version) if version != VERSION => {
                    let _ = caller.line().ok()?.say(&hello());
                    return None;
                }
                Greeting::Hello(_) => (caller.greeted, caller.since) = (true, Instant::now()),
            }
        }
        let mut state = self.state();
        match state.busy {
            None => {
                let line = caller.line().ok()?;
                if line.say(&hello()).is_ok() && greeted.send(line).is_ok() {
                    state.busy = Some(Instant::now());
                }
                None
            }
            Some(_) if caller.since.elapsed() < TURN => Some(caller),
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                let _ =
                    caller.line().ok()?.say(&Answer::Busy { seconds: left.as_secs_f64().ceil().max(1.0) });
                None
            }
        }
    }
}

fn hello() -> Answer {
    Answer::Hello { version: VERSION, clock: clock::identity(), cpus: allowed() }
}

impl Caller {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).ok()?;
        Some(Caller { stream, said: Vec::new(), since: Instant::now(), greeted: false })
    }

    /// Takes in what is there: of who shows the `expected` token nothing of what follows it, of who
    /// greets nothing after the line's end.
    fn hear(&mut self, expected: Option<u64>) -> Greeting {
        loop {
            let mut bytes = [0; TOKEN];
            let most = TOKEN.saturating_sub(self.said.len()).max(1);
            match self.stream.read(&mut bytes[..most]) {
                Ok(0) => return Greeting::Gone,
                Ok(n) => self.said.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if passing(&e) => return Greeting::Nothing,
                Err(_) => return Greeting::Gone,
            }
            if let Ok(token) = <[u8; TOKEN]>::try_from(self.said.as_slice()) {
                let token = u64::from_le_bytes(token);
                if expected == Some(token) {
                    return Greeting::Token(token);
                }
            }
            if self.said.ends_with(b"\n") {
                return match receive(&mut self.said.as_slice()) {
                    Ok(Some(Ask::Hello { version })) => Greeting::Hello(version),
                    _ => Greeting::Gone,
                };
            }
            if self.said.len() >= TOKEN && !self.said.starts_with(b"{") || self.said.len() > LONGEST {
                return Greeting::Gone;
            }
        }
    }

    fn line(self) -> Result<Line, Fault> {
        let blocking = self.stream.set_nonblocking(false);
        blocking.map_err(|e| Fault::attempt(format!("cannot hold a conversation: {e}")))?;
        Line::new(self.stream)
    }
}

/// The data connections of a session.
pub struct Arrivals<'a> {
    acceptor: &'a Acceptor,
    streams: Receiver<TcpStream>,
}

impl Arrivals<'_> {
    /// The next one. A measuring end that has hung up instead, or has something else to say, will not
    /// come, unless it has come already: one that sends little may be through with it.
    pub fn next(&self, line: &Line, until: &Until) -> Result<TcpStream, Fault> {
        loop {
            until.check("the measuring end to come")?;
            let stirs = line.stirs();
            match self.streams.recv_timeout(if stirs { LATE } else { TICK }) {
                Ok(stream) if !line.hung_up() => return Ok(stream),
                Err(RecvTimeoutError::Timeout) if !stirs && !line.hung_up() => {}
                _ => return Err(gone(line.peer())),
            }
        }
    }
}

impl Drop for Arrivals<'_> {
    fn drop(&mut self) {
        self.acceptor.state().expected = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{data, open};
    use crosstalk_core::units::Seconds;
    use crosstalk_work::peer::socket::{connect, listen};
    use std::io::Write;
    use std::net::SocketAddr;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    /// What comes of `upon` at an acceptor, who hands over lines.
    fn at_the_door(upon: impl FnOnce(SocketAddr, &Acceptor, &Receiver<Line>, &Until)) {
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(10.0), &never);
        let door = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let target = door.local_addr().expect("has one");
        let acceptor = Acceptor::new().expect("is made");
        let (greeted, lines) = channel();
        thread::scope(|scope| {
            let (door, acceptor, until) = (&door, &acceptor, &until);
            scope.spawn(move || acceptor.run(door, &greeted, until));
            upon(target, acceptor, &lines, until);
            acceptor.end();
        });
    }

    #[test]
    fn who_shows_the_token_is_let_in_and_what_follows_it_is_left_to_be_read() {
        at_the_door(|target, acceptor, lines, until| {
            let (there, _) = open(target, "latency", until).expect("is greeted");
            let here = lines.recv().expect("is handed over");
            let arrivals = acceptor.expect(7);
            drop(data(target, 8, until).expect("connects"));
            let mut came = data(target, 7, until).expect("connects");
            came.write_all(b"more").expect("writes");
            drop(came);
            // It is through with it before it is taken in, and says so.
            there.say(&Ask::Finished).expect("says");
            let mut rest = String::new();
            arrivals.next(&here, until).expect("comes").read_to_string(&mut rest).expect("reads");
            assert_eq!(rest, "more");
        });
    }

    #[test]
    fn who_hangs_up_instead_is_not_waited_for() {
        at_the_door(|target, acceptor, lines, until| {
            let (there, _) = open(target, "latency", until).expect("is greeted");
            let here = lines.recv().expect("is handed over");
            let arrivals = acceptor.expect(7);
            drop(there);
            assert_eq!(arrivals.next(&here, until).expect_err("is gone"), gone(here.peer()));
        });
    }

    #[test]
    fn a_second_caller_learns_when_to_try_again_and_silent_ones_hold_nobody_up() {
        at_the_door(|target, acceptor, lines, until| {
            let _silent: Vec<_> = (0..80).map(|_| connect(target, until).expect("connects")).collect();
            let (first, _) = open(target, "latency", until).expect("is greeted");
            let _here = lines.recv().expect("is handed over");
            acceptor.busy_for(Duration::from_secs(30));
            let fault = open(target, "latency", until).err().expect("is busy");
            assert!(fault.message.contains("another") && fault.remedy.is_some_and(|r| r.contains("30 s")));
            drop(first);
            acceptor.free();
            open(target, "latency", until).expect("is greeted");
        });
    }
}
