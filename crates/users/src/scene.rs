//! The control groups of an attempt: one parent, "the machine", and the users' groups below it.
//!
//! The parent's limits make memory scarce and keep the host healthy. Below it users are apart in the
//! controllers that the arrangement names, and together in the others.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crosstalk_cgroup::exec::STUDY;
use crosstalk_cgroup::group::{Group, Hierarchy, OwnGroup, Setting, reading};
use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_host::disk::disk_of;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_work::peer::Deadline;

use crate::arrangement::{Arrangement, UserGroup};
use crate::docker::Docker;
use crate::drivers::VERB;
use crate::files::create;
use crate::isolation::View;
use crate::orders::Orders;
use crate::population::Machine;

/// The groups of an attempt. Dropping them ends what is in them, and removes them.
#[derive(Debug)]
pub struct Scene {
    // Dropped first: its containers are in the machine.
    places: Places,
    machine: OwnGroup,
}

/// Where groups of users are.
#[derive(Debug)]
enum Places {
    /// One for each group of users: the same several times where users are together.
    Groups(Vec<Group>),
    /// In as many containers.
    Containers(Box<Docker>, usize),
}

impl Scene {
    /// Makes the groups. The users' files are in `folder`, and those of Docker.
    ///
    /// # Errors
    /// If a controller or a setting is missing, the kernel refuses, or Docker does not start; nothing is left then.
    pub fn new(
        machine: &Machine,
        arrangement: &Arrangement,
        folder: &Path,
        ledger: &Ledger,
        until: &Deadline,
    ) -> Result<Scene, Fault> {
        let own = OwnGroup::new(&format!("{STUDY}-users"), ledger)?;
        if let Some(memory) = machine.memory {
            own.group().set(&Setting::MemoryMax(Some(memory)))?;
        }
        if let Some(rate) = machine.read_rate {
            own.group().set(&Setting::ReadRate { disk: disk_of(folder)?, rate: Some(rate) })?;
        }
        let groups = &arrangement.groups;
        if groups.iter().flat_map(|group| &group.settings).any(|set| matches!(set, Setting::MemoryLow(_))) {
            // A group protects no more than the group above it (cgroup-v2.rst).
            own.group().set(&Setting::MemoryLow(machine.memory))?;
        }
        if arrangement.view == View::Docker {
            let files = folder.join("docker");
            create(&files)?;
            let docker = Docker::start(&files, &own, ledger, until)?;
            return Ok(Scene { places: Places::Containers(Box::new(docker), groups.len()), machine: own });
        }
        let place = |group: &UserGroup| match &arrangement.controllers[..] {
            // All users together are one group, too: no arm has a level more than another.
            [] => own.child("all", &["memory"]),
            apart => own.child(&group.name, apart),
        };
        let places = groups.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        for (place, group) in places.iter().zip(groups) {
            group.settings.iter().try_for_each(|setting| place.set(setting))?;
        }
        Ok(Scene { places: Places::Groups(places), machine: own })
    }

    /// The command that runs the driver with these orders, in the `at`-th group.
    ///
    /// # Errors
    /// Where a group's files cannot be opened.
    pub fn driver(&self, at: usize, orders: &Orders) -> Result<Command, Fault> {
        match &self.places {
            Places::Groups(groups) => {
                let mut command = Launcher::current().command(VERB);
                groups[at].start_in(&mut command)?;
                Ok(command)
            }
            Places::Containers(docker, _) => {
                let folder = orders.users.first().map_or(Path::new("/"), |user| &user.folder);
                docker.driver(at, folder, &orders.shared())
            }
        }
    }

    /// The groups of users, in order, once their drivers run.
    pub fn places(&self) -> Vec<Group> {
        match &self.places {
            Places::Groups(groups) => groups.clone(),
            Places::Containers(docker, count) => (0..*count).filter_map(|at| docker.group(at)).collect(),
        }
    }

    /// The first group in which the kernel has killed a process because memory was full.
    pub fn out_of_memory(&self) -> Option<usize> {
        match &self.places {
            Places::Groups(groups) => groups.iter().position(|group| kills(group).is_some_and(|n| n > 0)),
            // A container's groups go with its last process.
            Places::Containers(docker, count) => (0..*count).find(|at| {
                let kills = docker.group(*at).as_ref().and_then(kills);
                kills.map_or_else(|| docker.was_out_of_memory(*at), |kills| kills > 0)
            }),
        }
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
        drop(self.places);
        // Pages that stay would be charged to a group that is gone, and serve later attempts for nothing.
        self.machine.group().reclaim();
        self.machine.remove()
    }
}

/// Processes of a group that the kernel has killed because memory was full; `None` if the group is gone.
fn kills(group: &Group) -> Option<u64> {
    let file = group.file(&[("", "memory.events"), ("memory", "memory.oom_control")])?;
    reading::oom_kills(&fs::read_to_string(file).ok()?)
}

/// What protecting memory needs of a machine.
pub fn protection_need() -> Need {
    let what = "control groups that protect memory";
    let v2 = Hierarchy::here().v2.map(|tree| tree.mount.join("cgroup.controllers"));
    let offered = v2.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    if offered.split_whitespace().any(|name| name == "memory") {
        Need::found(what, "memory.low")
    } else {
        Need::missing(
            what,
            "memory of users cannot be protected: version 1 has no memory.low",
            "boot with systemd.unified_cgroup_hierarchy=1",
        )
    }
}

/// What a limited rate of reading needs of a machine.
pub fn disk_need() -> Need {
    let what = "a disk for temporary files";
    match disk_of(&env::temp_dir()) {
        Ok((major, minor)) => Need::found(what, format!("{major}:{minor}")),
        Err(Fault { message, remedy, .. }) => {
            let consequence = format!("reading from it cannot be limited: {message}");
            Need { what: what.into(), state: NeedState::Missing { consequence, remedy } }
        }
    }
}
