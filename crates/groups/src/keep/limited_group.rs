//! A group with a limit, of which this program and not the kernel ends something when its memory is full.
//!
//! It is full when what cannot be taken from it comes near to its limit. It is looked at again before it can be full. Programs
//! that are faster all the same are held up:
//!
//! | | by |
//! |---|---|
//! | v2 | `memory.high`: who needs memory is slowed down; if the kernel is faster all the same, it ends the group as a whole (`memory.oom.group`) |
//! | v1 | `memory.oom_control`: who needs memory waits; a system call that needs some fails (EFAULT, ENOMEM) |
//!
//! All is listed in the undo ledger with a lease.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`; `cgroup-v1/memory.rst` (OOM Control).

use std::fs;
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::reading::{keyed, takeable};
use crosstalk_cgroup::group::{Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;
use crosstalk_host::ledger::Knob;

use crate::name::GroupName;
use crate::numbers::limit;
use crate::standing::Standing;

/// So small a part of the limit is kept free, within bounds in bytes. In v1 more, as system calls fail at the limit.
const V2: (u64, u64, u64) = (32, 2 << 20, 64 << 20);
const V1: (u64, u64, u64) = (16, 2 << 20, 256 << 20);
/// How fast a group may grow, in bytes a second: one processor fills huge pages at 10 GiB/s.
const GROWTH: f64 = (16_u64 << 30) as f64;
/// How long it is not looked at.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// No more than this part of a small group's limit is kept free.
const MOST: u64 = 4;
/// How long it may take until what an ended group had is free.
const SHRINKS: Duration = Duration::from_millis(500);

/// A group with a limit.
#[derive(Debug)]
pub struct LimitedGroup {
    /// Its name.
    pub name: GroupName,
    /// Its memory at most.
    pub limit: Bytes,
    /// When it is to be looked at again.
    pub due: Instant,
    group: Group,
    /// What it has when it is full, file pages not counted.
    threshold: u64,
    /// Something in it is ending since then.
    shrinking: Option<Instant>,
    settings: Vec<TemporarySetting>,
}

/// A file that is set while the evictor runs.
#[derive(Debug)]
struct TemporarySetting {
    knob: Knob,
    value: String,
}

impl LimitedGroup {
    /// Holds up programs in this group. `is_leaf`: it holds no groups. `None` without a limit.
    ///
    /// # Errors
    /// If this user may not.
    pub fn take(one: &Standing, is_leaf: bool, ledger: &Ledger) -> Result<Option<LimitedGroup>, Fault> {
        let Some(limit) = limit(&one.group) else { return Ok(None) };
        let what = "what the kernel does when memory is full";
        let mut settings = Vec::new();
        let mut set = |knob: Knob, value: String| {
            settings.push(TemporarySetting { knob: knob.leased(), value });
        };
        if let Some(file) = one.group.place(&Setting::MemoryHigh(None)) {
            let knob = ledger.knob(&file, what)?;
            let value = high(knob.original(), threshold(limit, V2));
            set(knob, value.to_string());
        }
        if let Some(file) = one.group.place(&Setting::EndWhole(true)).filter(|_| is_leaf) {
            set(ledger.knob(&file, what)?, "1".into());
        }
        let control = one.group.file(&[OOM_CONTROL]);
        let margin = if control.is_some() { V1 } else { V2 };
        if let Some(file) = control {
            set(ledger.knob_with_undo(&file, "0", what), "1".into());
        }
        let mut limited = LimitedGroup {
            name: one.name.clone(),
            limit,
            due: Instant::now(),
            group: one.group.clone(),
            shrinking: None,
            threshold: threshold(limit, margin),
            settings,
        };
        limited.renew()?;
        Ok(Some(limited))
    }

    /// Sets again what has been set back meanwhile.
    ///
    /// # Errors
    /// If the group is gone, or this user may not.
    pub fn renew(&mut self) -> Result<(), Fault> {
        self.settings.iter_mut().try_for_each(|setting| setting.knob.set(&setting.value))
    }

    /// Something in it has been ended: it is full again if it is still so after a while, or if it goes on growing.
    pub fn shrinks(&mut self) {
        self.shrinking = Some(Instant::now());
    }

    /// Whether its memory is full, if it is due. What groups in it have that are ending counts as free: `freeing` sums
    /// that up.
    pub fn is_full(&mut self, freeing: impl Fn(&GroupName) -> Bytes) -> bool {
        let now = Instant::now();
        if now < self.due {
            return false;
        }
        let threshold = match self.shrinking.filter(|since| since.elapsed() < SHRINKS) {
            Some(_) => self.threshold.midpoint(self.limit.0),
            None => self.threshold,
        };
        let mut used = self.group.charged().map_or(0, |bytes| bytes.0);
        if used >= threshold {
            let freeing = freeing(&self.name).0;
            // Those within a full group of v1 are waited for, too: so it must have what it may have.
            let control = self.group.file(&[OOM_CONTROL]).and_then(|file| fs::read_to_string(file).ok());
            let waits = control.is_some_and(|text| keyed(&text, "under_oom") == Some(1));
            if waits
                && freeing == 0
                && !self.settings.is_empty()
                && self.shrinking.is_none_or(|since| since.elapsed() >= SHRINKS)
            {
                return true;
            }
            used = kept(&self.group).0.saturating_sub(freeing);
        }
        if used < self.threshold {
            self.shrinking = None;
        }
        self.due = now + pause(threshold.saturating_sub(used));
        used >= threshold
    }
}

const OOM_CONTROL: (&str, &str) = ("memory", "memory.oom_control");

/// How long a group takes at least to grow by so many bytes.
fn pause(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / GROWTH).clamp(PAUSES.0, PAUSES.1)
}

fn threshold(limit: Bytes, (part, least, most): (u64, u64, u64)) -> u64 {
    limit.0.saturating_sub((limit.0 / part).clamp(least, most).min(limit.0 / MOST))
}

/// `memory.high` while it is held: what it was if that is less, else the threshold. It has `max` for none.
fn high(original: &str, threshold: u64) -> u64 {
    original.trim().parse().map_or(threshold, |original: u64| original.min(threshold))
}

/// Memory that the kernel cannot take from a group.
pub fn kept(group: &Group) -> Bytes {
    let stat = group.file(&[("memory", "memory.stat"), ("", "memory.stat")]);
    let stat = stat.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let charged = group.charged().map_or(0, |bytes| bytes.0);
    Bytes(charged.saturating_sub(takeable(&stat, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_group_is_looked_at_before_it_can_be_full() {
        assert_eq!(pause(0), PAUSES.0);
        assert_eq!(pause(160 * MIB).as_millis(), 9);
        assert_eq!(pause(1 << 40), PAUSES.1);
    }

    #[test]
    fn little_is_kept_free() {
        let free = |mib: u64, margin| (mib * MIB - threshold(Bytes(mib * MIB), margin)) / MIB;
        assert_eq!([16, 256, 1024, 1 << 20].map(|mib| free(mib, V2)), [2, 8, 32, 64]);
        assert_eq!([16, 256, 1024, 1 << 20].map(|mib| free(mib, V1)), [2, 16, 64, 256]);
        for margin in [V1, V2] {
            assert_eq!([4, 8].map(|mib| free(mib, margin)), [1, 2]);
            assert_eq!(threshold(Bytes(MIB), margin), MIB * 3 / 4);
        }
    }

    #[test]
    fn a_lower_bound_that_somebody_set_stays() {
        assert_eq!(["max\n", "700", "20\n"].map(|original| high(original, 50)), [50, 50, 20]);
    }
}
