//! The stages of an exchange: the time between two stamps, named after what ends at the second.

use crosstalk_core::trace::Side;
use crosstalk_observe::service::{STAMPS, Stamp};

/// The number of stages: one that ends at each stamp but the first, and the three below.
pub const STAGE_COUNT: usize = STAMPS + 2;
/// The index of the stage in which the service's thread was on no CPU.
pub const OFF_CPU: usize = STAMPS - 1;
/// The index of the stage of services in which another thread answers than has read.
pub const SEVERAL_THREADS: usize = STAMPS;
/// The index of the stage around a stamp that is missing or out of order.
pub const UNEXPLAINED: usize = STAMPS + 1;

/// The stage that ends at a stamp: where it is, and its name.
pub fn stage_ending_at(stamp: Stamp) -> (Side, &'static str) {
    match stamp {
        Stamp::Send => (Side::Client, "application"),
        Stamp::Queue => (Side::Client, "send: call and protocol"),
        Stamp::Xmit => (Side::Client, "queueing discipline"),
        Stamp::Receive => (Side::Between, "driver and wire"),
        Stamp::Ready => (Side::Server, "receive: protocol"),
        Stamp::Waking => (Side::Server, "socket queue"),
        Stamp::Wakeup => (Side::Server, "wake-up"),
        Stamp::Run => (Side::Server, "scheduling"),
        Stamp::Read => (Side::Server, "until it has read"),
        Stamp::LastRead => (Side::Server, "further reads"),
        Stamp::Answer => (Side::Server, "service, on a CPU"),
        Stamp::AnswerQueue => (Side::Server, "send: call and protocol"),
        Stamp::AnswerXmit => (Side::Server, "queueing discipline"),
        Stamp::AnswerReceive => (Side::Between, "driver and wire"),
        Stamp::AnswerReady => (Side::Client, "receive: protocol"),
        Stamp::AnswerWaking => (Side::Client, "socket queue"),
        Stamp::AnswerWakeup => (Side::Client, "wake-up"),
        Stamp::AnswerRun => (Side::Client, "scheduling"),
        Stamp::AnswerRead => (Side::Client, "until it has read"),
        Stamp::AnswerLastRead => (Side::Client, "rest of the answer"),
    }
}

/// Every stage in the order of an exchange: its index, where it is, and its name.
pub fn stages_in_order() -> Vec<(usize, Side, &'static str)> {
    let mut stages = Vec::new();
    for stamp in &Stamp::ALL[1..] {
        let (side, name) = stage_ending_at(*stamp);
        stages.push((*stamp as usize - 1, side, name));
        if *stamp == Stamp::Answer {
            stages.push((OFF_CPU, Side::Server, "service, on none"));
            stages.push((SEVERAL_THREADS, Side::Server, "service, by several threads"));
        }
    }
    stages.push((UNEXPLAINED, Side::Unexplained, "unexplained"));
    stages
}
