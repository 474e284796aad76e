//! The times of one message, joined from client, server and the kernel.
//!
//! The times of a round trip form one line, from before the client's send to after its receive, over
//! the server's receive. A stage lies between two of them, and is named after what ends it. What did
//! not happen has no stage: a receiver that was awake is not woken. A stamp that is missing although
//! it must have been there leaves the time around it unexplained.

use crosstalk_observe::stages::{Direction, MessageRecord, Stamp};

/// Stamps without which a message is not followed from end to end.
const NEEDED: [Stamp; 4] = [Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Ready];

/// The stages of one message: the application's and the kernel's times joined.
#[derive(Debug)]
pub struct MessageStages {
    /// Nanoseconds of the round trip.
    pub round_trip: u64,
    /// Nanoseconds around stamps that are missing or out of order.
    pub unexplained: u64,
    /// Nanoseconds of each stage, by [`stage_index`].
    pub stages: [u64; 2 * STAGES_PER_DIRECTION],
}

/// The number of stages in a direction: the application's, one for each stamp, and the return.
pub const STAGES_PER_DIRECTION: usize = Stamp::ALL.len() + 2;

/// The index of a stage in a direction.
pub fn stage_index(way: Direction, which: usize) -> usize {
    way as usize * STAGES_PER_DIRECTION + which
}

/// What client and server timed of a message.
pub struct AppTimes {
    /// When the client sent it.
    pub sent: u64,
    /// When the server had it.
    pub arrived: u64,
    /// When the server began to send the reply.
    pub replied: u64,
    /// When the client had the reply.
    pub ended: u64,
}

/// The stages of a message; `None` where it was not followed from end to end, because a required
/// stamp is missing or out of order.
pub fn join_stages(record: &MessageRecord, times: &AppTimes) -> Option<MessageStages> {
    let AppTimes { sent, arrived, replied, ended } = *times;
    let mut joined =
        MessageStages { round_trip: ended - sent, unexplained: 0, stages: [0; 2 * STAGES_PER_DIRECTION] };
    for (way, begin, leaves, end) in
        [(Direction::There, sent, sent, arrived), (Direction::Back, arrived, replied, ended)]
    {
        joined.follow(record, way, (begin, leaves, end))?;
    }
    Some(joined)
}

impl MessageStages {
    /// Adds the stages of one direction: the sender has the message since `begin` and begins to send
    /// it at `leaves`; the receiver has it at `end`.
    fn follow(
        &mut self,
        record: &MessageRecord,
        way: Direction,
        (begin, leaves, end): (u64, u64, u64),
    ) -> Option<()> {
        let (mut since, mut unknown) = (leaves, false);
        self.stages[stage_index(way, 0)] = leaves.checked_sub(begin)?;
        for (which, stamp) in Stamp::ALL.into_iter().enumerate() {
            match record.time_of(way, stamp) {
                Some(at) if (since..=end).contains(&at) => {
                    *self.slot(stage_index(way, which + 1), unknown) += at - since;
                    (since, unknown) = (at, false);
                }
                // A required stamp is missing or out of order.
                None | Some(_) if NEEDED.contains(&stamp) => return None,
                // A thread that is woken becomes runnable, and then runs.
                None => unknown |= follows_wake_up(record, way, stamp, end),
                // What happens to a receiver that has the message is not of this direction.
                Some(at) if at > end => {}
                // Two stages that share a stamp cannot be distinguished without it.
                Some(_) => unknown = true,
            }
        }
        // A receiver that waited was woken, also where there is no stamp of it.
        let woken = record.time_of(way, Stamp::Wakeup).is_some_and(|at| at <= end);
        let unknown = unknown || record.awaited(way) && !woken;
        *self.slot(stage_index(way, STAGES_PER_DIRECTION - 1), unknown) += end.checked_sub(since)?;
        Some(())
    }

    /// What a time is added to: the stage that it ends, or the unexplained time.
    fn slot(&mut self, place: usize, unknown: bool) -> &mut u64 {
        if unknown { &mut self.unexplained } else { &mut self.stages[place] }
    }
}

/// Whether a stamp that is missing must have followed one that is there, before the receiver had the
/// message at `end`.
fn follows_wake_up(record: &MessageRecord, way: Direction, stamp: Stamp, end: u64) -> bool {
    let before = match stamp {
        Stamp::Wakeup => Stamp::Waking,
        Stamp::Run => Stamp::Wakeup,
        _ => return false,
    };
    record.time_of(way, before).is_some_and(|at| at <= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with stamps 10 ns apart, from 1,000 on, to the server and then back. The times of client
    /// and server are 10 ns from them.
    fn record(change: impl Fn(Direction, Stamp, u64) -> u64) -> MessageRecord {
        let mut at = SENT;
        let mut stamps = [[0; Stamp::ALL.len()]; 2];
        for way in [Direction::There, Direction::Back] {
            for stamp in Stamp::ALL {
                at += 10;
                stamps[way as usize][stamp as usize] = change(way, stamp, at);
            }
            // The receiver has the message, and begins to send the reply.
            at += 20;
        }
        MessageRecord::new(0, stamps, [false; 2])
    }

    /// The same, with receivers that waited.
    fn awaited(record: &MessageRecord) -> MessageRecord {
        let at = [Direction::There, Direction::Back]
            .map(|way| Stamp::ALL.map(|stamp| record.time_of(way, stamp).unwrap_or(0)));
        MessageRecord::new(0, at, [true; 2])
    }

    const SENT: u64 = 1000;
    const TIMES: AppTimes =
        AppTimes { sent: SENT, arrived: SENT + 80, replied: SENT + 90, ended: SENT + 170 };

    fn joined(record: &MessageRecord) -> Option<MessageStages> {
        join_stages(record, &TIMES)
    }

    #[test]
    fn stages_lie_between_two_times_and_add_up() {
        let message = joined(&record(|_, _, at| at)).expect("is followed");
        // The client begins to send at once.
        assert_eq!(message.stages[0], 0);
        assert_eq!(message.stages[1..], [10; 2 * STAGES_PER_DIRECTION - 1]);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, message.round_trip));
    }

    #[test]
    fn a_receiver_that_was_awake_has_no_wake_up() {
        let awake =
            |_, stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let message = joined(&record(awake)).expect("is followed");
        assert_eq!(message.stages[stage_index(Direction::There, STAGES_PER_DIRECTION - 1)], 40);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn a_stamp_after_the_receive_is_not_of_this_direction() {
        let late = |_, stamp, at| if stamp == Stamp::Run { at + 1000 } else { at };
        let message = joined(&record(late)).expect("is followed");
        assert_eq!(message.stages[stage_index(Direction::Back, STAGES_PER_DIRECTION - 1)], 20);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn the_time_around_a_stamp_out_of_order_is_unexplained() {
        let early = |_, stamp, at| if stamp == Stamp::Run { at - 500 } else { at };
        let message = joined(&record(early)).expect("is followed");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (40, 130));
    }

    #[test]
    fn the_time_around_a_missed_stamp_is_unexplained() {
        for missed in [Stamp::Wakeup, Stamp::Run] {
            let without = |_, stamp, at| if stamp == missed { 0 } else { at };
            let message = joined(&record(without)).expect("is followed");
            assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (40, 130), "{missed:?}");
        }
    }

    #[test]
    fn a_receiver_that_waited_without_a_wake_up_leaves_the_rest_unexplained() {
        let awake =
            |_, stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let message = joined(&awaited(&record(awake))).expect("is followed");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (80, 90));
        let message = joined(&awaited(&record(|_, _, at| at))).expect("is followed");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn a_message_without_a_required_stamp_is_not_matched() {
        for needed in NEEDED {
            let without = |way, stamp, at| if (way, stamp) == (Direction::Back, needed) { 0 } else { at };
            assert!(joined(&record(without)).is_none(), "{needed:?}");
            let astray =
                |way, stamp, at| if (way, stamp) == (Direction::There, needed) { at + 1000 } else { at };
            assert!(joined(&record(astray)).is_none(), "{needed:?}");
        }
    }

    #[test]
    fn a_server_with_a_wrong_time_is_not_matched() {
        for replied in [0, SENT + 79, SENT + 171, u64::MAX] {
            assert!(
                join_stages(&record(|_, _, at| at), &AppTimes { replied, ..TIMES }).is_none(),
                "{replied}"
            );
        }
    }
}
