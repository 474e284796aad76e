//! Messages that a socket has not taken yet, in the order of sending.

use std::collections::VecDeque;

/// A message that was posted; those of a link follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posted(u64);

/// What a link has to write.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    messages: VecDeque<Vec<u8>>,
    /// How many bytes of the first are written.
    begun: usize,
    /// The bytes that are not written.
    bytes: usize,
    /// How many messages were ever put here.
    posted: u64,
    /// How many of them are written.
    written: u64,
}

impl SendQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// What is to be written next.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        self.messages.front().map(|first| &first[self.begun..])
    }

    /// Whether a message is written, with all before it.
    pub(crate) fn is_written(&self, message: Posted) -> bool {
        self.written >= message.0
    }

    /// The bytes that are not written.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The message that was put here last; it is written where none ever was.
    pub(crate) fn last(&self) -> Posted {
        Posted(self.posted)
    }

    pub(crate) fn push(&mut self, message: Vec<u8>) {
        self.bytes += message.len();
        self.posted += 1;
        self.messages.push_back(message);
    }

    /// So many bytes more of the first message are written.
    pub(crate) fn take(&mut self, bytes: usize) {
        (self.begun, self.bytes) = (self.begun + bytes, self.bytes - bytes);
        if self.messages.front().is_some_and(|first| first.len() == self.begun) {
            self.messages.pop_front();
            self.begun = 0;
            self.written += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_one_after_the_other() {
        let mut queue = SendQueue::default();
        assert!(queue.is_written(queue.last()), "none was posted");
        queue.push(vec![1; 10]);
        let first = queue.last();
        queue.push(vec![2; 5]);
        let second = queue.last();
        queue.take(7);
        assert!(!queue.is_written(first));
        queue.take(3);
        assert!(queue.is_written(first) && !queue.is_written(second));
        assert_eq!((queue.bytes(), queue.front()), (5, Some(&[2; 5][..])));
        queue.take(5);
        assert!(queue.is_written(second) && queue.is_empty());
    }
}
