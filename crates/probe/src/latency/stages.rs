//! Where the time of many messages went.
//!
//! Medians of stages do not add up to the median of the whole. So messages are sorted by their
//! round trip, and the mean stages of those in a *band* around a percentile are reported: they add
//! up to the mean round trip of the band.

use crosstalk_core::record::{Origin, Reading};
use crosstalk_observe::stages::{Direction, MessageRecord, RECORDS, Stamp};
use std::collections::HashMap;

use super::joined::{AppTimes, MessageStages, join_stages, stage_index};
use super::samples::{FollowedMessage, Samples};
use crate::band::Band;

/// The name of the stage that ends at a stamp.
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

/// The stage that ends where a client or a server begins to send.
const APPLICATION: &str = "application";
/// The stage that ends where the receiver has the message.
const RETURN: &str = "receive: call and copy";

/// A stage: direction, name, seconds.
type Stage = (Direction, &'static str, f64);

/// Where the time of messages went, stage by stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Stages {
    /// Messages whose records the kernel still has.
    pub recorded: u64,
    /// Messages that were followed from end to end.
    pub matched: u64,
    /// Each band with its mean stages, its messages, and the unexplained share of their round trips.
    pub bands: Vec<(Band, Vec<Stage>, u64, f64)>,
}

impl Stages {
    /// The stages of the messages from the `settled`th on.
    pub(super) fn of(samples: &Samples, settled: usize) -> Self {
        let records: HashMap<u64, &MessageRecord> = samples.records.iter().map(|r| (r.number, r)).collect();
        // Older records are overwritten, and the last one is not yet complete.
        let kept = samples.sent.saturating_sub(RECORDS)..samples.sent.saturating_sub(1);
        let mut recorded = 0;
        let mut joined = Vec::new();
        let messages = samples.followed.iter().zip(&samples.round_trips).zip(&samples.one_ways);
        for ((FollowedMessage { number, sent, replied }, round_trip), one_way) in messages.skip(settled) {
            if !kept.contains(number) {
                continue;
            }
            recorded += 1;
            let (sent, replied) = (*sent, *replied);
            let times = AppTimes { sent, arrived: sent + one_way, replied, ended: sent + round_trip };
            joined.extend(records.get(number).and_then(|record| join_stages(record, &times)));
        }
        joined.sort_unstable_by_key(|message: &MessageStages| message.round_trip);
        let bands = Band::ALL
            .iter()
            .filter_map(|band| mean(*band, &joined[band.range_among(joined.len())]))
            .collect();
        Stages { recorded, matched: joined.len() as u64, bands }
    }

    /// The readings for the journal, each with the number of its observations.
    pub fn readings(&self) -> Vec<(Reading, u64)> {
        let measured = |name: &str, value: f64| Reading::value(name, value, Origin::Measured);
        let share = self.matched as f64 / self.recorded.max(1) as f64;
        let mut readings = vec![(measured("matched", share), self.recorded)];
        for (band, stages, n, unexplained) in &self.bands {
            for (way, stage, seconds) in stages {
                let way = if *way == Direction::There { "there" } else { "back" };
                let reading = measured("stage_time", *seconds).label("stage", stage).label("way", way);
                readings.push((reading.label("band", band.name()), *n));
            }
            readings.push((measured("unexplained", *unexplained).label("band", band.name()), *n));
        }
        readings
    }
}

/// The mean stages of a band.
fn mean(band: Band, messages: &[MessageStages]) -> Option<(Band, Vec<Stage>, u64, f64)> {
    if messages.is_empty() {
        return None;
    }
    let n = messages.len() as f64;
    let names: Vec<&str> =
        [APPLICATION].into_iter().chain(Stamp::ALL.into_iter().map(stage)).chain([RETURN]).collect();
    let mut stages = Vec::new();
    for way in [Direction::There, Direction::Back] {
        for (which, name) in names.iter().enumerate() {
            let sum: u64 = messages.iter().map(|message| message.stages[stage_index(way, which)]).sum();
            stages.push((way, *name, sum as f64 / n * 1e-9));
        }
    }
    let whole: u64 = messages.iter().map(|message| message.round_trip).sum();
    let unexplained: u64 = messages.iter().map(|message| message.unexplained).sum();
    Some((band, stages, messages.len() as u64, unexplained as f64 / whole as f64))
}
