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

use super::ping::{Followed, Samples};
use crate::band::Band;

/// What ends at a stamp, as it is called.
fn stage(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::Queue => "send: call and protocol",
        Stamp::Xmit => "queueing discipline",
        Stamp::Receive => "driver and wire",
        Stamp::Ready => "receive: protocol",
        Stamp::Waking => "socket queue",
        Stamp::Wakeup => "wake-up",
        Stamp::Run => "scheduling",
    }
}

/// What ends where an end begins to send.
const APPLICATION: &str = "application";
/// What ends where the end has its message.
const RETURN: &str = "receive: call and copy";

/// Stamps without which a message is not followed from end to end.
const NEEDED: [Stamp; 4] = [Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Ready];

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

/// Stages in a way: the application's, one for each stamp, and the return.
const PLACES: usize = Stamp::ALL.len() + 2;

fn place(way: Way, which: usize) -> usize {
    way as usize * PLACES + which
}

/// What the two ends timed of a message.
struct Ends {
    /// When it was sent.
    sent: u64,
    /// When the serving end had it.
    arrived: u64,
    /// When that began to send the reply.
    replied: u64,
    /// When the measuring end had the reply.
    ended: u64,
}

impl Stages {
    /// Joins what was seen of the messages from the `settled`th on.
    pub(super) fn of(samples: &Samples, settled: usize) -> Self {
        let records: HashMap<u64, &Record> = samples.records.iter().map(|r| (r.number, r)).collect();
        // Older ones are no longer kept, and the last one's record is not yet complete: that says
        // nothing of them.
        let kept = samples.sent.saturating_sub(RECORDS)..samples.sent.saturating_sub(1);
        let mut looked_for = 0;
        let mut joined = Vec::new();
        let messages = samples.followed.iter().zip(&samples.round_trips).zip(&samples.one_ways);
        for ((Followed { number, sent, replied }, round_trip), one_way) in messages.skip(settled) {
            if !kept.contains(number) {
                continue;
            }
            looked_for += 1;
            let (sent, replied) = (*sent, *replied);
            let ends = Ends { sent, arrived: sent + one_way, replied, ended: sent + round_trip };
            joined.extend(records.get(number).and_then(|record| join(record, &ends)));
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

/// A message's times as stages; `None` where it was not followed from end to end: a time is
/// missing that every message has, or lies before the one before it or beyond the end.
fn join(record: &Record, ends: &Ends) -> Option<Joined> {
    let Ends { sent, arrived, replied, ended } = *ends;
    let mut joined = Joined { round_trip: ended - sent, unexplained: 0, stages: [0; 2 * PLACES] };
    for (way, begin, leaves, end) in [(Way::There, sent, sent, arrived), (Way::Back, arrived, replied, ended)]
    {
        joined.follow(record, way, (begin, leaves, end))?;
    }
    Some(joined)
}

impl Joined {
    /// Adds one way's stages: of a message that an end has since `begin`, begins to send at
    /// `leaves`, and that the other end has at `end`.
    fn follow(&mut self, record: &Record, way: Way, (begin, leaves, end): (u64, u64, u64)) -> Option<()> {
        let (mut since, mut astray) = (leaves, false);
        self.stages[place(way, 0)] = leaves.checked_sub(begin)?;
        for (which, stamp) in Stamp::ALL.into_iter().enumerate() {
            match record.at(way, stamp) {
                Some(at) if (since..=end).contains(&at) => {
                    *self.taken(place(way, which + 1), astray) += at - since;
                    (since, astray) = (at, false);
                }
                // Missing, or missing on its way.
                None | Some(_) if NEEDED.contains(&stamp) => return None,
                // What happened to the end when it had its message already is not of this way.
                None => {}
                Some(at) if at > end => {}
                // What it should have told is not known of what lies around it.
                Some(_) => astray = true,
            }
        }
        // Who waited was woken: where that was not seen, it is not known what the rest was.
        let woken = record.at(way, Stamp::Wakeup).is_some_and(|at| at <= end);
        let astray = astray || record.awaited(way) && !woken;
        *self.taken(place(way, PLACES - 1), astray) += end.checked_sub(since)?;
        Some(())
    }

    /// What a stretch of time is added to: the stage that ends with it, or what none explains.
    fn taken(&mut self, place: usize, astray: bool) -> &mut u64 {
        if astray { &mut self.unexplained } else { &mut self.stages[place] }
    }
}

/// The mean stages of a band.
fn mean(band: Band, messages: &[Joined]) -> Option<(Band, Vec<Stage>, u64, f64)> {
    if messages.is_empty() {
        return None;
    }
    let n = messages.len() as f64;
    let names: Vec<&str> =
        [APPLICATION].into_iter().chain(Stamp::ALL.into_iter().map(stage)).chain([RETURN]).collect();
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

    /// A record whose stamps are 10 ns apart, from 1,000 on, there and then back: the ends of a
    /// way, and of the serving end's work, are 10 ns from them.
    fn record(change: impl Fn(Way, Stamp, u64) -> u64) -> Record {
        let mut at = SENT;
        let mut stamps = [[0; Stamp::ALL.len()]; 2];
        for way in [Way::There, Way::Back] {
            for stamp in Stamp::ALL {
                at += 10;
                stamps[way as usize][stamp as usize] = change(way, stamp, at);
            }
            // The end has its message, and begins to send the reply.
            at += 20;
        }
        Record::new(0, stamps, [false; 2])
    }

    /// The same, of which both ends waited.
    fn awaited(record: &Record) -> Record {
        let at =
            [Way::There, Way::Back].map(|way| Stamp::ALL.map(|stamp| record.at(way, stamp).unwrap_or(0)));
        Record::new(0, at, [true; 2])
    }

    const SENT: u64 = 1000;
    const ENDS: Ends = Ends { sent: SENT, arrived: SENT + 80, replied: SENT + 90, ended: SENT + 170 };

    fn joined(record: &Record) -> Option<Joined> {
        join(record, &ENDS)
    }

    #[test]
    fn stages_are_what_lies_between_two_times_and_add_up() {
        let message = joined(&record(|_, _, at| at)).expect("is whole");
        // The first end begins to send at once.
        assert_eq!(message.stages[0], 0);
        assert_eq!(message.stages[1..], [10; 2 * PLACES - 1]);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, message.round_trip));
    }

    #[test]
    fn what_did_not_happen_belongs_to_what_follows() {
        let awake =
            |_, stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let message = joined(&record(awake)).expect("is whole");
        assert_eq!(message.stages[place(Way::There, PLACES - 1)], 40);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn what_happened_to_an_end_that_had_its_message_is_not_of_the_way() {
        let late = |_, stamp, at| if stamp == Stamp::Run { at + 1000 } else { at };
        let message = joined(&record(late)).expect("is whole");
        assert_eq!(message.stages[place(Way::Back, PLACES - 1)], 20);
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn a_time_that_makes_no_sense_explains_nothing_around_it() {
        let early = |_, stamp, at| if stamp == Stamp::Run { at - 500 } else { at };
        let message = joined(&record(early)).expect("what every message has makes sense");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (40, 130));
    }

    #[test]
    fn who_waited_and_was_not_seen_to_be_woken_explains_nothing_after_that() {
        let awake =
            |_, stamp, at| if matches!(stamp, Stamp::Waking | Stamp::Wakeup | Stamp::Run) { 0 } else { at };
        let message = joined(&awaited(&record(awake))).expect("is whole");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (80, 90));
        let message = joined(&awaited(&record(|_, _, at| at))).expect("is whole");
        assert_eq!((message.unexplained, message.stages.iter().sum::<u64>()), (0, 170));
    }

    #[test]
    fn who_was_not_seen_on_the_way_is_not_matched() {
        for needed in NEEDED {
            let without = |way, stamp, at| if (way, stamp) == (Way::Back, needed) { 0 } else { at };
            assert!(joined(&record(without)).is_none(), "{needed:?}");
            let astray = |way, stamp, at| if (way, stamp) == (Way::There, needed) { at + 1000 } else { at };
            assert!(joined(&record(astray)).is_none(), "{needed:?}");
        }
    }

    #[test]
    fn an_end_that_tells_no_time_or_a_wrong_one_is_not_matched() {
        for replied in [0, SENT + 79, SENT + 171, u64::MAX] {
            assert!(join(&record(|_, _, at| at), &Ends { replied, ..ENDS }).is_none(), "{replied}");
        }
    }
}
