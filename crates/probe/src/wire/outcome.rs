//! What was found, as readings.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_host::ticks::Ticks;

use super::end::Found;
use super::exchange::{CALLS, Times};
use super::spec::{Measure, Spec};
use super::stream::Stream;
use crate::Readings;
use crate::band::Band;
use crate::settle::settled;

/// What the times of a message are, where there are several.
const STAGES: [&str; CALLS] = ["send: call", "on the way", "receive: call"];

/// The readings a journal keeps, of what an end `found` and, of a stream, what the other `sent`.
///
/// # Errors
/// Where nothing arrived.
pub fn readings(spec: &Spec, found: &Found, sent: Option<&Found>) -> Result<Readings, Fault> {
    let readings = match (found, sent) {
        (Found::Times(found), None) => one_way(spec, found)?,
        (Found::Stream(found), Some(Found::Stream(sent))) => stream(spec, found, sent)?,
        _ => return Err(Fault::attempt("the ends of the wire do not tell of the same")),
    };
    Ok(readings.into_iter().map(|(reading, n)| (labelled(spec, reading), n)).collect())
}

fn value(name: &str, value: f64) -> (Reading, u64) {
    (Reading::value(name, value, Origin::Measured), 1)
}

fn stream(spec: &Spec, found: &Stream, sent: &Stream) -> Result<Readings, Fault> {
    if found.frames == 0 {
        return Err(Fault::attempt(format!("none of {} frames arrived", sent.frames)));
    }
    if found.frames > sent.frames {
        let (found, sent) = (found.frames, sent.frames);
        return Err(Fault::attempt(format!("{found} frames arrived of {sent} that were sent")));
    }
    let lost = 1.0 - found.frames as f64 / sent.frames as f64;
    Ok(vec![
        value("bandwidth", found.rate * spec.size.0 as f64 * 8.0),
        value("frame_rate", found.rate),
        value("lost", lost),
    ])
}

/// The clock by which ends tell the time.
fn clock() -> &'static str {
    Ticks::find().name()
}

fn one_way(spec: &Spec, found: &Times) -> Result<Readings, Fault> {
    let stages = spec.measure == Measure::Stages;
    let each = if stages { CALLS } else { 1 };
    let messages: Vec<&[u32]> = found.times.chunks_exact(each).collect();
    let whole = |message: &&[u32]| message.iter().map(|time| u64::from(*time)).sum::<u64>();
    let times: Vec<u64> = messages.iter().map(whole).collect();
    let kept = settled(&times).at;
    let mut one_way = Histogram::default();
    times[kept..].iter().for_each(|time| one_way.record(*time));
    if one_way.count() == 0 {
        return Err(Fault::attempt(format!("none of {} messages arrived", found.lost)));
    }
    let n = one_way.count();
    let mut readings = vec![
        (Reading::histogram("one_way", one_way, Origin::Measured), n),
        value("lost", found.lost as f64 / (found.lost + found.came) as f64),
        (Reading::value("own_overhead", found.cost * 1e-9, Origin::Measured).label("clock", clock()), 1),
    ];
    readings.extend(found.huge.map(|huge| value("huge_pages", f64::from(u8::from(huge)))));
    if stages {
        let mut sorted = messages[kept..].to_vec();
        sorted.sort_unstable_by_key(whole);
        readings.extend(Band::ALL.iter().flat_map(|band| means(*band, &sorted)));
    }
    Ok(readings)
}

/// The mean stages of the messages of a band.
fn means(band: Band, sorted: &[&[u32]]) -> Readings {
    let messages = &sorted[band.of(sorted.len())];
    let mean = |stage: usize| {
        messages.iter().map(|message| f64::from(message[stage])).sum::<f64>() / messages.len() as f64
    };
    let told = STAGES.iter().enumerate().filter(|_| !messages.is_empty());
    told.map(|(place, stage)| {
        let reading = Reading::value("stage_time", mean(place) * 1e-9, Origin::Measured);
        let reading = reading.label("stage", stage).label("way", "there").label("band", band.name());
        (reading, messages.len() as u64)
    })
    .collect()
}

fn labelled(spec: &Spec, reading: Reading) -> Reading {
    reading
        .label("transport", spec.transport.name())
        .label("size", spec.size.0)
        .label("mode", spec.mode.name())
        .label("ends", spec.ends.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Params;

    fn spec(stages: bool) -> Spec {
        let params = Params::default().with("ends", "one-thread").with("stages", stages);
        Spec::from_params(&params).expect("is one")
    }

    fn times(times: Vec<u32>, came: u64) -> Found {
        Found::Times(Times { times, came, lost: 1, cost: 20.0, huge: Some(false) })
    }

    #[test]
    fn calls_of_a_message_add_up_to_its_time() {
        let found = times([100, 2000, 300].repeat(400), 400);
        let readings = readings(&spec(true), &found, None).expect("some arrived");
        let sum: f64 = readings
            .iter()
            .filter(|(r, _)| r.metric == "stage_time" && r.labels.get("band").is_some_and(|b| b == "p50"))
            .filter_map(|(reading, _)| reading.number())
            .sum();
        assert!((sum - 2400e-9).abs() < 1e-15, "{sum}");
    }

    #[test]
    fn what_was_lost_is_a_share_of_what_was_sent() {
        // Two ways of each are timed: what is lost is messages.
        let readings = readings(&spec(false), &times(vec![5; 198], 99), None).expect("some arrived");
        let number = |name: &str| {
            readings
                .iter()
                .find(|(reading, _)| reading.metric == name)
                .and_then(|(reading, _)| reading.number())
        };
        assert_eq!((number("lost"), number("huge_pages")), (Some(0.01), Some(0.0)));
        assert!((number("own_overhead").expect("is told") - 20e-9).abs() < 1e-15);
    }

    #[test]
    fn a_stream_s_rate_is_that_of_what_arrives() {
        let stream = |frames, rate| Found::Stream(Stream { frames, rate });
        let told = readings(&spec(false), &stream(750, 1e6), Some(&stream(1000, 2e6))).expect("some arrived");
        let numbers: Vec<f64> = told.iter().filter_map(|(reading, _)| reading.number()).collect();
        assert_eq!(numbers, [64.0 * 8.0 * 1e6, 1e6, 0.25]);
    }

    #[test]
    fn where_nothing_arrives_nothing_is_told() {
        assert!(readings(&spec(false), &times(Vec::new(), 0), None).is_err());
        let more = |frames| Found::Stream(Stream { frames, rate: 1.0 });
        assert!(readings(&spec(false), &more(8), Some(&more(7))).is_err(), "more than were sent");
        let silence = Found::Stream(Stream { frames: 0, rate: 0.0 });
        assert!(readings(&spec(false), &silence, Some(&silence)).is_err());
    }
}
