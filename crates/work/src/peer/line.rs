//! A TCP connection that carries one JSON object a line.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crosstalk_core::message::{receive, send};
use crosstalk_core::{Fault, FaultKind};

use super::socket::{broken, is_closed, is_readable, readable};
use super::until::Until;

/// How long a line may take from its first byte to its last, and to be sent.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Reads until a deadline, however slowly the peer sends.
struct DeadlineReader {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for DeadlineReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "a line took too long"));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// This node's end of such a connection.
pub struct Line {
    reader: BufReader<DeadlineReader>,
    writer: TcpStream,
    peer: SocketAddr,
}

impl Line {
    /// Over an open connection.
    ///
    /// # Errors
    /// An attempt fault where the socket cannot be set up.
    pub fn new(stream: TcpStream) -> Result<Self, Fault> {
        let open = || -> io::Result<Self> {
            stream.set_write_timeout(Some(PATIENCE))?;
            let peer = stream.peer_addr()?;
            let reader = DeadlineReader { stream: stream.try_clone()?, deadline: Instant::now() };
            Ok(Line { reader: BufReader::new(reader), writer: stream, peer })
        };
        open().map_err(|e| Fault::attempt(format!("cannot set up a connection: {e}")))
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This end's address.
    ///
    /// # Errors
    /// Where the connection has failed.
    pub fn local(&self) -> Result<SocketAddr, Fault> {
        self.writer.local_addr().map_err(|e| broken(self.peer, &e))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// An attempt fault where the peer does not take it in time, or has closed.
    pub fn say(&self, message: &impl Serialize) -> Result<(), Fault> {
        send(&mut &self.writer, message).map_err(|f| self.attempt(f))
    }

    /// Waits for a message; `None` when the peer has closed.
    ///
    /// # Errors
    /// An attempt fault at the deadline, or where what comes is no such message; an interruption when it is
    /// cancelled.
    pub fn hear<T: DeserializeOwned>(&mut self, until: &Until) -> Result<Option<T>, Fault> {
        if self.reader.buffer().is_empty() {
            readable(&self.writer, until, "the other end").map_err(|fault| match fault.kind {
                FaultKind::Interrupted => fault,
                _ => fault.at(self.peer.to_string()),
            })?;
        }
        let deadline = Instant::now() + PATIENCE.min(until.left());
        self.reader.get_mut().deadline = deadline;
        receive(&mut self.reader).map_err(|fault| match Instant::now() < deadline {
            true => self.attempt(fault),
            false => Fault::attempt("the other end began a message and did not end it in time")
                .at(self.peer.to_string()),
        })
    }

    /// Whether the peer has closed, or a message has arrived.
    pub fn stirs(&self) -> bool {
        !self.reader.buffer().is_empty() || is_readable(&self.writer, Duration::ZERO)
    }

    /// Whether the peer has closed, even if messages are left to read.
    pub fn hung_up(&self) -> bool {
        is_closed(&self.writer)
    }

    /// What fails here fails the attempt, not the machine.
    fn attempt(&self, fault: Fault) -> Fault {
        Fault { kind: FaultKind::Attempt, ..fault }.at(self.peer.to_string())
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::socket::{accept, connect, listen};
    use crosstalk_core::units::Seconds;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn pair(until: &Until) -> (Line, Line) {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let there = connect(listener.local_addr().expect("has one"), until).expect("connects");
        let (here, _) = accept(&listener, until).expect("accepts");
        (Line::new(here).expect("opens"), Line::new(there).expect("opens"))
    }

    #[test]
    fn lines_arrive_in_order_and_then_the_end() {
        let flag = AtomicBool::new(false);
        let until = Until::new(Seconds(5.0), &flag);
        let (here, mut there) = pair(&until);
        here.say(&1).expect("says");
        here.say(&"two").expect("says");
        drop(here);
        assert_eq!(there.hear(&until), Ok(Some(1)));
        assert!(there.stirs());
        assert_eq!(there.hear(&until), Ok(Some("two".to_string())));
        assert_eq!(there.hear::<u8>(&until), Ok(None));
    }

    #[test]
    fn a_line_that_never_ends_is_not_waited_for() {
        let flag = AtomicBool::new(false);
        let (mut here, there) = pair(&Until::new(Seconds(5.0), &flag));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut drip = &there.writer;
                while !over.load(Ordering::Relaxed) && io::Write::write_all(&mut drip, b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let fault = here.hear::<u8>(&Until::new(Seconds(0.3), &flag)).expect_err("never ends");
            assert!(fault.message.contains("did not end it"), "{fault}");
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn silence_ends_at_the_limit() {
        let flag = AtomicBool::new(false);
        let (mut here, there) = pair(&Until::new(Seconds(5.0), &flag));
        assert!(!there.stirs());
        let fault = here.hear::<u8>(&Until::new(Seconds(0.1), &flag)).expect_err("says nothing");
        assert_eq!(fault.place, Some(here.peer().to_string()));
    }
}
