//! Whether the machine's memory is full: by what the kernel estimates to be available without swapping, as earlyoom and
//! Kubernetes' eviction do.
//!
//! Source: proc_meminfo(5).

use std::fs;
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::reading::keyed;
use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};

use super::event::FullMemory;

/// How long what an ended group had may take to be available.
const SETTLES: Duration = Duration::from_secs(1);
/// The largest share: a machine in good use has less than half of its memory available.
const MOST: f64 = 0.5;
/// Up to this share memory is short indeed: then groups are ended from the beginning on, also by a service that is
/// started again.
const SHORT: f64 = 0.1;

/// The share of the machine's memory below which it counts as full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AvailableShare(f64);

impl AvailableShare {
    /// One that is not below it already.
    ///
    /// # Errors
    /// A usage fault if it is more than half, or more than a tenth and the machine has less available now.
    pub fn new(share: f64) -> Result<Self, Fault> {
        Self::checked(share, &fs::read_to_string("/proc/meminfo").unwrap_or_default())
    }

    /// The ratio.
    pub fn ratio(self) -> f64 {
        self.0
    }

    fn checked(share: f64, meminfo: &str) -> Result<Self, Fault> {
        if !(0.0..=MOST).contains(&share) {
            let found = format!("expected 0 % to {} %, found {} %", MOST * 100.0, share * 100.0);
            return Err(Fault::usage(format!("{found}: a machine in good use has less than half available"))
                .remedy("write for example '5 %'"));
        }
        let available = AvailableShare(share);
        match full(meminfo, available, Bytes(0)).filter(|_| share > SHORT) {
            Some(FullMemory { available: Some(least), .. }) => {
                let now = Bytes(keyed(meminfo, "MemAvailable").unwrap_or(0).saturating_mul(1024));
                let [now, least] = [now, least].map(|bytes| human(bytes.0 as f64, "B"));
                Err(Fault::usage(format!(
                    "{now} are available now, less than the {least} asked for: groups would be ended at once"
                ))
                .remedy(format!("choose a smaller share; up to {} % it begins all the same", SHORT * 100.0)))
            }
            _ => Ok(available),
        }
    }
}

/// The machine's memory.
#[derive(Debug)]
pub struct Machine {
    available: AvailableShare,
    /// Until when it is not looked at.
    quiet: Option<Instant>,
}

impl Machine {
    /// One that is full when less than this share of its memory is available, and of its swap is free.
    pub fn new(available: AvailableShare) -> Self {
        Machine { available, quiet: None }
    }

    /// Does not look at it for a time.
    pub fn leave(&mut self, time: Duration) {
        self.quiet = Some(Instant::now() + time);
    }

    /// Its memory, if that is full. Not said again within a second. What is `freeing` counts as available.
    pub fn full(&mut self, freeing: Bytes) -> Option<FullMemory> {
        if self.quiet.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let full = full(&fs::read_to_string("/proc/meminfo").ok()?, self.available, freeing)?;
        self.leave(SETTLES);
        Some(full)
    }
}

fn full(meminfo: &str, share: AvailableShare, freeing: Bytes) -> Option<FullMemory> {
    let kib = |key| keyed(meminfo, key);
    let least = |all: u64| share.0 * all as f64;
    let all = kib("MemTotal")?;
    let swap = kib("SwapTotal").unwrap_or(0);
    let available = kib("MemAvailable")?.saturating_add(freeing.0 / 1024);
    let is_full = (available as f64) < least(all) && (swap == 0 || (kib("SwapFree")? as f64) < least(swap));
    let bytes = |kib: u64| Bytes(kib.saturating_mul(1024));
    is_full.then(|| FullMemory { of: None, limit: bytes(all), available: Some(bytes(least(all) as u64)) })
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
            full(&text, AvailableShare(0.05), Bytes(0))
        };
        let full_machine = FullMemory { of: None, limit: Bytes(1_024_000), available: Some(Bytes(51_200)) };
        assert_eq!(of(49, 0, 0), Some(full_machine));
        let unknown = full("", AvailableShare(0.05), Bytes(0));
        assert_eq!((of(50, 0, 0), of(49, 100, 60), unknown), (None, None, None));
        let text = "MemTotal: 1000 kB\nMemAvailable: 40 kB\n";
        assert!(full(text, AvailableShare(0.05), Bytes(9 << 10)).is_some(), "9 KiB are being freed");
        assert_eq!(full(text, AvailableShare(0.05), Bytes(10 << 10)), None);
        assert!(of(49, 100, 4).is_some());
    }

    #[test]
    fn a_share_that_is_not_there_from_the_beginning_is_refused() {
        let of = |share, available| {
            let text = format!("MemTotal: 1000 kB\nMemAvailable: {available} kB\n");
            AvailableShare::checked(share, &text).map_err(|fault| fault.message)
        };
        for share in [1.01, 1.0, 0.51, 1e4, f64::NAN, -0.1] {
            assert!(of(share, 900).is_err_and(|said| said.starts_with("expected 0 % to 50 %")), "{share}");
        }
        let said = of(0.5, 499).expect_err("groups would be ended");
        assert_eq!(
            said,
            "499 KiB are available now, less than the 500 KiB asked for: groups would be ended at once"
        );
        assert!(of(0.5, 500).is_ok() && of(0.0, 0).is_ok());
        assert!(of(0.1, 99).is_ok(), "memory is short indeed");
    }
}
