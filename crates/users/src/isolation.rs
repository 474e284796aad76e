//! How the users of an attempt are kept apart: by one part of what a container does, by some, by a container.

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;

/// Which memory group a user's programs are charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// One for all users.
    Shared,
    /// One for each group of users: an LRU of its own, without a limit.
    Own,
    /// The same, and the group never uses more than its share of the machine's memory.
    Limited,
    /// The same without the limit; its share is protected from reclaim for others (`memory.low`, v2).
    Protected,
}

/// Which file system a group's programs see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The host's.
    Host,
    /// The host's, with an overlay over the users' files, in a mount namespace.
    Overlay,
    /// That of a Docker container. Docker makes the control groups, too.
    Docker,
}

/// One way to keep groups of users apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Its name in a study file.
    pub name: &'static str,
    /// What it does, in a line.
    pub meaning: &'static str,
    /// Whether each group has a driver of its own. A driver starts its users and waits for them.
    pub drivers: bool,
    /// Whether each group works in a folder of its own.
    pub folders: bool,
    /// Whether each group has a group of the CPU controller, with equal weight.
    pub cpu: bool,
    /// The memory groups.
    pub memory: Memory,
    /// The file system.
    pub view: View,
}

const NONE: Isolation = Isolation {
    name: "none",
    meaning: "one driver and one control group for all users",
    drivers: false,
    folders: false,
    cpu: false,
    memory: Memory::Shared,
    view: View::Host,
};
const DRIVERS: Isolation = Isolation {
    name: "drivers",
    meaning: "the control: a driver a group, nothing else",
    drivers: true,
    ..NONE
};

/// All of them; the first is the default.
pub const ISOLATIONS: [Isolation; 10] = [
    NONE,
    DRIVERS,
    Isolation { name: "folders", meaning: "a folder a group", folders: true, ..DRIVERS },
    Isolation {
        name: "mounts",
        meaning: "a mount namespace and an overlay a group",
        view: View::Overlay,
        ..DRIVERS
    },
    Isolation { name: "cpu", meaning: "a CPU group a group", cpu: true, ..DRIVERS },
    Isolation {
        name: "lru",
        meaning: "a memory group a group: an LRU of its own",
        memory: Memory::Own,
        ..DRIVERS
    },
    Isolation {
        name: "limits",
        meaning: "the same, each limited to its users' share of the memory",
        memory: Memory::Limited,
        ..DRIVERS
    },
    Isolation {
        name: "protection",
        meaning: "an LRU a group, its share protected (memory.low; v2)",
        memory: Memory::Protected,
        ..DRIVERS
    },
    Isolation {
        name: "group",
        meaning: "a memory group, a CPU group and a folder a group",
        folders: true,
        cpu: true,
        memory: Memory::Own,
        ..DRIVERS
    },
    Isolation {
        name: "docker",
        meaning: "a Docker container a group, as published",
        folders: true,
        cpu: true,
        memory: Memory::Own,
        view: View::Docker,
        ..DRIVERS
    },
];

impl Isolation {
    /// The one of this name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn named(name: &str) -> Result<&'static Isolation, Fault> {
        ISOLATIONS.iter().find(|known| known.name == name).ok_or_else(|| {
            unknown("isolation", name, ISOLATIONS.iter().map(|known| known.name)).of_parameter("isolation")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_also_had_alone() {
        // An ablation needs for each part a row that differs from the control in that part only.
        let parts = |one: &Isolation| {
            [one.folders, one.view != View::Host, one.cpu, one.memory != Memory::Shared]
                .iter()
                .filter(|on| **on)
                .count()
        };
        for name in ["folders", "mounts", "cpu", "lru"] {
            let one = Isolation::named(name).expect("is known");
            assert!(one.drivers && parts(one) == 1, "{name}");
        }
        assert_eq!(parts(&DRIVERS), 0);
    }

    #[test]
    fn an_unknown_one_is_answered_with_the_nearest() {
        let fault = Isolation::named("limit").expect_err("is not known");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `limits`?"));
    }
}
