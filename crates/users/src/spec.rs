//! The parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter_fault};

use crate::isolation::{Isolation, Memory};
use crate::mix::Mix;
use crate::scene::Machine;

/// The parameters of the workload `users`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("users", "16", "number of users (AIM7's tasks)"),
    Parameter::new(
        "mix",
        "shared",
        "their jobs: `shared`, `compute`, `dbase`, `fserver`, `reread`, or the path of a mix file",
    ),
    Parameter::new("jobs", "100", "number of jobs of each user"),
    Parameter::new("work", "1", "the share of its whole work that a job does"),
    Parameter::new("groups", "1", "number of groups that the users are dealt to"),
    Parameter::new(
        "isolation",
        "none",
        "how groups are kept apart: `none`, `drivers`, `folders`, `mounts`, `cpu`, `lru`, `limits`, `protection`, `group`, `docker`",
    ),
    Parameter::new("memory", "none", "the memory of all users together, such as \"512 MiB\""),
    Parameter::new(
        "read_rate",
        "none",
        "bytes that all of them read a second from the disk, such as \"200 MB\"",
    ),
    Parameter::new(
        "working_set",
        "0.65",
        "`reread`: the share of the memory that all users read again and again",
    ),
    Parameter::new("sizes", "alike", "`reread`: users' working sets: `alike`, or `uneven` (1 : 2 : 4)"),
    Parameter::new("streamers", "0", "`reread`: the first users stream through twice the memory instead"),
    Parameter::new("streamers_apart", "false", "`reread`: whether streamers have a group of their own"),
    Parameter::new(
        "waits",
        "false",
        "whether the kernel's tracepoints count what groups wait for: reclaim and locks",
    ),
]]);

/// What the users of an attempt do, and how they are kept apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub(crate) users: usize,
    pub(crate) load: Load,
    pub(crate) jobs: usize,
    pub(crate) work: f64,
    pub(crate) groups: usize,
    pub(crate) isolation: &'static Isolation,
    pub(crate) machine: Machine,
    pub(crate) waits: bool,
}

/// The users' jobs.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// Jobs of a mix: its name, or its file.
    Mix(String),
    /// Reading files of their own.
    Reread(Reread),
}

/// What readers read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// Bytes that all readers together read again and again.
    pub working_set: Bytes,
    /// Whether their working sets differ.
    pub uneven: bool,
    /// How many of the users stream instead.
    pub streamers: usize,
    /// Whether these have a group of their own.
    pub apart: bool,
    /// Bytes of the file that they stream through.
    pub stream: Bytes,
}

/// The most users of an attempt.
const MOST_USERS: u64 = 10_000;

impl Spec {
    /// Reads the parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn read(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let users = params.bounded("users", 16, 1, MOST_USERS)? as usize;
        let isolation = Isolation::named(params.text("isolation", "none")?)?;
        let groups = params.bounded("groups", 1, 1, MOST_USERS)? as usize;
        if groups > users {
            let message = format!("expected at most as many groups as users ({users}), found {groups}");
            return Err(parameter_fault("groups", message));
        }
        let machine =
            Machine { memory: optional(params, "memory")?, read_rate: optional(params, "read_rate")? };
        if matches!(isolation.memory, Memory::Limited | Memory::Protected) && machine.memory.is_none() {
            let message =
                format!("expected a size, of which `{}` gives each group its share", isolation.name);
            return Err(parameter_fault("memory", message));
        }
        let mix = params.text("mix", "shared")?;
        let load = match mix {
            "reread" => Load::Reread(Reread::read(params, users, &machine)?),
            name => {
                // Read again on the node.
                Mix::find(name).map_err(|fault| fault.of_parameter("mix"))?;
                Load::Mix(name.into())
            }
        };
        let work = params.float("work", 1.0)?;
        if !(0.001..=100.0).contains(&work) {
            return Err(parameter_fault("work", format!("expected 0.001 to 100, found {work}")));
        }
        // Users who are together are one group, however many they would be.
        let groups = if isolation.drivers { groups } else { 1 };
        let jobs = params.bounded("jobs", 100, 1, 1_000_000)? as usize;
        let waits = params.flag("waits", false)?;
        Ok(Spec { users, load, jobs, work, groups, isolation, machine, waits })
    }

    /// How many of the users stream.
    pub(crate) fn streamers(&self) -> usize {
        match &self.load {
            Load::Reread(reread) => reread.streamers,
            Load::Mix(_) => 0,
        }
    }
}

impl Reread {
    fn read(params: &Params, users: usize, machine: &Machine) -> Result<Self, Fault> {
        let memory = machine.memory.ok_or_else(|| {
            parameter_fault("memory", "expected a size: working sets are shares of it".into())
        })?;
        let share = params.float("working_set", 0.65)?;
        if !(0.01..=4.0).contains(&share) {
            return Err(parameter_fault("working_set", format!("expected 0.01 to 4, found {share}")));
        }
        let streamers = params.bounded("streamers", 0, 0, users as u64 - 1)? as usize;
        Ok(Reread {
            working_set: Bytes((memory.0 as f64 * share) as u64),
            uneven: params.choice("sizes", &["alike", "uneven"])? == "uneven",
            streamers,
            apart: params.flag("streamers_apart", false)?,
            stream: Bytes(memory.0.saturating_mul(2)),
        })
    }

    /// Bytes that each of `readers` reads again and again: whole blocks, at least one.
    pub(crate) fn sizes(&self, readers: usize, block: u64) -> Vec<u64> {
        let weight = |reader: usize| if self.uneven { 1 << (reader % 3) } else { 1 };
        let all: u64 = (0..readers).map(weight).sum();
        (0..readers)
            .map(|reader| (self.working_set.0 * weight(reader) / all / block).max(1) * block)
            .collect()
    }
}

/// A size, or nothing for the word `none`, which is the default.
fn optional(params: &Params, name: &str) -> Result<Option<Bytes>, Fault> {
    match params.get(name).map(ToString::to_string).as_deref() {
        None | Some("none") => Ok(None),
        Some(_) => params.size(name, Bytes(1)).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Value;

    fn reread() -> Params {
        Params::default().with("mix", "reread").with("memory", "512 MiB")
    }

    #[test]
    fn users_who_are_together_are_one_group() {
        let read = |isolation: &str| {
            Spec::read(&reread().with("isolation", isolation).with("groups", 8)).map(|spec| spec.groups)
        };
        assert_eq!(read("none"), Ok(1));
        assert_eq!(read("lru"), Ok(8));
    }

    #[test]
    fn working_sets_are_shares_of_the_memory_in_whole_blocks() {
        let params = reread().with("sizes", "uneven").with("working_set", 0.5);
        let Load::Reread(reread) = Spec::read(&params).expect("is fine").load else { panic!("reads") };
        assert_eq!(reread.sizes(3, 1 << 20), [36 << 20, 73 << 20, 146 << 20]);
        assert_eq!(reread.stream, Bytes(1 << 30));
        assert_eq!(Reread { working_set: Bytes(1), ..reread }.sizes(2, 4096), [4096, 4096]);
    }

    #[test]
    fn faults_name_the_parameter() {
        let cases: [(&str, Value); 9] = [
            ("groups", 17.into()),
            ("groups", 0.into()),
            ("users", 0.into()),
            ("isolation", "limit".into()),
            ("memory", "none".into()),
            ("streamers", 16.into()),
            ("working_set", 0.into()),
            ("work", 0.into()),
            ("task", 1.into()),
        ];
        for (name, value) in cases {
            let fault = Spec::read(&reread().with(name, value)).expect_err("refused");
            assert!(fault.to_string().contains(name), "{name}: {fault}");
        }
        assert!(Spec::read(&Params::default().with("mix", "no such mix")).is_err());
    }
}
