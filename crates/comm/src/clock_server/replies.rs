//! What the clock server answers a rank, as it comes. A fault ends whatever the rank waits for.

use crosstalk_core::Fault;
use crosstalk_model::network::Answer;
use crosstalk_model::schedule::codec::Reader;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use super::answer::{self, Reply};

/// The answers that have come and were not taken yet.
#[derive(Debug)]
pub(crate) struct Replies {
    stream: TcpStream,
    /// Bytes that are no whole reply yet.
    partial: Vec<u8>,
    answers: VecDeque<Answer>,
}

impl AsRawFd for Replies {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl Replies {
    /// Replies over a connection that does not block.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Replies { stream, partial: Vec::new(), answers: VecDeque::new() }
    }

    /// The next answer, if it has come.
    pub(crate) fn take(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Reads what has come.
    ///
    /// # Errors
    /// The fault by which the attempt ends. A gone fault if the connection has ended.
    pub(crate) fn read(&mut self) -> Result<(), Fault> {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                // It ends after its last answer.
                Ok(0) if !self.answers.is_empty() => return Ok(()),
                Ok(0) => return Err(gone()),
                Ok(n) => self.partial.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(gone()),
            }
            let mut reader = Reader::new(&self.partial);
            while let Some(reply) = answer::read(&mut reader) {
                match reply {
                    Reply::Answer(answer) => self.answers.push_back(answer),
                    Reply::Fault(fault) => return Err(fault),
                }
            }
            let read = reader.position();
            self.partial.drain(..read);
        }
    }
}

pub(super) fn gone() -> Fault {
    Fault::gone("the clock server is gone: its connection ended before all had finished")
        .on(0)
        .remedy("look at what node 0 reported last")
}
