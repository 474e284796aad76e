//! The probes' clock: `CLOCK_MONOTONIC` in whole nanoseconds (clock_gettime(2)),
//! read through the vDSO, without a system call.

use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// Nanoseconds since an arbitrary time of this host.
#[inline]
pub fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The name of this clock. Client and server may subtract each other's times only if their names are
/// the same. The boot (random_boot_id, proc_sys_kernel(5)) differs between hosts, the time namespace
/// (time_namespaces(7)) between offsets. `None` if the kernel does not report it.
pub fn clock_identity() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = match fs::read_link("/proc/self/ns/time") {
        Ok(link) => link.to_string_lossy().into_owned(),
        // Before Linux 5.6 there was one for all.
        Err(_) => "time:[0]".to_string(),
    };
    Some(format!("{} {namespace}", boot.trim()))
}

/// Whether the clock with the peer's name is this one.
pub fn is_shared(theirs: &Option<String>) -> bool {
    theirs.is_some() && *theirs == clock_identity()
}

/// What it costs to time one message: two reads of the clock and a store, in
/// seconds. The median of batches, so that an interruption does not count.
pub fn timing_overhead() -> f64 {
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
    use std::time::Instant;

    #[test]
    fn it_agrees_with_the_standard_clock() {
        let before = Instant::now();
        let (a, b) = (now(), Instant::now());
        // Both are CLOCK_MONOTONIC: what one reads between two reads of the other lies between them.
        let inner = now() - a;
        let outer = b.elapsed().as_nanos() as u64;
        let (c, begin) = (now(), before.elapsed().as_nanos() as u64);
        assert!(inner <= begin, "{inner} ns within {begin} ns");
        assert!(outer <= c - a, "{outer} ns within {} ns", c - a);
    }

    #[test]
    fn timing_a_message_takes_time() {
        assert!(timing_overhead() > 0.0);
    }

    #[test]
    fn a_host_shares_its_clock_with_itself_only() {
        assert!(is_shared(&clock_identity()));
        assert!(!is_shared(&None) && !is_shared(&Some("another boot time:[1]".into())));
    }
}
