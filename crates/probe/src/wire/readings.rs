//! The readings of the endpoints' results.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_host::ticks::TickClock;

use super::result::EndpointResult;
use super::spec::{Measure, Spec};
use super::stream::FrameCount;
use super::times::{MessageTimes, TIMES_WITH_CALLS};
use crate::band::Band;
use crate::readings::Readings;
use crate::settle::find_settling;

/// The stages of a message if calls are timed.
const STAGES: [&str; TIMES_WITH_CALLS] = ["send: call", "on the way", "receive: call"];

/// The readings of what an endpoint `received` and, of a stream, what the other one `sent`.
///
/// # Errors
/// Where nothing arrived, or the results do not match.
pub fn readings(
    spec: &Spec,
    received: &EndpointResult,
    sent: Option<&EndpointResult>,
) -> Result<Readings, Fault> {
    let readings = match (received, sent) {
        (EndpointResult::Times(times), None) => one_way(spec, times)?,
        (EndpointResult::Stream(received), Some(EndpointResult::Stream(sent))) => {
            stream(spec, received, sent)?
        }
        _ => return Err(Fault::attempt("the two endpoints measured different things")),
    };
    Ok(readings.into_iter().map(|(reading, n)| (labelled(spec, reading), n)).collect())
}

fn value(name: &str, value: f64) -> (Reading, u64) {
    (Reading::value(name, value, Origin::Measured), 1)
}

fn stream(spec: &Spec, received: &FrameCount, sent: &FrameCount) -> Result<Readings, Fault> {
    if received.frames == 0 {
        return Err(Fault::attempt(format!("none of {} frames arrived", sent.frames)));
    }
    if received.frames > sent.frames {
        let (received, sent) = (received.frames, sent.frames);
        return Err(Fault::attempt(format!("{received} frames arrived, and only {sent} were sent")));
    }
    let lost = 1.0 - received.frames as f64 / sent.frames as f64;
    Ok(vec![
        value("bandwidth", received.rate * spec.size.0 as f64 * 8.0),
        value("frame_rate", received.rate),
        value("lost", lost),
    ])
}

/// The name of the clock that times messages.
fn clock() -> &'static str {
    TickClock::best().name()
}

fn one_way(spec: &Spec, result: &MessageTimes) -> Result<Readings, Fault> {
    let stages = spec.measure == Measure::Stages;
    let each = if stages { TIMES_WITH_CALLS } else { 1 };
    let messages: Vec<&[u32]> = result.times.chunks_exact(each).collect();
    let whole = |message: &&[u32]| message.iter().map(|time| u64::from(*time)).sum::<u64>();
    let times: Vec<u64> = messages.iter().map(whole).collect();
    let kept = find_settling(&times).at;
    let mut one_way = Histogram::default();
    times[kept..].iter().for_each(|time| one_way.record(*time));
    if one_way.count() == 0 {
        return Err(Fault::attempt(format!("none of {} messages arrived", result.lost)));
    }
    let n = one_way.count();
    let mut readings = vec![
        (Reading::histogram("one_way", one_way, Origin::Measured), n),
        value("lost", result.lost as f64 / (result.lost + result.received) as f64),
        (Reading::value("own_overhead", result.cost * 1e-9, Origin::Measured).label("clock", clock()), 1),
    ];
    readings.extend(result.huge.map(|huge| value("huge_pages", f64::from(u8::from(huge)))));
    if stages {
        let mut sorted = messages[kept..].to_vec();
        sorted.sort_unstable_by_key(whole);
        readings.extend(Band::ALL.iter().flat_map(|band| means(*band, &sorted)));
    }
    Ok(readings)
}

/// The mean stages of the messages of a band.
fn means(band: Band, sorted: &[&[u32]]) -> Readings {
    let messages = &sorted[band.range_among(sorted.len())];
    let mean = |stage: usize| {
        messages.iter().map(|message| f64::from(message[stage])).sum::<f64>() / messages.len() as f64
    };
    let stages = STAGES.iter().enumerate().filter(|_| !messages.is_empty());
    stages
        .map(|(place, stage)| {
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
        Spec::from_params(&params).expect("is valid")
    }

    fn times(times: Vec<u32>, received: u64) -> EndpointResult {
        EndpointResult::Times(MessageTimes { times, received, lost: 1, cost: 20.0, huge: Some(false) })
    }

    #[test]
    fn calls_of_a_message_add_up_to_its_time() {
        let result = times([100, 2000, 300].repeat(400), 400);
        let readings = readings(&spec(true), &result, None).expect("some arrived");
        let sum: f64 = readings
            .iter()
            .filter(|(r, _)| r.metric == "stage_time" && r.labels.get("band").is_some_and(|b| b == "p50"))
            .filter_map(|(reading, _)| reading.number())
            .sum();
        assert!((sum - 2400e-9).abs() < 1e-15, "{sum}");
    }

    #[test]
    fn lost_messages_are_a_share_of_those_sent() {
        // Two directions of each message are timed.
        let readings = readings(&spec(false), &times(vec![5; 198], 99), None).expect("some arrived");
        let number = |name: &str| {
            readings
                .iter()
                .find(|(reading, _)| reading.metric == name)
                .and_then(|(reading, _)| reading.number())
        };
        assert_eq!((number("lost"), number("huge_pages")), (Some(0.01), Some(0.0)));
        assert!((number("own_overhead").expect("is reported") - 20e-9).abs() < 1e-15);
    }

    #[test]
    fn the_rate_of_a_stream_is_that_of_its_arrivals() {
        let stream = |frames, rate| EndpointResult::Stream(FrameCount { frames, rate });
        let readings =
            readings(&spec(false), &stream(750, 1e6), Some(&stream(1000, 2e6))).expect("some arrived");
        let numbers: Vec<f64> = readings.iter().filter_map(|(reading, _)| reading.number()).collect();
        assert_eq!(numbers, [64.0 * 8.0 * 1e6, 1e6, 0.25]);
    }

    #[test]
    fn without_arrivals_there_is_a_fault() {
        assert!(readings(&spec(false), &times(Vec::new(), 0), None).is_err());
        let more = |frames| EndpointResult::Stream(FrameCount { frames, rate: 1.0 });
        assert!(readings(&spec(false), &more(8), Some(&more(7))).is_err(), "more than were sent");
        let silence = EndpointResult::Stream(FrameCount { frames: 0, rate: 0.0 });
        assert!(readings(&spec(false), &silence, Some(&silence)).is_err());
    }
}
