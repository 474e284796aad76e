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
use crosstalk_observe::stages::{Record, Stamp, Way};
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
    fn of(self, count: usize) -> std::ops::Range<usize> {
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

/// Stamps without which a message is not followed from end to end.
const NEEDED: [Stamp; 5] = [Stamp::Enter, Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Exit];

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
        let first = samples.records.iter().map(|record| record.number).min().unwrap_or(u64::MAX);
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

/// A message's times as stages; `None` where it was not followed from end to end.
fn join(record: &Record, sent: u64, one_way: u64, round_trip: u64) -> Option<Joined> {
    let mut stages = [0; 2 * PLACES];
    let ends = [(Way::There, sent, sent + one_way), (Way::Back, sent + one_way, sent + round_trip)];
    for (way, begin, end) in ends {
        if NEEDED.iter().any(|stamp| record.at(way, *stamp).is_none()) {
            return None;
        }
        let mut since = begin;
        for (which, stamp) in Stamp::ALL.into_iter().enumerate() {
            // A time that lies before the one before it, or beyond the end, belongs to something else.
            if let Some(at) = record.at(way, stamp).filter(|at| (since..=end).contains(at)) {
                stages[place(way, which)] = at - since;
                since = at;
            }
        }
        stages[place(way, PLACES - 1)] = end - since;
    }
    Some(Joined { round_trip, stages })
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
    let told: f64 = stages.iter().map(|(_, _, seconds)| seconds).sum();
    Some((band, stages, messages.len() as u64, 1.0 - told / (whole as f64 / n * 1e-9)))
}
