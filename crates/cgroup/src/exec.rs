//! A command in a control group of its own: as background work, which yields to everything else,
//! or as foreground work, which its group sets apart from its neighbours.
//!
//! Background work gets `cpu.idle` where its tree meets the others': it runs on what they leave, and
//! they take a processor from it the moment they wake up. A nice value does nothing there, since it
//! counts within a group only. When the command ends, what else it has started ends with it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;
use crosstalk_host::process::{cannot, is_resource_shortage};

use crate::group::reading::cpu_time;
use crate::group::{Group, Hierarchy, Location, OwnGroup, Reach, Setting, tighten};

/// What names of background work's groups begin with: the guard knows them by it.
pub const BACKGROUND: &str = "crosstalk-background";
/// What names begin with of groups of background work that a study measures: no guard but the study's own
/// is to change what it does.
pub const STUDY: &str = "crosstalk-study";
/// What names begin with of groups in which a guard has processes that were there before it.
pub const GUESTS: &str = "crosstalk-guests";
/// What names of foreground work's groups begin with.
pub const FOREGROUND: &str = "crosstalk-foreground";
/// The least share of a device, where it has shares.
const LEAST_IO: u32 = 1;
/// The share of processors, or of a device, of a group for which none is set.
const USUAL: u32 = 100;
/// The least memory that is taken for meant, in bytes.
const LEAST_MEMORY: u64 = 1 << 20;
/// More processors than a kernel may have (`NR_CPUS`).
const MOST_PROCESSORS: f64 = 8192.0;

/// What is to be run, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecRequest {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Whether it yields.
    pub background: bool,
    /// What its group is called; its program's name by default.
    pub name: Option<String>,
    /// Memory that it never goes beyond.
    pub memory: Option<Bytes>,
    /// On how many processors it may run.
    pub cores: Option<usize>,
    /// Processors' time that it may use at most.
    pub quota: Option<f64>,
}

/// The command while it runs. Dropping it kills what is left of it and takes its group away.
#[derive(Debug)]
pub struct Running {
    child: Child,
    made: OwnGroup,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The exit code to pass on: its own, or 128 and the number of the signal that ended it.
    pub code: u8,
    /// CPU time of all that ran in the group.
    pub cpu: Option<Duration>,
}

/// Starts it.
///
/// # Errors
/// Where no group can be made or a setting that was asked for is not offered (nothing is left
/// then), or the program does not start.
pub fn begin(request: &ExecRequest, ledger: &Ledger) -> Result<Running, Fault> {
    let command = request.command.split_first().filter(|(program, _)| !program.is_empty());
    let (program, arguments) = command.ok_or_else(|| {
        Fault::usage("there is no command").remedy("write it behind two dashes: -- ./my-job --flag")
    })?;
    if request.memory.is_some_and(|memory| memory.0 < LEAST_MEMORY) {
        return Err(Fault::usage("expected at least 1 MiB: no program runs in less").at("--memory"));
    }
    let name = program.to_string_lossy();
    let made = OwnGroup::new(&group_name(request, &name)?, ledger)?;
    settle(request, made.group())?;
    let mut command = Command::new(program);
    command.args(arguments);
    let child = made.place(&mut command)?.spawn().map_err(|e| {
        let fault = if is_resource_shortage(&e) {
            cannot("start it", &e)
        } else {
            Fault::usage(format!("cannot start it: {e}")).remedy("check the program's name and PATH")
        };
        fault.at(name.clone())
    })?;
    Ok(Running { child, made })
}

fn group_name(request: &ExecRequest, program: &str) -> Result<String, Fault> {
    let kind = if request.background { BACKGROUND } else { FOREGROUND };
    if let Some(name) = &request.name {
        if name.len() > 64 || !name.chars().all(is_plain) || name.chars().all(|c| c == '.') {
            return Err(Fault::usage(format!(
                "expected up to 64 letters, digits, `-`, `_` and `.`, found `{}`",
                crosstalk_core::quoted(name)
            ))
            .at("--name"));
        }
        return Ok(format!("{kind}-{name}"));
    }
    Ok(format!("{kind}-{}", called(program)))
}

/// What the name of a group may hold.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// What a program's group is called where no name was given: as much of the program's name as a group's may hold.
pub fn called(program: &str) -> String {
    let program = program.rsplit('/').next().unwrap_or(program);
    let known: String = program.chars().filter(|c| is_plain(*c)).take(32).collect();
    if known.chars().all(|c| c == '.') { "work".into() } else { known }
}

/// Has what runs in a group of ours yield to all that runs beside it.
///
/// # Errors
/// What the kernel refuses.
pub fn set_idle_class(group: &Group) -> Result<(), Fault> {
    // Without the idle class, the least weight is what comes nearest to it.
    if group.place(&Setting::Idle(true)).is_some() {
        group.set(&Setting::Idle(true))?;
    } else {
        group.set(&Setting::Weight(1))?;
    }
    if group.place(&Setting::IoWeight(LEAST_IO)).is_some() {
        // A device without shares has none to give: nothing is lost.
        let _ = group.set(&Setting::IoWeight(LEAST_IO));
    }
    Ok(())
}

/// Undoes [`set_idle_class`] in a group of ours.
///
/// # Errors
/// What the kernel refuses.
pub fn leave_idle_class(group: &Group) -> Result<(), Fault> {
    if group.place(&Setting::Idle(false)).is_some() {
        group.set(&Setting::Idle(false))?;
    } else {
        group.set(&Setting::Weight(USUAL))?;
    }
    if group.place(&Setting::IoWeight(USUAL)).is_some() {
        let _ = group.set(&Setting::IoWeight(USUAL));
    }
    Ok(())
}

fn settle(request: &ExecRequest, group: &Group) -> Result<(), Fault> {
    if request.background {
        set_idle_class(group)?;
    }
    if let Some(memory) = request.memory {
        tighten(group, &Setting::MemoryMax(Some(memory)))?;
    }
    if let Some(cores) = request.cores {
        group.set(&Setting::Cores(processors(cores, &allowed())?))?;
    }
    if let Some(quota) = request.quota {
        if !(0.01..=MOST_PROCESSORS).contains(&quota) {
            return Err(Fault::usage(format!(
                "expected 0.01 to {MOST_PROCESSORS} processors' time, found {quota}"
            ))
            .at("--quota"));
        }
        tighten(group, &Setting::Quota(Some(quota)))?;
    }
    Ok(())
}

/// So many of the processors, the last ones: the first handle most of the interrupts.
fn processors(count: usize, allowed: &[usize]) -> Result<String, Fault> {
    if count == 0 || count > allowed.len() {
        return Err(
            Fault::usage(format!("expected 1 to {} processors, found {count}", allowed.len())).at("--cores")
        );
    }
    Ok(list(&allowed[allowed.len() - count..]))
}

/// Processors as the kernel takes them.
pub fn list(processors: &[usize]) -> String {
    processors.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl Running {
    /// The number of the command's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its group.
    pub fn made(&self) -> &OwnGroup {
        &self.made
    }

    /// Waits until it has ended, calls `then`, and ends what it has left. From `then` on its number
    /// may be another's.
    ///
    /// # Errors
    /// When it cannot be waited for, or something of it does not end.
    pub fn wait(mut self, then: impl FnOnce()) -> Result<Ended, Fault> {
        let status = self.child.wait().map_err(|e| Fault::environment(format!("cannot wait for it: {e}")));
        then();
        let status = status?;
        let cpu =
            self.made.group().file(&USAGE).and_then(|file| cpu_time(&std::fs::read_to_string(file).ok()?));
        self.made.remove()?;
        Ok(Ended { code: exit_code(status), cpu })
    }
}

/// Where a group's CPU time is read.
pub const USAGE: [(&str, &str); 2] = [("cpuacct", "cpuacct.usage"), ("", "cpu.stat")];

/// The exit code to pass on: its own, or 128 and the number of the signal that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

/// What groups of ours need of this machine.
pub fn groups(hierarchy: &Hierarchy) -> Need {
    match Location::find(hierarchy, &crate::group::may_write) {
        Ok(location) => {
            let reach = match location.reach {
                Reach::Everybody => "yield to everybody",
                Reach::User => "yield to this user's own services only",
            };
            Need::found("control groups", format!("{}; those made here {reach}", hierarchy.kind()))
        }
        Err(Fault { message, remedy, .. }) => {
            let consequence = format!("background work cannot be kept apart: {message}");
            Need { what: "control groups".into(), state: NeedState::Missing { consequence, remedy } }
        }
    }
}

/// What isolated execution needs of this machine.
pub fn needs() -> Vec<Need> {
    let hierarchy = Hierarchy::here();
    let mut needs = vec![groups(&hierarchy)];
    if hierarchy.v2.is_none() || !std::path::Path::new("/proc/pressure/cpu").exists() {
        needs.push(Need::missing(
            "pressure",
            "the guard sees less: not who waits for memory and devices",
            "boot with psi=1, on a kernel with CONFIG_PSI",
        ));
    } else {
        needs.push(Need::found("pressure", "/proc/pressure"));
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: Option<&str>) -> ExecRequest {
        ExecRequest {
            command: vec!["x".into()],
            background: true,
            name: name.map(String::from),
            memory: None,
            cores: None,
            quota: None,
        }
    }

    #[test]
    fn a_group_is_called_as_requested_or_after_its_program() {
        assert_eq!(group_name(&request(Some("night")), "x"), Ok("crosstalk-background-night".into()));
        assert_eq!(group_name(&request(Some("night.2")), "x"), Ok("crosstalk-background-night.2".into()));
        assert_eq!(group_name(&request(None), "/usr/bin/a b.c"), Ok("crosstalk-background-ab.c".into()));
        for program in ["…", "..", "/", "a/.."] {
            assert_eq!(
                group_name(&request(None), program),
                Ok("crosstalk-background-work".into()),
                "{program}"
            );
        }
        assert_eq!(called(&"x".repeat(255)).len(), 32);
        for wrong in ["", "a/b", "..", "a b", "a\n", "é", &"x".repeat(65)] {
            let fault = group_name(&request(Some(wrong)), "x").expect_err("refused");
            assert_eq!(fault.place.as_deref(), Some("--name"));
            assert!(!fault.message.contains('\n'), "{fault}");
        }
    }

    #[test]
    fn the_last_processors_are_taken() {
        assert_eq!(processors(2, &[0, 2, 4]), Ok("2,4".into()));
        assert!(processors(0, &[0]).is_err() && processors(2, &[0]).is_err());
    }

    #[test]
    fn a_signal_is_128_and_its_number() {
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
    }
}
