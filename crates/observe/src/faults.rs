//! Page faults: pages that were not in memory when work needed them, on the whole machine
//! (`/proc/vmstat`).

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{AttachedObserver, Observer, Scope, Sink};
use std::fs;

/// Each metric, and the names of its kernel counter, the newest first.
const COUNTERS: [(&str, &[&str]); 4] = [
    // Pages that were read from a disk.
    ("page_faults_major", &["pgmajfault"]),
    // Pages that were evicted and soon needed again (mm/workingset.c).
    ("refaults_file", &["workingset_refault_file", "workingset_refault"]),
    ("refaults_anon", &["workingset_refault_anon"]),
    // Pages that were written to swap.
    ("swapped_out", &["pswpout"]),
];

/// The observer of page faults on a node: how many pages, from attaching to detaching.
pub struct PageFaults;

impl Observer for PageFaults {
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
        Ok(Box::new(AttachedFaults { before: read() }))
    }
}

struct AttachedFaults {
    before: Counts,
}

/// One value per counter of [`COUNTERS`]; `None`: this kernel has no such counter.
type Counts = [Option<u64>; COUNTERS.len()];

impl AttachedObserver for AttachedFaults {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        readings(self.before, read()).into_iter().try_for_each(|reading| out.take(reading, 1))
    }
}

/// A reading per counter that both have: the pages in between.
fn readings(before: Counts, after: Counts) -> Vec<Reading> {
    let counters = COUNTERS.iter().zip(before).zip(after);
    let reading = |((counter, before), after): ((&(&str, _), Option<u64>), Option<u64>)| {
        let pages = after?.saturating_sub(before?) as f64;
        Some(Reading::value(counter.0, pages, Origin::Measured))
    };
    counters.filter_map(reading).collect()
}

fn read() -> Counts {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    COUNTERS.map(|(_, names)| names.iter().find_map(|name| counter(&vmstat, name)))
}

/// The counter of exactly this name in the text of `/proc/vmstat`.
fn counter(vmstat: &str, name: &str) -> Option<u64> {
    let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    vmstat.lines().find_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_known_by_its_whole_name() {
        let vmstat = "workingset_refault_anon 3\nworkingset_refault_file 40\npgmajfault 7\n";
        assert_eq!(counter(vmstat, "workingset_refault_file"), Some(40));
        assert_eq!((counter(vmstat, "workingset_refault"), counter(vmstat, "pgmajfault")), (None, Some(7)));
    }

    #[test]
    fn readings_are_differences_of_the_counters_that_exist() {
        let found = readings([Some(3), None, Some(10), Some(7)], [Some(8), Some(5), Some(10), None]);
        let found = found.iter().map(|reading| (reading.metric.as_str(), reading.number()));
        let expected = [("page_faults_major", Some(5.0)), ("refaults_anon", Some(0.0))];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn page_faults_while_it_is_attached_are_reported() {
        let mut readings = Vec::new();
        PageFaults.attach().expect("attaches").detach(&mut readings).expect("reports");
        assert!(readings.iter().any(|reading| reading.metric == "page_faults_major"), "{readings:?}");
    }
}
