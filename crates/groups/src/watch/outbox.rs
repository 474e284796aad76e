//! Lines for the supervisor, which may be stopped: nothing waits for it, and what it does not read is dropped.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::message::{Message, Placement};

/// Bytes that may wait. Then placements and tallies are dropped.
const MOST: usize = 1 << 20;
/// Different notes that are remembered.
const NOTES: usize = 1000;

/// Lines that wait, and a pipe that does not block.
#[derive(Debug)]
pub struct Outbox {
    inner: Mutex<Inner>,
    verbose: bool,
}

#[derive(Debug)]
struct Inner {
    pipe: File,
    waiting: Vec<u8>,
    said: HashSet<String>,
    /// Whether nobody reads any more.
    closed: bool,
}

impl Outbox {
    /// An empty one for a pipe that does not block. `verbose`: placements are sent.
    pub fn new(pipe: File, verbose: bool) -> Self {
        let inner = Inner { pipe, waiting: Vec::new(), said: HashSet::new(), closed: false };
        Outbox { inner: Mutex::new(inner), verbose }
    }

    /// Sends a message. A placement or a tally is dropped if too much waits.
    pub fn send(&self, message: &Message) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        let mut inner = self.lock();
        let may_drop = matches!(message, Message::Placed(_) | Message::Tally(_));
        if !may_drop || inner.waiting.len() + line.len() <= MOST {
            inner.waiting.extend(line);
        }
        inner.flush();
    }

    /// Sends a placement if they are to be reported.
    pub fn placed(&self, placement: impl FnOnce() -> Placement) {
        if self.verbose {
            self.send(&Message::Placed(placement()));
        }
    }

    /// Sends a note, unless it was sent before.
    pub fn note(&self, text: String) {
        {
            let mut inner = self.lock();
            if inner.said.contains(&text) || inner.said.len() >= NOTES {
                return;
            }
            inner.said.insert(text.clone());
        }
        self.send(&Message::Note(text));
    }

    /// Forgets that a note was sent: what it said is over.
    pub fn forget(&self, text: &str) {
        self.lock().said.remove(text);
    }

    /// Writes what waits, as far as it is read. Returns false if nobody reads any more.
    pub fn flush(&self) -> bool {
        let mut inner = self.lock();
        inner.flush();
        !inner.closed
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn flush(&mut self) {
        while !self.waiting.is_empty() {
            match self.pipe.write(&self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.closed = true;
                    self.waiting.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    #[test]
    fn a_note_is_sent_once_and_a_reader_that_is_gone_is_noticed() {
        let (mut read, write) = std::io::pipe().expect("a pipe");
        let outbox = Outbox::new(File::from(OwnedFd::from(write)), false);
        for _ in 0..3 {
            outbox.note("one".into());
        }
        outbox.forget("one");
        outbox.note("one".into());
        outbox.placed(|| unreachable!("they are not reported"));
        assert!(outbox.flush());
        let mut text = [0; 100];
        let length = read.read(&mut text).expect("reads");
        assert_eq!(&text[..length], b"{\"note\":\"one\"}\n{\"note\":\"one\"}\n");
        drop(read);
        outbox.note("two".into());
        assert!(!outbox.flush());
    }
}
