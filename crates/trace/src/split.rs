//! One exchange as stages, which add up to its whole time.
//!
//! What did not happen has no stage: a thread that was awake is not woken. A stamp that is missing
//! although it must have been there leaves the time around it unexplained.

use crosstalk_core::trace::Scope;
use crosstalk_observe::service::{Exchange, Stamp};

use super::stages::{OFF_CPU, SEVERAL_THREADS, STAGE_COUNT, UNEXPLAINED};

/// Whether an exchange is followed also if this stamp is missing or out of order.
fn is_optional(stamp: Stamp) -> bool {
    use Stamp::{AnswerReady, AnswerRun, AnswerWakeup, AnswerWaking, Ready, Run, Wakeup, Waking};
    matches!(stamp, Ready | Waking | Wakeup | Run | AnswerReady | AnswerWaking | AnswerWakeup | AnswerRun)
}

/// Whether a stamp that is not there was missed: what it marks must have happened.
///
/// Each request that is taken in lies in the socket's queue. A thread that is woken becomes
/// runnable, and then runs. A thread that was awake has none of these three stamps.
fn is_missed(exchange: &Exchange, stamp: Stamp) -> bool {
    let has = |stamp| exchange.time_of(stamp).is_some();
    match stamp {
        Stamp::Ready | Stamp::AnswerReady => true,
        Stamp::Wakeup => has(Stamp::Waking),
        Stamp::Run => has(Stamp::Waking) || has(Stamp::Wakeup),
        Stamp::AnswerWakeup => has(Stamp::AnswerWaking),
        Stamp::AnswerRun => has(Stamp::AnswerWaking) || has(Stamp::AnswerWakeup),
        _ => false,
    }
}

/// One exchange, split into stages. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Which part of the exchange it covers.
    pub scope: Scope,
    /// When it began.
    pub began: u64,
    /// From its beginning to its end.
    pub whole: u64,
    /// By the index of [`super::stages`].
    pub stages: [u64; STAGE_COUNT],
}

/// The part that was observed, with its first and its last stamp.
fn scope(exchange: &Exchange) -> (Scope, Stamp, Stamp) {
    if exchange.has_client() {
        (Scope::Client, Stamp::Send, Stamp::AnswerLastRead)
    } else {
        (Scope::Server, Stamp::Receive, Stamp::AnswerXmit)
    }
}

/// Calls `take` for every stage of an exchange, with its index, its beginning and its end.
///
/// # Errors
/// The stamp that every exchange has and that is missing or out of order in this one.
pub fn for_each_stage(
    exchange: &Exchange,
    mut take: impl FnMut(usize, u64, u64),
) -> Result<(Scope, u64, u64), Stamp> {
    let (scope, first, last) = scope(exchange);
    let (began, end) = (exchange.time_of(first).ok_or(first)?, exchange.time_of(last).ok_or(last)?);
    let (mut since, mut unknown) = (began, false);
    for stamp in &Stamp::ALL[first as usize + 1..=last as usize] {
        match exchange.time_of(*stamp) {
            Some(at) if (since..=end).contains(&at) => {
                take(if unknown { UNEXPLAINED } else { *stamp as usize - 1 }, since, at);
                (since, unknown) = (at, false);
            }
            // Two stages that share a stamp cannot be distinguished without it.
            None if is_optional(*stamp) => unknown |= is_missed(exchange, *stamp),
            Some(_) if is_optional(*stamp) => unknown = true,
            _ => return Err(*stamp),
        }
    }
    Ok((scope, began, end))
}

/// Splits an exchange into stages.
///
/// # Errors
/// The stamp that is missing or out of order, where the exchange was not followed from end to end.
pub fn split(exchange: &Exchange) -> Result<Split, Stamp> {
    let mut stages = [0; STAGE_COUNT];
    let (scope, began, end) = for_each_stage(exchange, |which, from, to| stages[which] += to - from)?;
    let service = &mut stages[Stamp::Answer as usize - 1];
    let time = std::mem::take(service);
    match exchange.off {
        Some(off) => (*service, stages[OFF_CPU]) = (time - off.min(time), off.min(time)),
        // Only one thread is observed: the share of this time on a CPU is unknown.
        None => stages[SEVERAL_THREADS] = time,
    }
    Ok(Split { scope, began, whole: end - began, stages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::exchange_fixture;
    use crate::stages::stages_in_order;
    use crosstalk_observe::service::STAMPS;
    use proptest::prelude::*;

    #[test]
    fn stages_lie_between_two_stamps_and_add_up() {
        let split = split(&exchange_fixture(|_, at| at)).expect("is followed");
        let service = Stamp::Answer as usize - 1;
        for (which, side, name) in stages_in_order() {
            let expected = match which {
                OFF_CPU => 4,
                SEVERAL_THREADS | UNEXPLAINED => 0,
                other if other == service => 6,
                _ => 10,
            };
            assert_eq!(split.stages[which], expected, "{side:?} {name}");
        }
        assert_eq!((split.scope, split.began, split.whole), (Scope::Client, 1000, 190));
        assert_eq!(split.stages.iter().sum::<u64>(), split.whole);
    }

    #[test]
    fn of_a_remote_client_the_servers_part_is_split() {
        let remote = |stamp, at| if (Stamp::Receive..=Stamp::AnswerXmit).contains(&stamp) { at } else { 0 };
        let split = split(&exchange_fixture(remote)).expect("is followed");
        assert_eq!((split.scope, split.began, split.whole), (Scope::Server, 1030, 90));
        assert_eq!(split.stages.iter().sum::<u64>(), split.whole);
    }

    #[test]
    fn a_thread_that_was_awake_has_no_wake_up() {
        let awake =
            |stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let split = split(&exchange_fixture(awake)).expect("is followed");
        assert_eq!(split.stages[Stamp::Read as usize - 1], 40);
        assert_eq!((split.stages[UNEXPLAINED], split.stages.iter().sum::<u64>()), (0, 190));
    }

    #[test]
    fn the_time_around_a_stamp_out_of_order_is_unexplained() {
        let early = |stamp, at| if stamp == Stamp::Run { at - 500 } else { at };
        let split = split(&exchange_fixture(early)).expect("is followed");
        assert_eq!((split.stages[UNEXPLAINED], split.stages.iter().sum::<u64>()), (20, 190));
    }

    #[test]
    fn the_time_around_a_missed_stamp_is_unexplained() {
        let missed = [
            Stamp::Ready,
            Stamp::Wakeup,
            Stamp::Run,
            Stamp::AnswerReady,
            Stamp::AnswerWakeup,
            Stamp::AnswerRun,
        ];
        for missed in missed {
            let without = |stamp, at| if stamp == missed { 0 } else { at };
            let split = split(&exchange_fixture(without)).expect("is followed");
            let sum = split.stages.iter().sum::<u64>();
            assert_eq!((split.stages[UNEXPLAINED], sum), (20, 190), "{missed:?}");
        }
    }

    #[test]
    fn a_preempted_thread_that_runs_again_was_not_woken() {
        let preempted = |stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup) { 0 } else { at };
        let split = split(&exchange_fixture(preempted)).expect("is followed");
        assert_eq!((split.stages[Stamp::Run as usize - 1], split.stages[UNEXPLAINED]), (30, 0));
    }

    #[test]
    fn required_stamps_must_be_there_and_in_order() {
        for needed in Stamp::ALL.into_iter().filter(|stamp| !is_optional(*stamp)).skip(1) {
            let without = |stamp, at| if stamp == needed { 0 } else { at };
            assert_eq!(split(&exchange_fixture(without)), Err(needed));
            let early = |stamp, at| if stamp == needed { 1 } else { at };
            assert!(split(&exchange_fixture(early)).is_err(), "{needed:?}");
        }
    }

    #[test]
    fn time_off_cpu_is_at_most_the_services_time_or_unknown() {
        let long =
            split(&Exchange { off: Some(1 << 60), ..exchange_fixture(|_, at| at) }).expect("is followed");
        assert_eq!((long.stages[OFF_CPU], long.stages.iter().sum::<u64>()), (10, 190));
        let unknown = split(&Exchange { off: None, ..exchange_fixture(|_, at| at) }).expect("is followed");
        let service = Stamp::Answer as usize - 1;
        assert_eq!(
            (unknown.stages[service], unknown.stages[OFF_CPU], unknown.stages[SEVERAL_THREADS]),
            (0, 0, 10)
        );
    }

    proptest! {
        #[test]
        fn stages_add_up_whatever_the_times(at: [u64; STAMPS], off: Option<u64>) {
            let exchange = Exchange { at, off, ..exchange_fixture(|_, at| at) };
            if let Ok(split) = split(&exchange) {
                prop_assert_eq!(split.stages.iter().map(|time| u128::from(*time)).sum::<u128>(), u128::from(split.whole));
            }
        }
    }
}
