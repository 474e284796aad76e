//! Why one grouping is faster than another, by what was counted: one sentence.

use crosstalk_core::units::{digits, human};

use super::run_counts::RunCounts;

/// A change by less than this share is none.
const CHANGED: f64 = 0.1;
/// Seconds of one cause explain a part of the time if they are this share of its change.
const EXPLAINS: f64 = 0.25;

/// The sentence on why a user takes another time in `to` than in `from`; `None` if nothing that was counted changed
/// with it.
pub fn why(from: &RunCounts, to: &RunCounts) -> Option<String> {
    let is_less = to.time < from.time;
    let saved =
        |part: fn(&RunCounts) -> f64| if is_less { part(from) - part(to) } else { part(to) - part(from) };
    let parts: [(f64, &str, &[Cause]); 4] = [
        (saved(RunCounts::other_waiting), "waiting for anything but a processor", &[LOCKS, REFAULTS, READS]),
        (saved(|run| run.run_delay), "waiting for a processor", &[]),
        (
            saved(|run| run.cpu_system),
            "CPU time in the kernel (reclaim, locks)",
            &[LOCKS, RECLAIM_TIME, RECLAIM, REFAULTS],
        ),
        (saved(|run| run.cpu_user), "CPU time of the programs", &[]),
    ];
    let (seconds, what, causes) = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    if seconds <= 0.0 {
        return None;
    }
    let less = if is_less { "less" } else { "more" };
    let time = human(seconds, "s");
    let cause = causes.iter().find_map(|cause| cause.said(from, to, is_less, seconds));
    Some(match cause {
        Some(cause) => format!("a user spends {time} {less} {what}: {cause}"),
        None => format!("a user spends {time} {less} {what}"),
    })
}

/// Something counted that explains a time.
struct Cause {
    name: &'static str,
    unit: Unit,
    value: fn(&RunCounts) -> Option<f64>,
}

/// In what a cause is counted.
#[derive(PartialEq)]
enum Unit {
    Pages,
    Bytes,
    /// Seconds a user.
    Seconds,
}

const LOCKS: Cause = Cause {
    name: "a user's waiting for locks of the kernel",
    unit: Unit::Seconds,
    value: |run| run.lock_wait,
};
const RECLAIM_TIME: Cause =
    Cause { name: "the time of reclaim a user", unit: Unit::Seconds, value: |run| run.reclaim_time };
const REFAULTS: Cause = Cause { name: "refaults", unit: Unit::Pages, value: |run| run.refaults };
const RECLAIM: Cause = Cause { name: "reclaim", unit: Unit::Pages, value: |run| run.reclaimed };
const READS: Cause =
    Cause { name: "what they read from disks", unit: Unit::Bytes, value: |run| Some(run.read) };

impl Cause {
    /// What it says, if it changed in the same direction as the time, which changed by `seconds`.
    fn said(&self, from: &RunCounts, to: &RunCounts, is_less: bool, seconds: f64) -> Option<String> {
        let (from, to) = ((self.value)(from)?, (self.value)(to)?);
        let change = if is_less { from - to } else { to - from };
        let is_enough = self.unit != Unit::Seconds || change >= EXPLAINS * seconds;
        let size = |value| match self.unit {
            Unit::Bytes => human(value, "B"),
            Unit::Seconds => human(value, "s"),
            Unit::Pages => format!("{} pages", count(value)),
        };
        let fell = if is_less { "fell" } else { "rose" };
        (is_enough && change > CHANGED * from.max(to))
            .then(|| format!("{} {fell} from {} to {}", self.name, size(from), size(to)))
    }
}

/// A number of things, with three digits.
fn count(value: f64) -> String {
    match value {
        ..1e4 => format!("{value:.0}"),
        ..1e6 => format!("{} thousand", digits(value / 1e3)),
        _ => format!("{} million", digits(value / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(time: f64, cpu_system: f64, refaults: f64) -> RunCounts {
        RunCounts { time, cpu_system, refaults: Some(refaults), ..RunCounts::default() }
    }

    #[test]
    fn the_part_that_changed_most_is_named_with_its_cause() {
        let (plain, grouped) = (run(5.0, 0.1, 120_000.0), run(2.0, 0.1, 3_000.0));
        let said = why(&plain, &grouped).expect("is counted");
        assert_eq!(
            said,
            "a user spends 3.00 s less waiting for anything but a processor: refaults fell from 120 thousand pages to 3000 \
             pages"
        );
        let said = why(&grouped, &plain).expect("is counted");
        assert!(said.contains("3.00 s more") && said.contains("rose from 3000 pages"), "{said}");
    }

    #[test]
    fn a_cause_that_did_not_change_is_not_named() {
        let said = why(&run(5.0, 3.0, 100.0), &run(3.0, 1.0, 100.0)).expect("is counted");
        assert_eq!(said, "a user spends 2.00 s less CPU time in the kernel (reclaim, locks)");
        assert_eq!(why(&run(5.0, 0.0, 1.0), &run(5.0, 0.0, 1.0)), None);
    }

    #[test]
    fn locks_are_named_where_they_explain_a_good_part() {
        let run = |time, cpu_system, lock_wait| RunCounts {
            lock_wait: Some(lock_wait),
            ..run(time, cpu_system, 100.0)
        };
        let said = why(&run(5.0, 3.0, 2.0), &run(3.0, 1.0, 0.5)).expect("is counted");
        assert!(
            said.ends_with("a user's waiting for locks of the kernel fell from 2.00 s to 500 ms"),
            "{said}"
        );
        let said = why(&run(5.0, 3.0, 0.02), &run(3.0, 1.0, 0.01)).expect("is counted");
        assert!(!said.contains("locks of the kernel"), "10 ms do not explain 2 s: {said}");
        let said = why(&run(3.0, 1.0, 0.5), &run(5.0, 1.0, 2.0)).expect("is counted");
        assert!(
            said.contains("anything but a processor: a user's waiting for locks of the kernel rose"),
            "{said}"
        );
    }
}
