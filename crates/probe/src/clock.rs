//! The probes' clock: `CLOCK_MONOTONIC` in whole nanoseconds (clock_gettime(2)),
//! read through the vDSO, without a system call.

use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// Nanoseconds since an arbitrary point of this host.
#[inline]
pub fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Names this clock: two ends may subtract each other's times only where both
/// answer the same. The boot (random_boot_id, proc_sys_kernel(5)) tells hosts
/// apart, the time namespace (time_namespaces(7)) tells offsets apart.
/// `None` where the kernel does not say.
pub fn identity() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = match fs::read_link("/proc/self/ns/time") {
        Ok(link) => link.to_string_lossy().into_owned(),
        // Before Linux 5.6 there was one for all.
        Err(_) => "time:[0]".to_string(),
    };
    Some(format!("{} {namespace}", boot.trim()))
}

/// Whether the other end's clock, by its name, is this one.
pub fn is_shared(theirs: &Option<String>) -> bool {
    theirs.is_some() && *theirs == identity()
}

/// What it costs to time one message: two reads of the clock and a store, in
/// seconds. The median of batches, so that an interruption does not count.
pub fn overhead() -> f64 {
    const BATCHES: usize = 31;
    const BATCH: usize = 500;
    let mut slots = vec![0u64; BATCH];
    let mut costs: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let begin = now();
            for slot in &mut slots {
                let sent = now();
                *slot = now().wrapping_sub(sent);
            }
            std::hint::black_box(&slots);
            now() - begin
        })
        .collect();
    costs.sort_unstable();
    costs[BATCHES / 2] as f64 / BATCH as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_agrees_with_the_standard_clock() {
        let (a, b) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (ours, theirs) = (now() - a, b.elapsed().as_nanos() as u64);
        assert!(ours.abs_diff(theirs) < 5_000_000, "{ours} against {theirs} ns");
    }

    #[test]
    fn timing_a_message_costs_less_than_a_microsecond_or_two() {
        let cost = overhead();
        assert!(cost > 0.0 && cost < 5e-6, "{cost} s");
    }

    #[test]
    fn a_host_shares_its_clock_with_itself() {
        assert_eq!(identity(), identity());
    }
}
