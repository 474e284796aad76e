//! Pressure: how much of the time work waited for a resource (Documentation/accounting/psi.rst),
//! on the whole machine.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Observer, Scope, Sink, AttachedObserver};
use std::fs;
use std::time::Instant;

/// Metric, file, and the line of it: `some` work waited, or all of it (`full`).
const LINES: [(&str, &str, &str); 5] = [
    ("pressure_cpu", "cpu", "some"),
    ("pressure_memory", "memory", "some"),
    ("pressure_memory_full", "memory", "full"),
    ("pressure_io", "io", "some"),
    ("pressure_io_full", "io", "full"),
];

/// The observer: shares of the time for which it watches.
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
        Ok(Box::new(Watching { began: Instant::now(), before: totals() }))
    }
}

struct Watching {
    began: Instant,
    before: [Option<u64>; LINES.len()],
}

impl AttachedObserver for Watching {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        let microseconds = self.began.elapsed().as_secs_f64() * 1e6;
        for ((line, before), after) in LINES.iter().zip(self.before).zip(totals()) {
            // A kernel that does not tell has no such reading.
            if let (Some(before), Some(after)) = (before, after) {
                let share = after.saturating_sub(before) as f64 / microseconds;
                out.take(Reading::value(line.0, share.min(1.0), Origin::Measured), 1)?;
            }
        }
        Ok(())
    }
}

fn totals() -> [Option<u64>; LINES.len()] {
    LINES.map(|(_, file, line)| read(file, line))
}

fn read(file: &str, line: &str) -> Option<u64> {
    total(&fs::read_to_string(format!("/proc/pressure/{file}")).ok()?, line)
}

/// Microseconds for which work has waited: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn total(told: &str, line: &str) -> Option<u64> {
    let words = told.lines().find_map(|found| found.strip_prefix(line))?;
    words.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_told_by_their_line() {
        let told = "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!((total(told, "some"), total(told, "full")), (Some(4711), Some(12)));
        assert_eq!((total("some avg10=1\n", "some"), total("", "full")), (None, None));
    }

    #[test]
    fn shares_are_of_the_time_that_was_watched() {
        let mut told = Vec::new();
        Pressure.attach().expect("attaches").detach(&mut told).expect("tells");
        if told.is_empty() {
            eprintln!("skipped: this kernel has no /proc/pressure");
            return;
        }
        assert!(
            told.iter().all(|reading| reading.number().is_some_and(|share| (0.0..=1.0).contains(&share))),
            "{told:?}"
        );
    }
}
