//! A command in a named group: it begins there, so that all its memory is charged to the group. Only the command is
//! waited for; what it leaves running stays in the group.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crosstalk_cgroup::exec::exit_code;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::oom_kills;
use crosstalk_core::units::human;
use crosstalk_core::{Fault, quoted};
use crosstalk_host::Ledger;
use crosstalk_host::process::{StartFault, Started, cannot, is_resource_shortage, start_in};

use crate::keep::{GroupEnd, ends};
use crate::kernel_log::KernelLog;
use crate::name::GroupName;
use crate::process_limit::RefusalCount;
use crate::standing::{Standing, standing};
use crate::unusable::{BUSY, holds_groups, vanished};

/// SIGKILL of signal(7).
const KILL: i32 = 9;

/// A command that runs in a named group.
#[derive(Debug)]
pub struct GroupCommand {
    started: Started,
    name: GroupName,
    group: Group,
    /// The group with its limit, for people.
    what: String,
    /// Processes of the group that were killed before.
    killed: Option<u64>,
    /// Ends of the group before.
    ends: Vec<GroupEnd>,
    /// Processes that are refused.
    refused: Vec<RefusalCount>,
    /// What the kernel says meanwhile.
    log: KernelLog,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// The exit code to pass on: its own, or 128 and the number of the signal that ended it.
    pub code: u8,
    /// CPU time of the command, with all that it has waited for.
    pub cpu: Duration,
    /// Whether it was killed (SIGKILL). Else the code is its own.
    pub was_killed: bool,
    /// Why it may have been killed: what happened to its group meanwhile.
    pub cause: Option<KillCause>,
    /// The group that has as many processes as it may, and how many more the kernel has refused meanwhile.
    pub refused: Option<(GroupName, u64)>,
}

/// Why a process of a group was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillCause {
    /// The kernel says that it chose it: the group whose memory was full, for people.
    Kernel(String),
    /// The kernel chose a process of the group, which may be another one: the same.
    Meanwhile(String),
    /// `groups keep` ended the group.
    Keep(GroupName, GroupEnd),
}

/// Starts a command in a group.
///
/// # Errors
/// A usage fault if there is no such group or program, an environment fault if the group takes no process of this user.
pub fn launch(name: &GroupName, command: &[OsString]) -> Result<GroupCommand, Fault> {
    let split = command.split_first().filter(|(program, _)| !program.is_empty());
    let (program, arguments) = split.ok_or_else(|| {
        Fault::usage("there is no command").remedy("write it behind two dashes: -- ./my-job --flag")
    })?;
    // A killed evictor may have left its settings, in which the command would wait.
    Ledger::undo_abandoned();
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
    let (killed, before) = (kills(&found.group), ends(name));
    let (refused_before, log) = (RefusalCount::begin(name, &found.group), KernelLog::begin());
    let mut started = start(unified.as_ref())?;
    if let Err(StartFault::Group(e)) = &started
        && e.kind() == ErrorKind::PermissionDenied
        && found.group.dir("cpu").is_some()
    {
        // In v1's trees the group is the user's; v2's tree has no controller here, and only counts.
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
    let (name, group, refused) = (name.clone(), found.group, refused_before);
    Ok(GroupCommand { started, name, group, what, killed, ends: before, refused, log })
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
        ErrorKind::NotFound => vanished(name).at(path.display().to_string()),
        ErrorKind::PermissionDenied => {
            let whose = match &found.registered.user {
                Some(user) => format!("it is shared with {}", quoted(user)),
                None => "it is not shared".into(),
            };
            fault(format!("this user may not put programs into group `{name}`: {whose}")).remedy(format!(
                "run it as root, or let root share the group: crosstalk groups set {name} --user USER"
            ))
        }
        _ if e.raw_os_error() == Some(BUSY) => holds_groups(name).at(path.display().to_string()),
        _ if is_resource_shortage(e) => cannot("start a process", e),
        _ => fault(format!("cannot start a process in group `{name}`: {e}")),
    }
}

/// Processes of the group that were killed because memory was full.
pub(crate) fn kills(group: &Group) -> Option<u64> {
    let file = group.file(&[("memory", "memory.oom_control"), ("", "memory.events")])?;
    oom_kills(&fs::read_to_string(file).ok()?)
}

impl GroupCommand {
    /// The number of the command's process.
    pub fn pid(&self) -> u32 {
        self.started.pid()
    }

    /// Waits until it has ended, and calls `then`. From then on its number may be another's.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait(self, then: impl FnOnce()) -> Result<CommandEnd, Fault> {
        let GroupCommand { started, name, group, what, killed, ends: before, mut refused, mut log } = self;
        let pid = started.pid();
        let ended = started.wait().map_err(|e| Fault::environment(format!("cannot wait for it: {e}")));
        then();
        let (status, cpu) = ended?;
        let was_killed = status.signal() == Some(KILL);
        let more = killed.zip(kills(&group)).is_some_and(|(before, now)| now > before);
        let cause = match ends(&name).into_iter().find(|end| !before.contains(end)) {
            Some(end) => Some(KillCause::Keep(name, end)),
            None if more && was_killed && log.names(pid) => Some(KillCause::Kernel(what)),
            None => more.then_some(KillCause::Meanwhile(what)),
        };
        let mut refused = refused.iter_mut().map(|count| (count.more(), count.name.clone()));
        let refused = refused.find(|(more, _)| *more > 0).map(|(more, name)| (name, more));
        Ok(CommandEnd { code: exit_code(status), cpu, was_killed, cause, refused })
    }
}
