//! What memory each user needs, and who streams: learnt from counters, not from names.
//!
//! In the first trial each user is alone in a group with an equal share of the memory. Who does not fill its share
//! needs what it had at most. Who fills it, and reads more from devices than it holds, *needs more*. In the second
//! trial these get all memory that others leave. Who then fits needs that much. Who reads as fast as before *streams*:
//! memory does not help it.

use crosstalk_core::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// Users whose needs the first runs do not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NeedsGap {
    /// Their numbers.
    pub users: Vec<usize>,
    /// Why it is not known what they need.
    pub why: String,
    /// What limits by need and the division of users assume instead.
    pub assumed: String,
}

/// A user alone in a group, in a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AloneUser {
    /// Bytes that it was limited to.
    pub limit: u64,
    /// The most bytes that were charged to it; `None` if the kernel keeps no peak.
    pub peak: Option<u64>,
    /// Bytes that it read from devices.
    pub read: u64,
    /// The time that it took, in seconds.
    pub seconds: f64,
}

/// What is known of the users.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// Bytes that each user needs.
    pub bytes: Vec<u64>,
    /// Whether each user streams.
    pub streams: Vec<bool>,
}

/// The peak of a user who has filled its limit, relative to it.
const FULL: f64 = 0.9;
/// What one who needs more has read at least, relative to its limit: all that it holds, and some of it again.
const READ_AGAIN: f64 = 1.25;
/// A user whom memory helps reads more slowly with more of it: at most this share of the rate before.
const HELPED: f64 = 0.75;
/// What is given above a peak, for what one run does not show.
const HEADROOM: f64 = 1.1;
/// Needs that differ by this factor are uneven.
const UNEVEN: f64 = 1.5;
/// The share of an equal share that one who streams keeps: less hurts its reading ahead.
const STREAMERS_SHARE: f64 = 0.5;
/// The least that one who streams is given, in bytes. Pages that are being read cannot be taken: with 8 MiB the kernel
/// found none to take, and killed the program.
const LEAST: u64 = 16 << 20;

impl AloneUser {
    /// Whether it needs more than its limit.
    pub fn needs_more(&self) -> bool {
        // Without a peak it may have been all.
        let is_full = self.peak.is_none_or(|peak| peak as f64 >= FULL * self.limit as f64);
        is_full && self.read as f64 >= READ_AGAIN * self.limit as f64
    }

    /// Bytes that it read a second.
    fn rate(&self) -> f64 {
        self.read as f64 / self.seconds
    }

    /// What it needs, if that is not more than its limit.
    fn need(&self) -> u64 {
        self.peak.map_or(self.limit, |peak| ((peak as f64 * HEADROOM) as u64).min(self.limit))
    }
}

impl Needs {
    /// Nothing is known of so many users: all need the same, and nobody streams.
    pub fn unknown(users: usize, memory: Bytes) -> Self {
        Needs { bytes: vec![memory.0 / users.max(1) as u64; users], streams: vec![false; users] }
    }

    /// What the first trial shows: as if none of those who need more streamed, so that they get what others leave.
    /// `None` if nobody needs more, or everybody does, so that a second trial would show nothing.
    pub fn for_second_trial(first: &[AloneUser], memory: Bytes) -> Option<Needs> {
        let more = first.iter().filter(|user| user.needs_more()).count();
        if more == 0 || more == first.len() {
            return None;
        }
        let others: u64 = first.iter().filter(|user| !user.needs_more()).map(AloneUser::need).sum();
        let each = memory.0.saturating_sub(others) / more as u64;
        let bytes = first.iter().map(|user| if user.needs_more() { each } else { user.need() });
        Some(Needs { bytes: bytes.collect(), streams: vec![false; first.len()] })
    }

    /// What both trials show; `second` is missing if there was none.
    pub fn learn(first: &[AloneUser], second: Option<&[AloneUser]>) -> Self {
        let streams = |(at, user): (usize, &AloneUser)| {
            let again = second.map(|second| &second[at]);
            user.needs_more()
                && again.is_some_and(|again| again.needs_more() && again.rate() > HELPED * user.rate())
        };
        let streams: Vec<bool> = first.iter().enumerate().map(streams).collect();
        let bytes = first.iter().enumerate().map(|(at, user)| match second.map(|second| &second[at]) {
            _ if streams[at] => streamers_need(user.limit),
            _ if !user.needs_more() => user.need(),
            Some(again) if again.needs_more() => again.limit,
            Some(again) => again.need(),
            None => user.limit,
        });
        Needs { bytes: bytes.collect(), streams }
    }

    /// How many users stream.
    pub fn streamers(&self) -> usize {
        self.streams.iter().filter(|streams| **streams).count()
    }

    /// Whether some users need much more than others.
    pub fn differ(&self) -> bool {
        let (least, most) = (self.bytes.iter().min(), self.bytes.iter().max());
        let uneven = least.zip(most).is_some_and(|(least, most)| *most as f64 > UNEVEN * *least as f64);
        uneven || (1..self.bytes.len()).contains(&self.streamers())
    }

    /// Each user's part of the memory: what it needs, and its part of what is left, or is missing. Those who stream get
    /// nothing of what is left, unless all do.
    pub fn parts(&self, memory: Bytes) -> Vec<u64> {
        let sum = |streams: bool| {
            let of = self.bytes.iter().zip(&self.streams).filter(|(_, is)| **is == streams);
            of.map(|(bytes, _)| *bytes as f64).sum::<f64>()
        };
        let (others, streamers) = (sum(false), sum(true));
        let memory = memory.0 as f64;
        let (of_others, of_streamers) = if others > 0.0 && others + streamers <= memory {
            ((memory - streamers) / others, 1.0)
        } else {
            let all = memory / (others + streamers);
            (all, all)
        };
        let part = |(bytes, streams): (&u64, &bool)| {
            (*bytes as f64 * if *streams { of_streamers } else { of_others }) as u64
        };
        self.bytes.iter().zip(&self.streams).map(part).collect()
    }
}

/// What one who streams needs, where an equal share is `share`.
fn streamers_need(share: u64) -> u64 {
    ((share as f64 * STREAMERS_SHARE) as u64).max(LEAST).min(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// A user's limit, peak and bytes read, in mebibytes.
    fn user(limit: u64, peak: u64, read: u64) -> AloneUser {
        AloneUser { limit: limit * MIB, peak: Some(peak * MIB), read: read * MIB, seconds: 1.0 }
    }

    #[test]
    fn who_streams_is_told_from_who_needs_more() {
        // An equal share is 32 MiB: one fits, one needs 50, one streams.
        let first = [user(32, 20, 20), user(32, 32, 44), user(32, 32, 122)];
        let between = Needs::for_second_trial(&first, Bytes(96 * MIB)).expect("two need more");
        assert_eq!(
            between.bytes,
            [22 * MIB, 37 * MIB, 37 * MIB],
            "those who need more share what the first leaves"
        );
        let second = [user(22, 20, 20), user(60, 50, 50), user(60, 60, 150)];
        let needs = Needs::learn(&first, Some(&second));
        assert_eq!(needs.streams, [false, false, true]);
        assert_eq!(needs.bytes, [22 * MIB, 55 * MIB, 16 * MIB]);
        assert_eq!(needs.parts(Bytes(93 * MIB)), needs.bytes, "there is as much as they need");
        let more = needs.parts(Bytes(16 * MIB + 154 * MIB));
        assert_eq!(more, [44 * MIB, 110 * MIB, 16 * MIB], "who streams gets no more");
    }

    #[test]
    fn one_whom_memory_helps_does_not_stream() {
        let first = [user(32, 10, 10), user(32, 32, 200)];
        let second = [user(11, 10, 10), user(50, 50, 100)];
        let needs = Needs::learn(&first, Some(&second));
        assert_eq!((needs.streams[1], needs.bytes[1]), (false, 50 * MIB));
    }

    #[test]
    fn where_all_need_more_or_nobody_does_there_is_no_second_trial() {
        let memory = Bytes(64 * MIB);
        let (more, fits) = (user(32, 32, 72), user(32, 10, 10));
        assert_eq!(Needs::for_second_trial(&[more, more], memory), None);
        assert_eq!(Needs::for_second_trial(&[fits, fits], memory), None);
        assert_eq!(Needs::learn(&[more, more], None), Needs::unknown(2, memory));
        assert_eq!(Needs::learn(&[fits, fits], None).streamers(), 0);
    }

    proptest! {
        #[test]
        fn parts_are_never_more_than_the_memory(
            users in prop::collection::vec((1_u64..200, any::<bool>()), 1..20), memory in 1_u64..4000,
        ) {
            let needs = Needs {
                bytes: users.iter().map(|(mib, _)| mib * MIB).collect(),
                streams: users.iter().map(|(_, streams)| *streams).collect(),
            };
            let parts = needs.parts(Bytes(memory * MIB));
            prop_assert!(parts.iter().sum::<u64>() <= memory * MIB);
        }
    }
}
