//! The messages of one size.

use crosstalk_observe::stages::MessageRecord;

/// The messages of one size in the order of sending. Times are nanoseconds.
#[derive(Debug, Default)]
pub struct Samples {
    /// Round trips.
    pub round_trips: Vec<u64>,
    /// Times to the server; empty where client and server do not share a clock.
    pub one_ways: Vec<u64>,
    /// What stages need of each message; empty without stages.
    pub followed: Vec<FollowedMessage>,
    /// The kernel's records of them.
    pub records: Vec<MessageRecord>,
    /// Messages sent.
    pub sent: u64,
    /// Not answered in time.
    pub lost: u64,
    /// Replies that arrived after their message counted as lost.
    pub late: u64,
}

/// What stages need of a message, in nanoseconds of the probes' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedMessage {
    /// Its number.
    pub number: u64,
    /// When it was sent.
    pub sent: u64,
    /// When the server began to send the reply.
    pub replied: u64,
}
