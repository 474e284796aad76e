//! The queue of an ingress NIC: when it is busy, and when it can receive a message.

use std::collections::VecDeque;

use crate::time::VirtualTime;

/// How many busy periods are kept. Older ones count as free: a message is never
/// charged for waiting that did not happen.
const KEPT_PERIODS: usize = 4096;

/// A time for which the NIC receives one message.
#[derive(Debug, Clone, Copy)]
struct BusyPeriod {
    begin: VirtualTime,
    end: VirtualTime,
    /// When the head of that message arrived.
    head: VirtualTime,
}

/// The busy periods of a NIC, in order of time; they never overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Ingress {
    periods: VecDeque<BusyPeriod>,
    /// How many messages were placed after one that they should have delayed.
    pub(super) late: u64,
    /// The sum of these delays.
    pub(super) late_time: VirtualTime,
}

impl Ingress {
    /// Places a message that arrives at `head` and occupies the NIC for `busy`.
    /// Returns when the NIC begins to receive it.
    pub(super) fn place(&mut self, head: VirtualTime, busy: VirtualTime) -> VirtualTime {
        self.count_late(head, busy);
        let mut begin = head;
        let mut index = self.periods.partition_point(|period| period.end <= head);
        while let Some(period) = self.periods.get(index) {
            if begin + busy <= period.begin {
                break;
            }
            begin = begin.max(period.end);
            index += 1;
        }
        if busy > VirtualTime::ZERO {
            self.periods.insert(index, BusyPeriod { begin, end: begin + busy, head });
            if self.periods.len() > KEPT_PERIODS {
                self.periods.pop_front();
            }
        }
        begin
    }

    /// In order of arrival, the message would begin after every message that
    /// arrived before it. A message that arrived later should have waited for it,
    /// if it was placed before and begins before this one would have ended.
    fn count_late(&mut self, head: VirtualTime, busy: VirtualTime) {
        let earlier = self.periods.iter().rev().take_while(|period| period.end > head);
        let begin = earlier.filter(|period| period.head <= head).map(|period| period.end).max();
        let end = begin.unwrap_or(head).max(head) + busy;
        let later = self.periods.iter().rev().take_while(|period| period.end > head);
        let delayed =
            later.filter(|period| period.head > head && period.begin < end).map(|period| end - period.begin);
        if let Some(delay) = delayed.max().filter(|delay| *delay > VirtualTime::ZERO) {
            self.late += 1;
            self.late_time += delay.min(busy);
        }
    }
}
