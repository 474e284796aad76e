//! Where messages' time went: what the ends timed, and what the kernel saw meanwhile,
//! joined message by message.
//!
//! A round trip's times form one line, from before the measuring end's send to after its
//! receive, over the serving end's receive. Each stage is what lies between two times on
//! it, and is called after what ends there. Where something did not happen (a receiver that
//! was awake is not woken) its time is part of the next stage.
//!
//! Medians of stages do not add up to the median of the whole. So messages are sorted by
//! their round trip, and the mean stages of those in a *band* around a percentile are told,
//! which do add up to the mean of these.

use crosstalk_core::record::{Origin, Reading};
use crosstalk_observe::stages::{RECORDS, Record, Stamp, Way};
use std::collections::HashMap;

use super::ping::Samples;

/// A band of the distribution of round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// Every message.
    All,
    /// Those from the 45th to the 55th percentile.
    P50,
    /// Those from the 98.5th to the 99.5th.
    P99,
}

impl Band {
    /// Every one.
    pub const ALL: [Band; 3] = [Band::All, Band::P50, Band::P99];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Band::All => "all",
            Band::P50 => "p50",
            Band::P99 => "p99",
        }
    }

    /// Its messages, among `count` that are sorted.
    pub fn of(self, count: usize) -> std::ops::Range<usize> {
        let at = |share: f64| (count as f64 * share) as usize;
        match self {
            Band::All => 0..count,
            Band::P50 => at(0.45)..at(0.55),
            Band::P99 => at(0.985)..at(0.995),
        }
    }
}

/// What ends at a stamp, as it is called.
fn stage(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::Enter => "application",
        Stamp::Queue => "send: call and protocol",
        Stamp::Xmit => "queueing discipline",
        Stamp::Receive => "driver and wire",
        Stamp::Ready => "receive: protocol",
        Stamp::Waking => "socket queue",
        Stamp::Wakeup => "wake-up",
        Stamp::Run => "scheduling",
        Stamp::Copy => "receive: call",
        Stamp::Exit => "copy",
    }
}

/// What ends where the end has its message.
const RETURN: &str = "return";

/// Stamps without which a message is not followed from end to end. (What TCP paces is sent by
/// a timer, in no system call.)
const NEEDED: [Stamp; 4] = [Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Exit];

/// Times of a stage: way, name, seconds.
type Stage = (Way, &'static str, f64);

/// Where the time went.
#[derive(Debug, Clone, PartialEq)]
pub struct Stages {
    /// Messages that were looked for.
    pub looked_for: u64,
    /// Those that were followed from end to end.
    pub matched: u64,
    /// Mean stages of each band that has messages, how many it has, and the share of their
    /// round trips that no stage has.
    pub bands: Vec<(Band, Vec<Stage>, u64, f64)>,
}

/// One message, joined.
struct Joined {
    round_trip: u64,
    /// Nanoseconds between two times of which one in between makes no sense.
    unexplained: u64,
    /// Nanoseconds of each stage, by [`place`].
    stages: [u64; 2 * PLACES],
}

/// Stages in a way.
const PLACES: usize = Stamp::ALL.len() + 1;

fn place(way: Way, which: usize) -> usize {
    way as usize * PLACES + which
}

impl Stages {
    /// Joins what was seen of the messages from the `settled`th on.
    pub(super) fn of(samples: &Samples, settled: usize) -> Self {
        let records: HashMap<u64, &Record> = samples.records.iter().map(|r| (r.number, r)).collect();
        let first = samples.sent.saturating_sub(RECORDS);
        let mut looked_for = 0;
        let mut joined = Vec::new();
        let messages = samples.sent_at.iter().zip(&samples.round_trips).zip(&samples.one_ways);
        for (((number, sent), round_trip), one_way) in messages.skip(settled) {
            // Older ones are no longer kept: that says nothing of them.
            if *number < first {
                continue;
            }
            looked_for += 1;
            let record = records.get(number);
            joined.extend(record.and_then(|record| join(record, *sent, *one_way, *round_trip)));
        }
        joined.sort_unstable_by_key(|message: &Joined| message.round_trip);
        let bands = Band::ALL.iter().filter_map(|band| mean(*band, &joined[band.of(joined.len())])).collect();
        Stages { looked_for, matched: joined.len() as u64, bands }
    }

    /// The readings a journal keeps.
    pub fn readings(&self) -> Vec<(Reading, u64)> {
        let measured = |name: &str, value: f64| Reading::value(name, value, Origin::Measured);
        let share = self.matched as f64 / self.looked_for.max(1) as f64;
        let mut readings = vec![(measured("matched", share), self.looked_for)];
        for (band, stages, n, unexplained) in &self.bands {
            for (way, stage, seconds) in stages {
                let way = if *way == Way::There { "there" } else { "back" };
                let reading = measured("stage_time", *seconds).label("stage", stage).label("way", way);
                readings.push((reading.label("band", band.name()), *n));
            }
            readings.push((measured("unexplained", *unexplained).label("band", band.name()), *n));
        }
        readings
    }
}

/// A message's times as stages; `None` where it was not followed from end to end: a stamp is
/// missing that every message has, or lies before the one before it or beyond the end.
fn join(record: &Record, sent: u64, one_way: u64, round_trip: u64) -> Option<Joined> {
    let (mut stages, mut unexplained) = ([0; 2 * PLACES], 0);
    let ends = [(Way::There, sent, sent + one_way), (Way::Back, sent + one_way, sent + round_trip)];
    for (way, begin, end) in ends {
        let (mut since, mut astray) = (begin, false);
        for (which, stamp) in Stamp::ALL.into_iter().enumerate() {
            match record.at(way, stamp) {
                Some(at) if (since..=end).contains(&at) => {
                    let taken = if astray { &mut unexplained } else { &mut stages[place(way, which)] };
                    *taken += at - since;
                    (since, astray) = (at, false);
                }
                None if !NEEDED.contains(&stamp) => {}
                // What it should have told is not known of what lies around it.
                Some(_) if !NEEDED.contains(&stamp) => astray = true,
                _ => return None,
            }
        }
        stages[place(way, PLACES - 1)] = end - since;
    }
    Some(Joined { round_trip, unexplained, stages })
}

/// The mean stages of a band.
fn mean(band: Band, messages: &[Joined]) -> Option<(Band, Vec<Stage>, u64, f64)> {
    if messages.is_empty() {
        return None;
    }
    let n = messages.len() as f64;
    let names: Vec<&str> = Stamp::ALL.into_iter().map(stage).chain([RETURN]).collect();
    let mut stages = Vec::new();
    for way in [Way::There, Way::Back] {
        for (which, name) in names.iter().enumerate() {
            let sum: u64 = messages.iter().map(|message| message.stages[place(way, which)]).sum();
            stages.push((way, *name, sum as f64 / n * 1e-9));
        }
    }
    let whole: u64 = messages.iter().map(|message| message.round_trip).sum();
    let unexplained: u64 = messages.iter().map(|message| message.unexplained).sum();
    Some((band, stages, messages.len() as u64, unexplained as f64 / whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record whose stamps are `step` apart, from 1,000 on, there and then back.
    fn record(step: u64, change: impl Fn(Way, Stamp, u64) -> u64) -> Record {
        let mut at = 1000;
        let mut stamps = [[0; Stamp::ALL.len()]; 2];
        for way in [Way::There, Way::Back] {
            for stamp in Stamp::ALL {
                at += step;
                stamps[way as usize][stamp as usize] = change(way, stamp, at);
            }
            // The end has its message, and sends the reply.
            at += step;
        }
        Record::new(0, stamps)
    }

    fn joined(record: &Record) -> Option<Joined> {
        join(record, 1000, 110, 220)
    }

    #[test]
    fn stages_are_what_lies_between_two_times_and_add_up() {
        let message = joined(&record(10, |_, _, at| at)).expect("is whole");
        assert_eq!(message.stages, [10; 22]);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, message.round_trip));
    }

    #[test]
    fn what_did_not_happen_belongs_to_what_follows() {
        let awake =
            |_, stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let message = joined(&record(10, awake)).expect("is whole");
        assert_eq!(message.stages[place(Way::There, Stamp::Copy as usize)], 40);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 220));
    }

    #[test]
    fn a_time_that_makes_no_sense_explains_nothing_around_it() {
        let early = |_, stamp, at| if stamp == Stamp::Run { at - 500 } else { at };
        let message = joined(&record(10, early)).expect("what every message has makes sense");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (40, 180));
    }

    #[test]
    fn who_was_not_seen_on_the_way_is_not_matched() {
        for needed in NEEDED {
            let without = |way, stamp, at| if (way, stamp) == (Way::Back, needed) { 0 } else { at };
            assert!(joined(&record(10, without)).is_none(), "{needed:?}");
            let astray = |way, stamp, at| if (way, stamp) == (Way::There, needed) { at + 1000 } else { at };
            assert!(joined(&record(10, astray)).is_none(), "{needed:?}");
        }
    }

    #[test]
    fn bands_are_around_their_percentiles() {
        assert_eq!(Band::P50.of(1000), 450..550);
        assert_eq!(Band::P99.of(1000), 985..995);
        assert_eq!(Band::All.of(3), 0..3);
    }
}
