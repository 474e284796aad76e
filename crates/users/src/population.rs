//! The users of an attempt: how many there are, what they do, and the machine that they share.

use crosstalk_core::Fault;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::units::{Bytes, human};
use crosstalk_core::value::{Params, parameter_fault};

use crate::mix::{Activity, Mix, Size};

/// The parameters that say what users do, wherever they are.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "users",
        "16",
        "number of users (AIM7's tasks); of a mix that lists users, as many as it has",
    ),
    Parameter::new(
        "mix",
        "shared",
        "their jobs: `shared`, `compute`, `dbase`, `fserver`, `readers`, `streaming`, `uneven`, the path of a mix \
         file, or `reread`",
    ),
    Parameter::new("jobs", "100", "number of jobs of each user"),
    Parameter::new("work", "1", "the share of its whole work that a job does"),
    Parameter::new("memory", "none", "the memory of all users together, such as \"512 MiB\"; at least 1 MiB"),
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
    Parameter::new(
        "streamers_share",
        "false",
        "whether users who stream read one file instead of a file each",
    ),
];

/// The least memory of all users: no program runs in less.
const LEAST_MEMORY: Bytes = Bytes(1 << 20);

/// The machine that users share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Its memory; the host's by default.
    pub memory: Option<Bytes>,
    /// Bytes that it reads a second from its disk at most; as many as that can by default.
    pub read_rate: Option<Bytes>,
}

impl Machine {
    /// Reads its parameters, `memory` and `read_rate`.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn read(params: &Params) -> Result<Self, Fault> {
        let memory = optional(params, "memory")?;
        if let Some(found) = memory.filter(|memory| *memory < LEAST_MEMORY) {
            let found = human(found.0 as f64, "B");
            let message = format!("expected at least 1 MiB, found {found}: no program runs in less");
            return Err(parameter_fault("memory", message));
        }
        Ok(Machine { memory, read_rate: optional(params, "read_rate")? })
    }
}

/// Users, and what they do.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    pub(crate) load: Load,
    pub(crate) jobs: usize,
    pub(crate) work: f64,
    pub(crate) machine: Machine,
    /// Those who stream read one file.
    pub(crate) streamers_share: bool,
}

/// What users do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Load {
    /// Jobs of a mix: its name, or its file, and the number of users.
    Mix(String, usize),
    /// What each user does; those who stream come first.
    Each(Vec<Activity>),
}

/// The most users of an attempt.
pub(crate) const MOST_USERS: u64 = 10_000;

impl Population {
    /// Reads the parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn read(params: &Params) -> Result<Self, Fault> {
        let machine = Machine::read(params)?;
        let users = params.bounded("users", 16, 1, MOST_USERS)? as usize;
        let load = match params.text("mix", "shared")? {
            "reread" => Load::Each(readers(params, users, machine.memory)?),
            name => {
                // Read again on the node.
                let mix = Mix::find(name).map_err(|fault| fault.of_parameter("mix"))?;
                match mix.activities(params.get("users").map(|_| users))? {
                    each if each.is_empty() => Load::Mix(name.into(), users),
                    each => Load::Each(each),
                }
            }
        };
        let work = params.float("work", 1.0)?;
        if !(0.001..=100.0).contains(&work) {
            return Err(parameter_fault("work", format!("expected 0.001 to 100, found {work}")));
        }
        let jobs = params.bounded("jobs", 100, 1, 1_000_000)? as usize;
        let streamers_share = params.flag("streamers_share", false)?;
        Population { load, jobs, work, machine, streamers_share }.checked()
    }

    /// Users who run a command each, once.
    ///
    /// # Errors
    /// A usage fault if there is none, or there are too many.
    pub fn of_commands(commands: Vec<String>, machine: Machine) -> Result<Self, Fault> {
        if !(1..=MOST_USERS as usize).contains(&commands.len()) {
            let found = commands.len();
            return Err(Fault::usage(format!("expected 1 to {MOST_USERS} commands, found {found}")));
        }
        let load = Load::Each(commands.into_iter().map(Activity::Run).collect());
        Ok(Population { load, jobs: 1, work: 1.0, machine, streamers_share: false })
    }

    /// Those who stream first; passes if each user's size is known.
    fn checked(mut self) -> Result<Self, Fault> {
        let Load::Each(each) = &mut self.load else { return Ok(self) };
        each.sort_by_key(|activity| !matches!(activity, Activity::Stream(_)));
        if each.iter().all(|activity| matches!(activity, Activity::Stream(_))) {
            let message = "expected somebody beside those who stream, who never end";
            return Err(parameter_fault("mix", message.into()));
        }
        let size = |activity: &Activity| match activity {
            Activity::Reread(size) | Activity::Stream(size) => size.on(self.machine.memory).is_some(),
            Activity::Run(_) => true,
        };
        if each.iter().all(size) {
            return Ok(self);
        }
        Err(parameter_fault("memory", "expected a size: working sets are shares of it".into()))
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        match &self.load {
            Load::Mix(_, users) => *users,
            Load::Each(each) => each.len(),
        }
    }

    /// What each user does, in words, by number from 0.
    pub fn activities(&self) -> Vec<String> {
        match &self.load {
            Load::Mix(name, users) => vec![format!("jobs of the mix {name}"); *users],
            Load::Each(each) => each.iter().map(ToString::to_string).collect(),
        }
    }

    /// The machine that they share.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How many of them stream: the first ones.
    pub(crate) fn streamers(&self) -> usize {
        match &self.load {
            Load::Mix(..) => 0,
            Load::Each(each) => each.iter().filter(|one| matches!(one, Activity::Stream(_))).count(),
        }
    }
}

/// The users of the mix `reread`.
fn readers(params: &Params, users: usize, memory: Option<Bytes>) -> Result<Vec<Activity>, Fault> {
    let memory = memory
        .ok_or_else(|| parameter_fault("memory", "expected a size: working sets are shares of it".into()))?;
    let share = params.float("working_set", 0.65)?;
    if !(0.01..=4.0).contains(&share) {
        return Err(parameter_fault("working_set", format!("expected 0.01 to 4, found {share}")));
    }
    let streamers = params.bounded("streamers", 0, 0, users as u64 - 1)? as usize;
    let uneven = params.choice("sizes", &["alike", "uneven"])? == "uneven";
    let weight = |reader: usize| if uneven { 1_u64 << (reader % 3) } else { 1 };
    let all: u64 = (0..users - streamers).map(weight).sum();
    let size = |reader| Bytes((memory.0 as f64 * share) as u64 * weight(reader) / all);
    let stream = Activity::Stream(Size::Bytes(Bytes(memory.0.saturating_mul(2))));
    let readers = (0..users - streamers).map(|reader| Activity::Reread(Size::Bytes(size(reader))));
    Ok(std::iter::repeat_n(stream, streamers).chain(readers).collect())
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

    #[test]
    fn working_sets_are_shares_of_the_memory() {
        let params = Params::default().with("mix", "reread").with("memory", "512 MiB").with("users", 4);
        let params = params.with("sizes", "uneven").with("working_set", 0.5).with("streamers", 1);
        let Load::Each(each) = Population::read(&params).expect("is fine").load else { panic!("reads") };
        let mib = |bytes: &Activity| match bytes {
            Activity::Reread(Size::Bytes(size)) | Activity::Stream(Size::Bytes(size)) => size.0 >> 20,
            other => panic!("{other:?}"),
        };
        assert_eq!(each.iter().map(mib).collect::<Vec<_>>(), [1024, 36, 73, 146]);
    }

    #[test]
    fn a_mix_of_users_has_its_own_number_of_them_and_those_who_stream_come_first() {
        let of = |users: Option<i64>| {
            let params = Params::default().with("mix", "uneven").with("memory", "64 MiB");
            Population::read(&users.map_or(params.clone(), |users| params.with("users", users)))
        };
        let default = of(None).expect("is fine");
        assert_eq!((default.users(), default.streamers()), (16, 1));
        assert_eq!(of(Some(32)).map(|some| some.users()), Ok(32));
        assert!(of(Some(3)).expect_err("are too few").to_string().contains("users"));
        let fault = Population::read(&Params::default().with("mix", "uneven")).expect_err("shares of what?");
        assert!(fault.to_string().contains("memory"), "{fault}");
    }

    #[test]
    fn memory_in_which_no_program_runs_is_refused() {
        let read = |memory: &str| Machine::read(&Params::default().with("memory", memory));
        assert_eq!(read("1 MiB").map(|machine| machine.memory), Ok(Some(Bytes(1 << 20))));
        let fault = read("4 KiB").expect_err("is too little");
        assert_eq!(fault.parameter.as_deref(), Some("memory"));
        assert!(fault.message.contains("1 MiB"), "{fault}");
    }

    #[test]
    fn commands_are_users() {
        let machine = Machine { memory: None, read_rate: None };
        let both = Population::of_commands(vec!["true".into(), "false".into()], machine).expect("two");
        assert_eq!((both.users(), both.streamers()), (2, 0));
        assert!(Population::of_commands(Vec::new(), machine).is_err());
    }
}
