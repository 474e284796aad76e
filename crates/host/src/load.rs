//! The load by other programs: ticks in which processors were not idle, from `/proc/stat` (proc_stat(5)), over a
//! short time in which the caller sleeps.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::cpu;

/// The load by other programs from which on the user is warned before a measurement, as a share of the
/// processors.
pub const TOO_BUSY: f64 = 0.25;

/// The load of processors over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessorLoad {
    /// Ticks that were not idle, and all ticks.
    ticks: (u64, u64),
    /// The number of processors that this program may use.
    pub processors: usize,
}

impl ProcessorLoad {
    /// The share of the time in which they were not idle, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.ticks.1 == 0 { 0.0 } else { self.ticks.0 as f64 / self.ticks.1 as f64 }
    }
}

/// The load by others, over the time `over`, of the processors that this program may use. `None` if the kernel
/// does not report it.
pub fn busy(over: Duration) -> Option<ProcessorLoad> {
    let processors = cpu::allowed();
    let read = || Some(ticks(&fs::read_to_string("/proc/stat").ok()?, &processors));
    let before = read()?;
    thread::sleep(over);
    let after = read()?;
    let since = |after: u64, before: u64| after.saturating_sub(before);
    let ticks = (since(after.0, before.0), since(after.1, before.1));
    Some(ProcessorLoad { ticks, processors: processors.len() })
}

/// Ticks that were not idle, and all ticks, of these processors. A line is
/// `cpuN user nice system idle iowait irq softirq steal`; time of guests is part of `user`.
fn ticks(stat: &str, processors: &[usize]) -> (u64, u64) {
    let of = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let number: usize = words.next()?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        let idle = ticks.get(3)? + ticks.get(4).unwrap_or(&0);
        let all: u64 = ticks.iter().sum();
        processors.contains(&number).then_some((all - idle, all))
    };
    stat.lines().filter_map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_of_the_processors_that_may_be_used() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 5 5 70 10 0 0 0 0 0\ncpu1 1 0 0 99 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(ticks(stat, &[0]), (20, 100));
        assert_eq!(ticks(stat, &[0, 1]), (21, 200));
        assert_eq!(ProcessorLoad { ticks: ticks(stat, &[0]), processors: 1 }.share(), 0.2);
        assert_eq!(ProcessorLoad { ticks: (0, 0), processors: 1 }.share(), 0.0);
    }
}
