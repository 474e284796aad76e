//! Why one grouping is faster than another, by what was counted: one sentence.

use crosstalk_core::units::{digits, human};

use super::counted::Counted;

/// A change by less than this share is none.
const CHANGED: f64 = 0.1;

/// The sentence on why a user takes another time in `to` than in `from`; `None` where nothing that was counted changed
/// with it.
pub fn why(from: &Counted, to: &Counted) -> Option<String> {
    let is_less = to.time < from.time;
    let saved =
        |part: fn(&Counted) -> f64| if is_less { part(from) - part(to) } else { part(to) - part(from) };
    let parts: [(f64, &str, &[Cause]); 4] = [
        (saved(Counted::other_waiting), "waiting for anything but a processor", &[REFAULTS, READS]),
        (saved(|run| run.run_delay), "waiting for a processor", &[]),
        (saved(|run| run.cpu_system), "CPU time in the kernel (reclaim, locks)", &[RECLAIM, REFAULTS]),
        (saved(|run| run.cpu_user), "CPU time of the programs", &[]),
    ];
    let (seconds, what, causes) = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    if seconds <= 0.0 {
        return None;
    }
    let (less, fell) = if is_less { ("less", "fell") } else { ("more", "rose") };
    let time = human(seconds, "s");
    let cause = causes.iter().find_map(|cause| cause.said(from, to, is_less, fell));
    Some(match cause {
        Some(cause) => format!("a user spends {time} {less} {what}: {cause}"),
        None => format!("a user spends {time} {less} {what}"),
    })
}

/// Something counted that explains a time.
struct Cause {
    name: &'static str,
    unit: &'static str,
    value: fn(&Counted) -> Option<f64>,
}

const REFAULTS: Cause = Cause { name: "refaults", unit: "pages", value: |run| run.refaults };
const RECLAIM: Cause = Cause { name: "reclaim", unit: "pages", value: |run| run.reclaimed };
const READS: Cause = Cause { name: "what they read from disks", unit: "B", value: |run| Some(run.read) };

impl Cause {
    /// What it says, if it changed in the same direction as the time.
    fn said(&self, from: &Counted, to: &Counted, is_less: bool, fell: &str) -> Option<String> {
        let (from, to) = ((self.value)(from)?, (self.value)(to)?);
        let change = if is_less { from - to } else { to - from };
        let size = |value| {
            if self.unit == "B" { human(value, "B") } else { format!("{} {}", count(value), self.unit) }
        };
        (change > CHANGED * from.max(to))
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

    fn run(time: f64, cpu_system: f64, refaults: f64) -> Counted {
        Counted { time, cpu_system, refaults: Some(refaults), ..Counted::default() }
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
}
