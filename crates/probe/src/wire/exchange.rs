//! One message at a time over the wire, timed from before it is handed over until after
//! it has been taken in.
//!
//! A message carries its number, and in an answer the tick at which it arrived and the
//! one at which it was sent back: 20 bytes, little-endian.

use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::ticks::Ticks;

use super::messages::Messages;
use super::port::Port;

/// Where an answer says when its message arrived,
const ARRIVED: usize = 4;

/// and when it was sent back.
const ANSWERED: usize = 12;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often to ask before looking at the clock.
const SPINS: usize = 64;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// One way each, in nanoseconds, in order of time.
    pub times: Vec<u32>,
    /// Messages that arrived, of which these are the times of every one, or of every so manyth.
    pub came: u64,
    /// Messages that did not arrive in time.
    pub lost: u64,
    /// What reading the clock costs, in nanoseconds.
    pub cost: f64,
    /// Whether buffers lie in huge pages; `None` where that is not for the end to choose.
    pub huge: Option<bool>,
}

/// How to go on, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For so long.
    pub duration: Duration,
    /// How many times are kept: where there are more, those of every second message, and so on.
    pub most: usize,
    /// How often to ask before looking at the clock: once where asking sleeps.
    pub spins: usize,
}

impl Limits {
    /// For ends that ask again and again, or that sleep.
    pub fn new(duration: Duration, most: usize, polling: bool) -> Self {
        Limits { duration, most, spins: if polling { SPINS } else { 1 } }
    }
}

/// One message: when it was sent, and what each of its ways took; none where it was lost.
struct Round {
    sent: u64,
    ways: [Option<u64>; WAYS],
}

/// The most times of one message.
const WAYS: usize = 3;

/// How many times of one message one that times its calls tells: what sending took, what lies
/// between, what receiving took.
pub const CALLS: usize = 3;

/// One thread with both ends: sends on `first`, and waits at `second`.
pub fn alone<P: Port>(first: P, second: P, size: usize, limits: Limits) -> Result<Times, Fault> {
    let (mut first, mut second) = (Messages::new(first, size), Messages::new(second, size));
    run(limits, |number, clock, patience| {
        first.say(0, &number.to_le_bytes());
        let sent = clock.now();
        first.put()?;
        let came = second.wait(number, limits.spins, clock, sent + patience)?;
        let arrived = clock.now();
        Ok(Round { sent, ways: [came.then_some(arrived - sent), None, None] })
    })
}

/// The same, with [`CALLS`] times of each message.
pub fn calls<P: Port>(first: P, second: P, size: usize, limits: Limits) -> Result<Times, Fault> {
    let (mut first, mut second) = (Messages::new(first, size), Messages::new(second, size));
    run(limits, |number, clock, patience| {
        first.say(0, &number.to_le_bytes());
        let sent = clock.now();
        first.put()?;
        let handed = clock.now();
        let began = second.wait_timed(number, clock, sent + patience)?;
        let arrived = clock.now();
        let ways = began.map(|began| [handed - sent, began - handed, arrived - began].map(Some));
        Ok(Round { sent, ways: ways.unwrap_or([None; WAYS]) })
    })
}

/// One end: sends, and waits for the answer.
pub fn ask<P: Port>(port: P, size: usize, limits: Limits) -> Result<Times, Fault> {
    let mut end = Messages::new(port, size);
    run(limits, |number, clock, patience| {
        end.say(0, &number.to_le_bytes());
        let sent = clock.now();
        end.put()?;
        let came = end.wait(number, limits.spins, clock, sent + patience)?;
        let back = clock.now();
        if !came {
            return Ok(Round { sent, ways: [None; WAYS] });
        }
        let ways = [end.tick(ARRIVED).checked_sub(sent), back.checked_sub(end.tick(ANSWERED))];
        match ways {
            [Some(there), Some(back)] => Ok(Round { sent, ways: [Some(there), Some(back), None] }),
            _ => Err(Fault::environment("the processors' clocks differ: one way cannot be timed")),
        }
    })
}

/// The other end: sends back what comes, until this process is ended.
pub fn answer<P: Port>(port: P, size: usize) -> Result<Times, Fault> {
    let mut end = Messages::new(port, size);
    let clock = Ticks::find();
    loop {
        if !end.take()? {
            continue;
        }
        let arrived = clock.now();
        let number = end.number();
        end.say(0, &number.to_le_bytes());
        end.say(ARRIVED, &arrived.to_le_bytes());
        end.say(ANSWERED, &clock.now().to_le_bytes());
        end.put()?;
    }
}

/// Sends one message after the other.
fn run(
    limits: Limits,
    mut round: impl FnMut(u32, Ticks, u64) -> Result<Round, Fault>,
) -> Result<Times, Fault> {
    let clock = Ticks::find();
    let patience = clock.of(PATIENCE);
    let end = clock.now() + clock.of(limits.duration);
    let mut kept = Kept { times: Vec::with_capacity(limits.most), each: 1 };
    let (mut came, mut lost) = (0, 0);
    for number in 1.. {
        let Round { sent, ways } = round(number, clock, patience)?;
        if ways[0].is_none() {
            lost += 1;
        } else {
            if came % kept.each == 0 {
                kept.add(ways, clock, limits.most);
            }
            came += 1;
        }
        if sent > end {
            break;
        }
    }
    Ok(Times { times: kept.times, came, lost, cost: clock.cost() * 1e9, huge: None })
}

/// The times of messages, of every `each`th one.
struct Kept {
    times: Vec<u32>,
    each: u64,
}

impl Kept {
    /// Adds a message's times; where there is no room for them, every second message goes.
    fn add(&mut self, ways: [Option<u64>; WAYS], clock: Ticks, most: usize) {
        let known = ways.into_iter().flatten();
        let group = known.clone().count();
        self.times.extend(known.map(|ticks| u32::try_from(clock.nanoseconds(ticks)).unwrap_or(u32::MAX)));
        if self.times.len() + group > most {
            let mut place = 0;
            self.times.retain(|_| {
                place += 1;
                ((place - 1) / group).is_multiple_of(2)
            });
            self.each *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, ErrorKind};
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
    use std::thread;

    /// A wire that loses every `loses`th frame.
    struct Mock {
        out: Sender<Vec<u8>>,
        into: Receiver<Vec<u8>>,
        loses: usize,
        sent: usize,
    }

    fn wire(loses: usize) -> (Mock, Mock) {
        let ((a, b), (c, d)) = (channel(), channel());
        (Mock { out: a, into: d, loses, sent: 0 }, Mock { out: c, into: b, loses: 0, sent: 0 })
    }

    impl Port for Mock {
        fn open(_: &Path, _: usize, _: Option<Duration>) -> Result<Self, Fault> {
            Err(Fault::usage("made in pairs"))
        }

        fn frame(&self, size: usize) -> (Vec<u8>, usize) {
            (vec![7; size], 10)
        }

        fn send(&mut self, frame: &[u8]) -> io::Result<()> {
            self.sent += 1;
            if self.loses > 0 && self.sent.is_multiple_of(self.loses) {
                return Ok(());
            }
            self.out.send(frame.to_vec()).map_err(|_| ErrorKind::BrokenPipe.into())
        }

        fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let frame = self.into.try_recv().map_err(|e| match e {
                TryRecvError::Empty => ErrorKind::WouldBlock,
                TryRecvError::Disconnected => ErrorKind::BrokenPipe,
            })?;
            into[..frame.len()].copy_from_slice(&frame);
            Ok(frame.len())
        }
    }

    fn limits(most: usize) -> Limits {
        Limits::new(Duration::from_millis(500), most, true)
    }

    #[test]
    fn alone_every_message_is_timed() {
        let (first, second) = wire(0);
        let found = alone(first, second, 64, limits(1 << 24)).expect("runs");
        assert_eq!((found.times.len() as u64, found.lost), (found.came, 0));
        assert!(found.came > 100 && found.cost > 0.0);
        assert!(found.times.iter().all(|time| *time < 1_000_000_000));
    }

    #[test]
    fn calls_are_told_by_three() {
        let (first, second) = wire(4);
        let found = calls(first, second, 64, limits(1 << 24)).expect("runs");
        assert_eq!(found.times.len() as u64, found.came * CALLS as u64);
        assert!(found.came >= 3 && found.lost > 0, "{found:?}");
    }

    #[test]
    fn what_is_lost_is_counted_and_not_timed() {
        let (first, second) = wire(5);
        let found = alone(first, second, 64, limits(1 << 24)).expect("runs");
        assert_eq!(found.times.len() as u64, found.came);
        assert_eq!(found.lost, (found.came + found.lost) / 5, "every fifth");
    }

    #[test]
    fn of_more_than_there_is_room_for_every_so_manyth_is_kept() {
        let clock = Ticks::find();
        let mut kept = Kept { times: Vec::new(), each: 1 };
        for number in 0..1000_u64 {
            if number % kept.each == 0 {
                let tick = clock.of(Duration::from_micros(number));
                kept.add([Some(tick), Some(tick), None], clock, 100);
            }
        }
        assert_eq!(kept.each, 32);
        let messages: Vec<u64> =
            kept.times.chunks_exact(2).map(|two| u64::from(two[0]).div_ceil(1000)).collect();
        assert!(kept.times.chunks_exact(2).all(|two| two[0] == two[1]));
        assert_eq!(messages, (0..1000).step_by(32).collect::<Vec<u64>>());
    }

    #[test]
    fn both_ways_are_timed_between_two() {
        let (first, second) = wire(0);
        let other = thread::spawn(move || answer(second, 64).expect_err("ends when the wire does"));
        let found = ask(first, 64, limits(1 << 24)).expect("runs");
        assert_eq!((found.times.len() as u64, found.lost), (2 * found.came, 0));
        assert!(other.join().is_ok_and(|fault| fault.message.contains("wire")));
    }
}
