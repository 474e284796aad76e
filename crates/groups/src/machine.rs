//! What the machine has for all groups together, and requests that are more than that.

use std::fs;
use std::path::PathBuf;

use crosstalk_cgroup::group::reading::keyed;
use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_host::cpu::parse_list;

use crate::profile::Profile;

/// What all groups together can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Memory: the machine's, or what a control group that they stand in has.
    pub memory: Bytes,
    /// A control group that they stand in, and whose limit, or one above it, is less than the machine's memory.
    pub within: Option<PathBuf>,
    /// Processors that are online.
    pub processors: usize,
}

impl Machine {
    /// This one, where `limit` holds for a control group.
    pub fn here(limit: Option<(Bytes, PathBuf)>) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let total =
            keyed(&read("/proc/meminfo"), "MemTotal").map_or(u64::MAX, |kib| kib.saturating_mul(1024));
        let online = parse_list(&read("/sys/devices/system/cpu/online")).len();
        let machine = Machine {
            memory: Bytes(total),
            within: None,
            processors: if online == 0 { usize::MAX } else { online },
        };
        machine.limited(limit)
    }

    fn limited(self, limit: Option<(Bytes, PathBuf)>) -> Machine {
        match limit.filter(|(limit, _)| limit.0 < self.memory.0) {
            Some((limit, within)) => Machine { memory: limit, within: Some(within), ..self },
            None => self,
        }
    }

    /// How much memory there is, for people.
    pub fn memory_text(&self) -> String {
        let size = human(self.memory.0 as f64, "B");
        match self.within {
            Some(_) => format!("all groups together have {size}"),
            None => format!("this machine has {size}"),
        }
    }

    /// The limit of a control group that holds for all groups together, in a line.
    pub fn note(&self) -> Option<String> {
        let within = self.within.as_ref()?;
        Some(format!("{}, by the limit of {} or one above it", self.memory_text(), within.display()))
    }

    /// What of a profile is more than the machine has and does nothing, in a line each.
    ///
    /// # Errors
    /// A usage fault if it guarantees more processors than there are. Of memory see
    /// [`protections`](crate::budget::protections).
    pub fn check(&self, profile: &Profile) -> Result<Vec<String>, Fault> {
        let mut notes = Vec::new();
        if let Some(limit) = profile.limit().filter(|limit| limit.0 > self.memory.0) {
            let limit = human(limit.0 as f64, "B");
            notes.push(format!("{}: a memory limit of {limit} never binds", self.memory_text()));
        }
        if let Some(cpus) = profile.cpus().filter(|cpus| *cpus > self.processors as f64) {
            let has = match self.processors {
                1 => "this machine has 1 processor".into(),
                more => format!("this machine has {more} processors"),
            };
            if matches!(profile, Profile::Guaranteed { .. }) {
                return Err(Fault::usage(format!("{cpus} processors cannot be guaranteed: {has}"))
                    .at("--cpus")
                    .remedy("guarantee fewer, or use --profile burstable, whose --cpus are a share"));
            }
            notes.push(format!("{has}: --cpus {cpus} is only a share beside other groups"));
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn machine() -> Machine {
        Machine { memory: Bytes(24 * GIB), within: None, processors: 2 }
    }

    #[test]
    fn a_limit_above_the_machine_is_noted() {
        let limited = |gib| Profile::BestEffort { limit: Some(Bytes(gib * GIB)) };
        assert_eq!(machine().check(&limited(24)), Ok(vec![]));
        let notes = machine().check(&limited(900)).expect("is allowed");
        assert_eq!(notes, ["this machine has 24 GiB: a memory limit of 900 GiB never binds"]);
    }

    #[test]
    fn more_processors_than_there_are_are_a_share_and_no_guarantee() {
        let (cpus, memory) = (Some(64.0), Bytes(GIB));
        let notes =
            machine().check(&Profile::Burstable { memory: None, limit: None, cpus }).expect("is allowed");
        assert_eq!(notes, ["this machine has 2 processors: --cpus 64 is only a share beside other groups"]);
        let fault = machine().check(&Profile::Guaranteed { memory, cpus }).expect_err("cannot be met");
        assert_eq!(fault.place.as_deref(), Some("--cpus"));
        assert!(machine().check(&Profile::Guaranteed { memory, cpus: Some(2.0) }).is_ok());
    }

    #[test]
    fn a_limit_of_a_control_group_is_named() {
        let within = |gib| machine().limited(Some((Bytes(gib * GIB), "/c/memory/x".into())));
        assert_eq!(
            within(4).note().as_deref(),
            Some("all groups together have 4 GiB, by the limit of /c/memory/x or one above it")
        );
        assert_eq!(within(24), machine(), "it never binds");
        assert_eq!(machine().note(), None);
        assert_eq!(Machine::here(None).within, None);
    }
}
