//! The control groups of an attempt: one parent, "the machine", and the users' groups below it.
//!
//! The parent's limits make memory scarce and keep the host healthy. Below it users are apart in the
//! controllers that the arrangement names, and together in the others.

use std::path::Path;

use crosstalk_cgroup::exec::STUDY;
use crosstalk_cgroup::group::{Group, OwnGroup, Setting};
use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::disk::disk_of;

use crate::arrangement::{Arrangement, UserGroup};
use crate::population::Machine;

/// The groups of an attempt. Dropping them ends what is in them, and removes them.
#[derive(Debug)]
pub struct Scene {
    machine: OwnGroup,
    /// One for each group of users: the same several times where users are together.
    places: Vec<Group>,
}

impl Scene {
    /// Makes the groups. The users' files are in `folder`.
    ///
    /// # Errors
    /// If a controller or a setting is missing, or the kernel refuses; nothing is left then.
    pub fn new(
        machine: &Machine,
        arrangement: &Arrangement,
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
        let place = |group: &UserGroup| match &arrangement.controllers[..] {
            // All users together are one group, too: no arm has a level more than another.
            [] => own.child("all", &["memory"]),
            apart => own.child(&group.name, apart),
        };
        let places = arrangement.groups.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        for (place, group) in places.iter().zip(&arrangement.groups) {
            group.settings.iter().try_for_each(|setting| place.set(setting))?;
        }
        Ok(Scene { machine: own, places })
    }

    /// The groups of users, in order.
    pub fn places(&self) -> &[Group] {
        &self.places
    }

    /// The group that they are in.
    pub fn machine(&self) -> &Group {
        self.machine.group()
    }

    /// Ends what is in the groups, and removes them.
    ///
    /// # Errors
    /// If something resists; it stays in the ledger.
    pub fn remove(self) -> Result<(), Fault> {
        // Pages that stay would be charged to a group that is gone, and serve later attempts for nothing.
        self.machine.group().reclaim();
        self.machine.remove()
    }
}
