//! The queue of an ingress NIC: when it is busy, and where a message fits.

use std::collections::VecDeque;

use crate::time::VirtualTime;

/// How many busy spells are remembered. Older ones are forgotten, and count as
/// free: a message is never charged for waiting that did not happen.
const REMEMBERED: usize = 4096;

/// The NIC is busy with one message.
#[derive(Debug, Clone, Copy)]
struct Spell {
    begin: VirtualTime,
    end: VirtualTime,
    /// When the head of that message arrived.
    head: VirtualTime,
}

/// Busy spells in order of time, which never overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Ingress {
    spells: VecDeque<Spell>,
    /// Messages placed after one that they would have delayed.
    pub(super) late: u64,
    /// By how much they would have.
    pub(super) late_time: VirtualTime,
}

impl Ingress {
    /// Takes in a message whose head arrives at `head` and that occupies the
    /// NIC for `busy`; returns when the NIC turns to it.
    pub(super) fn place(&mut self, head: VirtualTime, busy: VirtualTime) -> VirtualTime {
        self.count_late(head, busy);
        let mut begin = head;
        let mut index = self.spells.partition_point(|spell| spell.end <= head);
        while let Some(spell) = self.spells.get(index) {
            if begin + busy <= spell.begin {
                break;
            }
            begin = begin.max(spell.end);
            index += 1;
        }
        if busy > VirtualTime::ZERO {
            self.spells.insert(index, Spell { begin, end: begin + busy, head });
            if self.spells.len() > REMEMBERED {
                self.spells.pop_front();
            }
        }
        begin
    }

    /// In order of arrival the message would begin behind every message that
    /// came before it. One that came later but was placed earlier, and begins
    /// before this one would have ended, should have waited.
    fn count_late(&mut self, head: VirtualTime, busy: VirtualTime) {
        let earlier = self.spells.iter().rev().take_while(|spell| spell.end > head);
        let begin = earlier.filter(|spell| spell.head <= head).map(|spell| spell.end).max();
        let end = begin.unwrap_or(head).max(head) + busy;
        let later = self.spells.iter().rev().take_while(|spell| spell.end > head);
        let delayed =
            later.filter(|spell| spell.head > head && spell.begin < end).map(|spell| end - spell.begin);
        if let Some(delay) = delayed.max().filter(|delay| *delay > VirtualTime::ZERO) {
            self.late += 1;
            self.late_time += delay.min(busy);
        }
    }
}
