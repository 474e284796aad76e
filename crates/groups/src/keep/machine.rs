//! Whether the machine's memory is full: by what the kernel estimates to be available without swapping, as earlyoom and
//! Kubernetes' eviction do.
//!
//! Source: proc_meminfo(5).

use std::fs;
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::reading::keyed;
use crosstalk_core::units::Bytes;

/// How long what an ended group had may take to be available.
const SETTLES: Duration = Duration::from_secs(1);

/// The machine's memory.
#[derive(Debug)]
pub struct Machine {
    available: f64,
    /// Until when it is not looked at.
    quiet: Option<Instant>,
}

impl Machine {
    /// One that is full when less than this share of its memory is available, and of its swap is free.
    pub fn new(available: f64) -> Self {
        Machine { available, quiet: None }
    }

    /// Does not look at it for a time.
    pub fn leave(&mut self, time: Duration) {
        self.quiet = Some(Instant::now() + time);
    }

    /// All of its memory, if that is full. Not said again within a second. What is `freeing` counts as available.
    pub fn full(&mut self, freeing: Bytes) -> Option<Bytes> {
        if self.quiet.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
        let full = is_full(&meminfo, self.available, freeing)?;
        self.leave(SETTLES);
        Some(full)
    }
}

fn is_full(meminfo: &str, share: f64, freeing: Bytes) -> Option<Bytes> {
    let kib = |key| keyed(meminfo, key);
    let is_short = |free: u64, all: u64| (free as f64) < share * all as f64;
    let all = kib("MemTotal")?;
    let swap = kib("SwapTotal").unwrap_or(0);
    let available = kib("MemAvailable")?.saturating_add(freeing.0 / 1024);
    let is_full = is_short(available, all) && (swap == 0 || is_short(kib("SwapFree")?, swap));
    is_full.then(|| Bytes(all.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_full_when_little_is_available_and_swap_is_full_too() {
        let of = |available, swap, free| {
            let text = format!(
                "MemTotal: 1000 kB\nMemAvailable: {available} kB\nSwapTotal: {swap} kB\nSwapFree: {free} kB\n"
            );
            is_full(&text, 0.05, Bytes(0))
        };
        assert_eq!(of(49, 0, 0), Some(Bytes(1_024_000)));
        assert_eq!((of(50, 0, 0), of(49, 100, 60), is_full("", 0.05, Bytes(0))), (None, None, None));
        let text = "MemTotal: 1000 kB\nMemAvailable: 40 kB\n";
        assert!(is_full(text, 0.05, Bytes(9 << 10)).is_some(), "9 KiB are being freed");
        assert_eq!(is_full(text, 0.05, Bytes(10 << 10)), None);
        assert!(of(49, 100, 4).is_some());
    }
}
