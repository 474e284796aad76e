//! One exchange's times as stages. Each is what lies between two times, and is called after
//! what ends there. Where something did not happen (a thread that is awake is not woken) its
//! time is part of the next stage. Stages of one exchange add up to its whole time.

use crosstalk_core::trace::{Scope, Side};
use crosstalk_observe::service::{Exchange, STAMPS, Stamp};

/// Stages there are: one that ends at each time but the first, what the service was on no CPU,
/// its time where another thread answers than has read, and what is not explained.
pub const STAGES: usize = STAMPS + 2;
/// The last three of them.
const OFF: usize = STAMPS - 1;
const HANDED_ON: usize = STAMPS;
const UNEXPLAINED: usize = STAMPS + 1;

/// What ends at a time, and where it is.
pub fn ends(stamp: Stamp) -> (Side, &'static str) {
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

/// Stages in the order of a request's way: which, where, and what they are called.
pub fn stages() -> Vec<(usize, Side, &'static str)> {
    let mut found = Vec::new();
    for stamp in &Stamp::ALL[1..] {
        let (side, name) = ends(*stamp);
        found.push((*stamp as usize - 1, side, name));
        if *stamp == Stamp::Answer {
            found.push((OFF, Side::Server, "service, on none"));
            found.push((HANDED_ON, Side::Server, "service, by several threads"));
        }
    }
    found.push((UNEXPLAINED, Side::Unexplained, "unexplained"));
    found
}

/// Whether a time may be missing, or make no sense, without the exchange being lost.
fn may_miss(stamp: Stamp) -> bool {
    use Stamp::{AnswerReady, AnswerRun, AnswerWakeup, AnswerWaking, Ready, Run, Wakeup, Waking};
    matches!(stamp, Ready | Waking | Wakeup | Run | AnswerReady | AnswerWaking | AnswerWakeup | AnswerRun)
}

/// One exchange, split. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// What of it was seen.
    pub scope: Scope,
    /// When it began.
    pub began: u64,
    /// From there to its end.
    pub whole: u64,
    /// By [`stages`].
    pub stages: [u64; STAGES],
}

/// The times between which an exchange lies.
fn scope(exchange: &Exchange) -> (Scope, Stamp, Stamp) {
    if exchange.has_client() {
        (Scope::Client, Stamp::Send, Stamp::AnswerLastRead)
    } else {
        (Scope::Server, Stamp::Receive, Stamp::AnswerXmit)
    }
}

/// Gives what lies between two times of an exchange to `take`: by which stage, and both times.
/// Refused with the time that is missing and that every exchange has, or that lies before the
/// one before it.
fn walk(exchange: &Exchange, mut take: impl FnMut(usize, u64, u64)) -> Result<(Scope, u64, u64), Stamp> {
    let (scope, first, last) = scope(exchange);
    let (began, end) = (exchange.at(first).ok_or(first)?, exchange.at(last).ok_or(last)?);
    let (mut since, mut astray) = (began, false);
    for stamp in &Stamp::ALL[first as usize + 1..=last as usize] {
        match exchange.at(*stamp) {
            Some(at) if (since..=end).contains(&at) => {
                take(if astray { UNEXPLAINED } else { *stamp as usize - 1 }, since, at);
                (since, astray) = (at, false);
            }
            None if may_miss(*stamp) => {}
            // What it should have told is not known of what lies around it.
            Some(_) if may_miss(*stamp) => astray = true,
            _ => return Err(*stamp),
        }
    }
    Ok((scope, began, end))
}

/// An exchange's stages; where it was not followed from end to end, the time that tells so.
pub fn split(exchange: &Exchange) -> Result<Split, Stamp> {
    let mut stages = [0; STAGES];
    let (scope, began, end) = walk(exchange, |which, from, to| stages[which] += to - from)?;
    let service = &mut stages[Stamp::Answer as usize - 1];
    let all = std::mem::take(service);
    match exchange.off {
        Some(off) => (*service, stages[OFF]) = (all - off.min(all), off.min(all)),
        // Who else did what meanwhile is not seen: no time of it is said to be on a CPU.
        None => stages[HANDED_ON] = all,
    }
    Ok(Split { scope, began, whole: end - began, stages })
}

/// A stage of one exchange, from a time to a time.
pub struct Slice {
    /// Where.
    pub side: Side,
    /// What it is called; the service is one.
    pub name: &'static str,
    /// When it began.
    pub from: u64,
    /// And ended.
    pub to: u64,
}

/// An exchange's stages in time.
pub fn slices(exchange: &Exchange) -> Vec<Slice> {
    let mut found = Vec::new();
    let whole = walk(exchange, |which, from, to| {
        let (side, name) = match Stamp::ALL.get(which + 1) {
            Some(Stamp::Answer) => (Side::Server, "service"),
            Some(stamp) => ends(*stamp),
            None => (Side::Unexplained, "unexplained"),
        };
        found.push(Slice { side, name, from, to });
    });
    if whole.is_ok() { found } else { Vec::new() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An exchange whose times are 10 apart, from 1,000 on.
    pub fn exchange(change: impl Fn(Stamp, u64) -> u64) -> Exchange {
        let at = Stamp::ALL.map(|stamp| change(stamp, 1000 + 10 * stamp as u64));
        Exchange {
            client: "127.0.0.1:40000".parse().expect("an address"),
            port: 6379,
            at,
            off: Some(4),
            reader: 7,
            asker: Some(9),
            packets: 1,
            cpu: 0,
            queue: None,
            read_cpu: 1,
        }
    }

    #[test]
    fn stages_are_what_lies_between_two_times_and_add_up() {
        let split = split(&exchange(|_, at| at)).expect("is whole");
        let service = Stamp::Answer as usize - 1;
        for (which, side, name) in stages() {
            let taken = match which {
                OFF => 4,
                HANDED_ON | UNEXPLAINED => 0,
                other if other == service => 6,
                _ => 10,
            };
            assert_eq!(split.stages[which], taken, "{side:?} {name}");
        }
        assert_eq!((split.scope, split.began, split.whole), (Scope::Client, 1000, 190));
        assert_eq!(split.stages.iter().sum::<u64>(), split.whole);
    }

    #[test]
    fn a_client_that_is_elsewhere_leaves_the_servers_part() {
        let remote = |stamp, at| if (Stamp::Receive..=Stamp::AnswerXmit).contains(&stamp) { at } else { 0 };
        let split = split(&exchange(remote)).expect("is whole");
        assert_eq!((split.scope, split.began, split.whole), (Scope::Server, 1030, 90));
        assert_eq!(split.stages.iter().sum::<u64>(), split.whole);
    }

    #[test]
    fn what_did_not_happen_belongs_to_what_follows() {
        let awake =
            |stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let split = split(&exchange(awake)).expect("is whole");
        assert_eq!(split.stages[Stamp::Read as usize - 1], 40);
        assert_eq!((split.stages[UNEXPLAINED], split.stages.iter().sum::<u64>()), (0, 190));
    }

    #[test]
    fn a_time_that_makes_no_sense_explains_nothing_around_it() {
        let early = |stamp, at| if stamp == Stamp::Run { at - 500 } else { at };
        let split = split(&exchange(early)).expect("what every exchange has makes sense");
        assert_eq!((split.stages[UNEXPLAINED], split.stages.iter().sum::<u64>()), (20, 190));
    }

    #[test]
    fn what_every_exchange_has_must_be_there_in_its_order() {
        for needed in Stamp::ALL.into_iter().filter(|stamp| !may_miss(*stamp)).skip(1) {
            let without = |stamp, at| if stamp == needed { 0 } else { at };
            assert_eq!(split(&exchange(without)), Err(needed));
            let early = |stamp, at| if stamp == needed { 1 } else { at };
            assert!(split(&exchange(early)).is_err(), "{needed:?}");
        }
    }

    #[test]
    fn what_the_service_was_on_no_cpu_is_no_more_than_its_time_or_not_known() {
        let long = split(&Exchange { off: Some(1 << 60), ..exchange(|_, at| at) }).expect("is whole");
        assert_eq!((long.stages[OFF], long.stages.iter().sum::<u64>()), (10, 190));
        let unknown = split(&Exchange { off: None, ..exchange(|_, at| at) }).expect("is whole");
        let service = Stamp::Answer as usize - 1;
        assert_eq!((unknown.stages[service], unknown.stages[OFF], unknown.stages[HANDED_ON]), (0, 0, 10));
    }

    proptest! {
        #[test]
        fn stages_add_up_whatever_the_times(at: [u64; STAMPS], off: Option<u64>) {
            let exchange = Exchange { at, off, ..exchange(|_, at| at) };
            if let Ok(split) = split(&exchange) {
                prop_assert_eq!(split.stages.iter().map(|taken| u128::from(*taken)).sum::<u128>(), u128::from(split.whole));
            }
        }
    }
}
