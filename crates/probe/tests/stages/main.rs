//! Where messages' time goes: every message is followed, and a delay that is put in on purpose
//! appears in its stage, as long as another clock timed it, and in no other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crosstalk_core::need::Need;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_observe::stages::Direction;
use crosstalk_probe::band::Band;
use crosstalk_probe::latency::{LATENCY, Outcome, Spec, Stages, measure};

mod faults;
mod hog;
#[path = "../local/mod.rs"]
mod local;
#[path = "../mock_server/mod.rs"]
mod mock_server;
mod slow_server;

/// One test at a time: the load of one must not delay another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parameters with stages; `None` where this machine cannot report them.
fn followed(transport: &str) -> Option<Params> {
    let params = Params::default().with("transport", transport).with("stages", true);
    let needs = LATENCY.needs(&params);
    let missing = needs.iter().find(|need| !need.is_found());
    if let Some(missing) = missing {
        eprintln!("skipped: {missing:?}");
    }
    needs.iter().all(Need::is_found).then_some(params)
}

fn on_this_host(params: &Params) -> Outcome {
    let spec = Spec::from_params(params).expect("reads");
    local::on_this_host(|target, until| measure(target, &spec, until)).expect("measures").remove(0)
}

/// A stage: direction, name, seconds.
type Stage = (Direction, &'static str, f64);

/// The mean stages of a band; `None` where it has too few messages.
fn band_of(stages: &Stages, band: Band) -> Option<&[Stage]> {
    stages.bands.iter().find(|known| known.0 == band).map(|(_, stages, ..)| &stages[..])
}

/// The mean stages of a band, which has messages.
fn of_band(stages: &Stages, band: Band) -> &[Stage] {
    band_of(stages, band).expect("has messages")
}

/// Seconds of a stage in one direction, of the messages in a band.
fn stage(stages: &Stages, band: Band, way: Direction, name: &str) -> f64 {
    of_band(stages, band).iter().filter(|stage| (stage.0, stage.1) == (way, name)).map(|stage| stage.2).sum()
}

/// How far the sum of the stages around the median may be from the median.
const WHOLE: f64 = 0.15;

/// The sum of the stages around the median, over the median.
fn whole(outcome: &Outcome) -> f64 {
    let median = outcome.round_trip.quantile(0.5).expect("some") * 1e-9;
    let stages = outcome.stages.as_ref().expect("are set");
    of_band(stages, Band::P50).iter().map(|stage| stage.2).sum::<f64>() / median
}

#[test]
fn every_message_is_followed_through_the_kernel() {
    let _alone = alone();
    for transport in ["tcp", "udp"] {
        for mode in ["blocking", "polling"] {
            let Some(params) = followed(transport) else { return };
            let params = params.with("mode", mode).with("duration", "500 ms");
            let mut outcome = on_this_host(&params);
            // While a host changes its speed, the followed messages are not those around the median of all.
            for _ in 0..2 {
                if (whole(&outcome) - 1.0).abs() < WHOLE {
                    break;
                }
                outcome = on_this_host(&params);
            }
            let whole = whole(&outcome);
            assert!((whole - 1.0).abs() < WHOLE, "{transport} {mode}: {whole} of the median");
            let stages = outcome.stages.expect("are set");
            let (recorded, matched) = (stages.recorded, stages.matched);
            assert!(
                matched > 5 && matched as f64 >= 0.99 * recorded as f64,
                "{transport} {mode}: {matched} of {recorded}"
            );
            let (band, _, n, unexplained) = &stages.bands[1];
            assert!(*band == Band::P50 && *unexplained < 0.05, "{n} messages, {unexplained}");
            let there = |name| stage(&stages, Band::P50, Direction::There, name);
            // Only a receiver that sleeps is woken.
            assert_eq!(there("wake-up") > 1e-7, mode == "blocking", "{transport} {mode}");
            assert!(there("driver and wire") > 0.0 && there("send: call and protocol") > 0.0);
        }
    }
}

#[test]
fn stages_are_refused_where_there_are_no_packets() {
    for (name, value) in [("transport", "shared"), ("size", "16 B")] {
        let params = Params::default().with("transport", "udp").with("stages", true).with(name, value);
        let fault = Spec::from_params(&params).expect_err("refused");
        assert!(fault.to_string().contains("`stages`") && fault.remedy.is_some(), "{fault}");
    }
}
