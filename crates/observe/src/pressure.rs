//! Pressure: the share of time in which work waited for a resource, on the whole machine
//! (Documentation/accounting/psi.rst).

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{AttachedObserver, Observer, Scope, Sink};
use std::fs;
use std::time::{Duration, Instant};

/// Metric, file in `/proc/pressure`, and its line: `some` work waited, or all of it (`full`).
const LINES: [(&str, &str, &str); 5] = [
    ("pressure_cpu", "cpu", "some"),
    ("pressure_memory", "memory", "some"),
    ("pressure_memory_full", "memory", "full"),
    ("pressure_io", "io", "some"),
    ("pressure_io_full", "io", "full"),
];

/// The observer of pressure stall information: shares, from 0 to 1, of the time for which it is
/// attached.
pub struct Pressure;

impl Observer for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn needs(&self) -> Vec<Need> {
        vec![match read("cpu", "some") {
            Some(_) => Need::found("pressure", "/proc/pressure"),
            None => Need::missing(
                "pressure",
                "how much work waits for what is not known",
                "boot with psi=1 (Linux 4.20 or later with CONFIG_PSI)",
            ),
        }]
    }

    fn scope(&self) -> Scope {
        Scope::Host
    }

    fn metrics(&self) -> Vec<Metric> {
        LINES.iter().map(|(metric, ..)| Metric::new(metric, "%", Better::Lower)).collect()
    }

    fn attach(&self) -> Result<Box<dyn AttachedObserver>, Fault> {
        Ok(Box::new(AttachedPressure { began: Instant::now(), before: totals() }))
    }
}

struct AttachedPressure {
    began: Instant,
    before: Totals,
}

/// Microseconds per line of [`LINES`]; `None`: this kernel does not report it.
type Totals = [Option<u64>; LINES.len()];

impl AttachedObserver for AttachedPressure {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        let elapsed = self.began.elapsed();
        readings(self.before, totals(), elapsed).into_iter().try_for_each(|reading| out.take(reading, 1))
    }
}

/// A reading per line that both have: the share of `elapsed` in which work waited. The kernel's
/// totals lag by up to two seconds (`PSI_FREQ`), so that a short time could seem overfull: a
/// share is at most 1.
fn readings(before: Totals, after: Totals, elapsed: Duration) -> Vec<Reading> {
    let lines = LINES.iter().zip(before).zip(after);
    let reading = |((line, before), after): ((&(&str, _, _), Option<u64>), Option<u64>)| {
        let waited = after?.saturating_sub(before?) as f64 * 1e-6;
        let share = (waited / elapsed.as_secs_f64()).min(1.0);
        Some(Reading::value(line.0, share, Origin::Measured))
    };
    lines.filter_map(reading).collect()
}

fn totals() -> Totals {
    LINES.map(|(_, file, line)| read(file, line))
}

fn read(file: &str, line: &str) -> Option<u64> {
    total(&fs::read_to_string(format!("/proc/pressure/{file}")).ok()?, line)
}

/// Microseconds for which work has waited: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn total(pressure: &str, line: &str) -> Option<u64> {
    let words = pressure.lines().find_map(|found| found.strip_prefix(line))?;
    words.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_found_by_its_line() {
        let pressure = "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!((total(pressure, "some"), total(pressure, "full")), (Some(4711), Some(12)));
        assert_eq!((total("some avg10=1\n", "some"), total("", "full")), (None, None));
    }

    fn shares(before: Totals, after: Totals, elapsed: Duration) -> Vec<(String, Option<f64>)> {
        let readings = readings(before, after, elapsed);
        readings.into_iter().map(|reading| (reading.metric.clone(), reading.number())).collect()
    }

    #[test]
    fn readings_are_shares_of_the_time_while_it_was_attached() {
        let before = [Some(100), Some(0), None, Some(40), Some(7)];
        let after = [Some(500_100), Some(2_000_000), Some(9), Some(40), None];
        let found = shares(before, after, Duration::from_secs(2));
        let expected = [("pressure_cpu", 0.25), ("pressure_memory", 1.0), ("pressure_io", 0.0)];
        assert_eq!(found, expected.map(|(metric, share)| (metric.to_string(), Some(share))));
    }

    #[test]
    fn a_share_is_between_nothing_and_all_of_the_time() {
        let (late, reset) = (Some(3_000_000), Some(5));
        let found = shares([Some(0), Some(10), None, None, None], [late, reset, None, None, None], SECOND);
        assert_eq!(found.iter().map(|(_, share)| *share).collect::<Vec<_>>(), [Some(1.0), Some(0.0)]);
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_line_that_this_kernel_reports_becomes_a_reading() {
        if !fs::exists("/proc/pressure/cpu").is_ok_and(|exists| exists) {
            eprintln!("skipped: this kernel has no /proc/pressure");
            return;
        }
        let mut readings = Vec::new();
        Pressure.attach().expect("attaches").detach(&mut readings).expect("reports");
        let reported = LINES.iter().filter(|(_, file, line)| read(file, line).is_some());
        let metrics: Vec<&str> = reported.map(|(metric, ..)| *metric).collect();
        let found: Vec<&str> = readings.iter().map(|reading| reading.metric.as_str()).collect();
        assert!(metrics.contains(&"pressure_cpu") && found == metrics, "{readings:?}");
    }
}
