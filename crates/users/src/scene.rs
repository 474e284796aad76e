//! The control groups of an attempt: one parent, "the machine", and the users' groups below it.
//!
//! The parent's limits make memory scarce and keep the host healthy. Below it users are apart in the
//! controllers that the isolation names, and together in the others.

use std::path::Path;

use crosstalk_cgroup::exec::STUDY;
use crosstalk_cgroup::group::{Group, OwnGroup, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;
use crosstalk_host::disk::disk_of;

use crate::isolation::{Isolation, Memory};

/// The machine that users share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Its memory; the host's by default.
    pub memory: Option<Bytes>,
    /// Bytes that it reads a second from its disk at most; as many as that can by default.
    pub read_rate: Option<Bytes>,
}

/// The groups of an attempt. Dropping them ends what is in them, and removes them.
#[derive(Debug)]
pub struct Scene {
    machine: OwnGroup,
    /// One for each group of users: the same several times where users are together.
    places: Vec<Group>,
}

impl Scene {
    /// Makes the groups: one for each of `shares`, the groups' shares of all users. The users' files are in
    /// `folder`.
    ///
    /// # Errors
    /// If a controller or a setting is missing, or the kernel refuses; nothing is left then.
    pub fn new(
        machine: &Machine,
        isolation: &Isolation,
        shares: &[f64],
        folder: &Path,
        ledger: &Ledger,
    ) -> Result<Scene, Fault> {
        let own = OwnGroup::new(&format!("{STUDY}-users"), ledger)?;
        if let Some(memory) = machine.memory {
            own.group().set(&Setting::MemoryMax(Some(memory)))?;
        }
        if let Some(rate) = machine.read_rate {
            own.group().set(&Setting::ReadRate { disk: disk_of(folder)?, rate: Some(rate) })?;
        }
        let apart = controllers(isolation);
        let place = |at: usize| match apart[..] {
            // All users together are one group, too: no arm has a level more than another.
            [] => own.child("all", &["memory"]),
            _ => own.child(&format!("group-{at}"), &apart),
        };
        let places = (0..shares.len()).map(place).collect::<Result<Vec<_>, _>>()?;
        let setting: Option<fn(Bytes) -> Setting> = match isolation.memory {
            Memory::Shared | Memory::Own => None,
            Memory::Limited => Some(|share| Setting::MemoryMax(Some(share))),
            Memory::Protected => Some(|share| Setting::MemoryLow(Some(share))),
        };
        if let (Some(setting), Some(memory)) = (setting, machine.memory) {
            for (place, share) in places.iter().zip(shares) {
                place.set(&setting(Bytes((memory.0 as f64 * share) as u64)))?;
            }
        }
        Ok(Scene { machine: own, places })
    }

    /// The groups of users, in order.
    pub fn places(&self) -> &[Group] {
        &self.places
    }

    /// Ends what is in the groups, and removes them.
    ///
    /// # Errors
    /// If something resists; it stays in the ledger.
    pub fn remove(self) -> Result<(), Fault> {
        self.machine.remove()
    }
}

/// The controllers in which groups of users are apart.
fn controllers(isolation: &Isolation) -> Vec<&'static str> {
    let memory = (isolation.memory != Memory::Shared).then_some("memory");
    let cpu = isolation.cpu.then_some("cpu");
    memory.into_iter().chain(cpu).collect()
}
