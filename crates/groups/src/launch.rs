//! A command in a named group: it begins there, so that all its memory is charged to the group. Only the command is
//! waited for; what it leaves running stays in the group.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crosstalk_cgroup::exec::exit_code;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::oom_kills;
use crosstalk_core::units::human;
use crosstalk_core::{Fault, quoted};
use crosstalk_host::process::{StartFault, Started, cannot, is_resource_shortage, start_in};

use crate::name::GroupName;
use crate::standing::{Standing, standing};
use crate::words::{BUSY, anew, holds_groups, vanished};

/// A command that runs in a named group.
#[derive(Debug)]
pub struct Launched {
    started: Started,
    group: Group,
    /// The group with its limit, for people.
    what: String,
    /// Processes of the group that were killed before.
    killed: Option<u64>,
    /// What is not as requested, in a line.
    pub note: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit code to pass on: its own, or 128 and the number of the signal that ended it.
    pub code: u8,
    /// CPU time of the command, with all that it has waited for.
    pub cpu: Duration,
    /// The group whose memory was full, if a process was killed for that meanwhile.
    pub out_of_memory: Option<String>,
}

/// Starts a command in a group.
///
/// # Errors
/// A usage fault if there is no such group or program, an environment fault if the group takes no process of this user.
pub fn launch(name: &GroupName, command: &[OsString]) -> Result<Launched, Fault> {
    let split = command.split_first().filter(|(program, _)| !program.is_empty());
    let (program, arguments) = split.ok_or_else(|| {
        Fault::usage("there is no command").remedy("write it behind two dashes: -- ./my-job --flag")
    })?;
    let found = standing(Some(name))?.into_iter().next();
    let found = found.ok_or_else(|| Fault::usage(format!("there is no group `{name}`")))?;
    let first = found.group.paths().into_iter().next().unwrap_or_default();
    if !found.group.exists() {
        return Err(refused(&found, &first, &ErrorKind::NotFound.into()));
    }
    let unified =
        found.group.dir("").map(|dir| File::open(dir).map_err(|e| refused(&found, dir, &e))).transpose()?;
    let start = |unified: Option<&File>| -> Result<Result<Started, StartFault>, Fault> {
        let tasks = tasks(&found)?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(start_in(&mut command, unified, tasks))
    };
    let killed = kills(&found.group);
    let (mut started, mut note) = (start(unified.as_ref())?, None);
    if let Err(StartFault::Group(e)) = &started
        && e.kind() == ErrorKind::PermissionDenied
        && found.group.dir("cpu").is_some()
    {
        // In v1's trees the group is the user's; v2's tree has no controller here, and only counts.
        note = Some(format!("`{name}`: v2 does not let this user in, so that its pressure is not counted"));
        started = start(None)?;
    }
    let started = started.map_err(|fault| match fault {
        StartFault::Group(e) => refused(&found, &first, &e),
        StartFault::Program(e) if is_resource_shortage(&e) => {
            cannot("start it", &e).at(program.to_string_lossy())
        }
        StartFault::Program(e) => Fault::usage(format!("cannot start it: {e}"))
            .at(program.to_string_lossy())
            .remedy("check the program's name and PATH"),
    })?;
    let what = match found.registered.profile.limit() {
        Some(limit) => format!("group `{name}` was out of its memory of {}", human(limit.0 as f64, "B")),
        None => format!("group `{name}` was out of memory, by the limit of a group that it is in"),
    };
    Ok(Launched { started, group: found.group, what, killed, note })
}

/// The files of v1 that take a thread, open for writing.
fn tasks(found: &Standing) -> Result<Vec<File>, Fault> {
    let v2 = found.group.dir("").map(Path::to_path_buf);
    let v1 = found.group.paths().into_iter().filter(|dir| Some(dir) != v2.as_ref());
    v1.map(|dir| {
        let path = dir.join("tasks");
        OpenOptions::new().write(true).open(&path).map_err(|e| refused(found, &path, &e))
    })
    .collect()
}

/// Why a group takes no process.
fn refused(found: &Standing, path: &Path, e: &io::Error) -> Fault {
    let name = &found.name;
    let fault = |message: String| Fault::environment(message).at(path.display().to_string());
    match e.kind() {
        ErrorKind::NotFound => fault(vanished(name)).remedy(anew(name)),
        ErrorKind::PermissionDenied => {
            let whose = match &found.registered.user {
                Some(user) => format!("it is shared with {}", quoted(user)),
                None => "it is not shared".into(),
            };
            fault(format!("this user may not put programs into group `{name}`: {whose}")).remedy(format!(
                "run it as root, or let root share the group: crosstalk groups set {name} --user USER"
            ))
        }
        _ if e.raw_os_error() == Some(BUSY) => {
            fault(holds_groups(name)).remedy("name a group in it; which there are: crosstalk groups list")
        }
        _ if is_resource_shortage(e) => cannot("start a process", e),
        _ => fault(format!("cannot start a process in group `{name}`: {e}")),
    }
}

/// Processes of the group that were killed because memory was full.
pub(crate) fn kills(group: &Group) -> Option<u64> {
    let file = group.file(&[("memory", "memory.oom_control"), ("", "memory.events")])?;
    oom_kills(&fs::read_to_string(file).ok()?)
}

impl Launched {
    /// The number of the command's process.
    pub fn pid(&self) -> u32 {
        self.started.pid()
    }

    /// Waits until it has ended, and calls `then`. From then on its number may be another's.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait(self, then: impl FnOnce()) -> Result<Ended, Fault> {
        let ended = self.started.wait().map_err(|e| Fault::environment(format!("cannot wait for it: {e}")));
        then();
        let (status, cpu) = ended?;
        let more = self.killed.zip(kills(&self.group)).is_some_and(|(before, now)| now > before);
        Ok(Ended { code: exit_code(status), cpu, out_of_memory: more.then_some(self.what) })
    }
}
