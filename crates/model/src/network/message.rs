//! Messages on their way.

use super::event::Order;
use super::matching::Key;
use super::operation::Received;
use super::request::Handle;
use crate::time::VirtualTime;

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The message, sent at once.
    Eager,
    /// The announcement of a message whose sender waits.
    Announced,
    /// The data of an announced message, for this request of the receiver.
    Data(Handle),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) key: Key,
    pub(super) received: Received,
    pub(super) bytes: u64,
    pub(super) stage: Stage,
    /// The sender's request that waits for a message by rendezvous to leave.
    pub(super) waiting: Handle,
    pub(super) order: Order,
    /// Where in the sender's program it was sent.
    pub(super) site: u32,
    /// When its head came, and when the card began to receive it.
    pub(super) head: VirtualTime,
    pub(super) arrived: VirtualTime,
    /// When the links of its boards have let its last byte pass.
    pub(super) passed: VirtualTime,
    /// Which one it is of all that found no receive.
    pub(super) arrival: u64,
    /// Whether all of it was there before the clocks began.
    pub(super) was_there: bool,
    /// The next one that waits for a receive of the same key.
    pub(super) next: u32,
}

/// All messages that were not received yet.
#[derive(Debug, Default)]
pub(super) struct Messages {
    all: Vec<Message>,
    free: Vec<u32>,
    pub(super) unexpected: u64,
}

impl Messages {
    pub(super) fn add(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.all[index as usize] = message;
                index
            }
            None => {
                self.all.push(message);
                self.all.len() as u32 - 1
            }
        }
    }

    pub(super) fn get(&self, index: u32) -> &Message {
        &self.all[index as usize]
    }

    pub(super) fn get_mut(&mut self, index: u32) -> &mut Message {
        &mut self.all[index as usize]
    }

    pub(super) fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Clocks begin anew: what has arrived was there before.
    pub(super) fn all_have_arrived(&mut self) {
        for message in &mut self.all {
            (message.head, message.arrived, message.passed) = Default::default();
            message.was_there = true;
        }
    }
}

/// A message that a rank sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) key: Key,
    /// Which of the sender's messages it is.
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) site: u32,
}
