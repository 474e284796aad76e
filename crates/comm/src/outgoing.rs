//! Messages that a socket has not taken yet, in the order of sending.

use std::collections::VecDeque;

/// A message that was posted; those of a link follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posted(pub(crate) u64);

/// What a link has to write.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) messages: VecDeque<Vec<u8>>,
    /// How many bytes of the first are written.
    pub(crate) begun: usize,
    /// The bytes that are not written.
    pub(crate) bytes: usize,
    /// How many messages were ever put here.
    pub(crate) posted: u64,
    /// How many of them are written.
    gone: u64,
}

impl Outgoing {
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message is written, with all before it.
    pub(crate) fn has_gone(&self, message: Posted) -> bool {
        self.gone >= message.0
    }

    pub(crate) fn push(&mut self, message: Vec<u8>) {
        self.bytes += message.len();
        self.posted += 1;
        self.messages.push_back(message);
    }

    /// So many bytes more of the first message are written.
    pub(crate) fn written(&mut self, bytes: usize) {
        (self.begun, self.bytes) = (self.begun + bytes, self.bytes - bytes);
        if self.messages.front().is_some_and(|first| first.len() == self.begun) {
            self.messages.pop_front();
            self.begun = 0;
            self.gone += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_one_after_the_other() {
        let mut outgoing = Outgoing::default();
        assert!(outgoing.has_gone(Posted(outgoing.posted)), "none was posted");
        outgoing.push(vec![1; 10]);
        let first = Posted(outgoing.posted);
        outgoing.push(vec![2; 5]);
        let second = Posted(outgoing.posted);
        outgoing.written(7);
        assert!(!outgoing.has_gone(first));
        outgoing.written(3);
        assert!(outgoing.has_gone(first) && !outgoing.has_gone(second));
        assert_eq!(outgoing.bytes, 5);
        outgoing.written(5);
        assert!(outgoing.has_gone(second) && outgoing.is_empty());
    }
}
