//! Pages that were not where work looked for them, on the whole machine (`/proc/vmstat`).

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Observer, Scope, Sink, AttachedObserver};
use std::fs;

/// Metric, the kernel's counters that make it up, what it means.
const COUNTERS: [(&str, &[&str]); 4] = [
    // Pages that had to be read.
    ("page_faults_major", &["pgmajfault"]),
    // Pages that had been displaced and were wanted again (mm/workingset.c).
    ("refaults_file", &["workingset_refault_file", "workingset_refault"]),
    ("refaults_anon", &["workingset_refault_anon"]),
    // Pages that were written to swap.
    ("swapped_out", &["pswpout"]),
];

/// The observer.
pub struct Faults;

impl Observer for Faults {
    fn name(&self) -> &'static str {
        "faults"
    }

    fn needs(&self) -> Vec<Need> {
        vec![match fs::metadata("/proc/vmstat") {
            Ok(_) => Need::found("page faults", "/proc/vmstat"),
            Err(_) => {
                Need::missing("page faults", "what memory does is not known", "mount -t proc proc /proc")
            }
        }]
    }

    fn scope(&self) -> Scope {
        Scope::Host
    }

    fn metrics(&self) -> Vec<Metric> {
        COUNTERS.iter().map(|(metric, _)| Metric::new(metric, "pages", Better::Lower)).collect()
    }

    fn attach(&self) -> Result<Box<dyn AttachedObserver>, Fault> {
        Ok(Box::new(Watching { before: read() }))
    }
}

struct Watching {
    before: [Option<u64>; COUNTERS.len()],
}

impl AttachedObserver for Watching {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        for ((counter, before), after) in COUNTERS.iter().zip(self.before).zip(read()) {
            if let (Some(before), Some(after)) = (before, after) {
                let pages = after.saturating_sub(before) as f64;
                out.take(Reading::value(counter.0, pages, Origin::Measured), 1)?;
            }
        }
        Ok(())
    }
}

fn read() -> [Option<u64>; COUNTERS.len()] {
    let told = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    COUNTERS.map(|(_, names)| names.iter().find_map(|name| counter(&told, name)))
}

fn counter(told: &str, name: &str) -> Option<u64> {
    let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    told.lines().find_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_known_by_its_whole_name() {
        let told = "workingset_refault_anon 3\nworkingset_refault_file 40\npgmajfault 7\n";
        assert_eq!(counter(told, "workingset_refault_file"), Some(40));
        assert_eq!((counter(told, "workingset_refault"), counter(told, "pgmajfault")), (None, Some(7)));
    }

    #[test]
    fn what_happened_meanwhile_is_told() {
        let mut told = Vec::new();
        Faults.attach().expect("attaches").detach(&mut told).expect("tells");
        assert!(told.iter().all(|reading| reading.number().is_some_and(|pages| pages >= 0.0)), "{told:?}");
        assert!(told.iter().any(|reading| reading.metric == "page_faults_major"), "{told:?}");
    }
}
