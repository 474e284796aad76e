//! Where systemd owns the tree of v2: it makes the group that all others stand in, and leaves it to us.
//!
//! A service whose command has ended and that stays active (`RemainAfterExit`) has a control group without a process,
//! in which others may stand. `Delegate` keeps systemd out of it. Sources: systemd.resource-control(5),
//! systemd-run(1), systemd's "Control Group APIs and Delegation".

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crosstalk_core::{Fault, quoted};

use crate::budget::Protection;
use crate::contents::Manager;

/// The unit whose control group all groups stand in.
pub const UNIT: &str = "crosstalk-groups.service";

/// Commands to systemd.
pub struct Systemd<'a> {
    /// Runs a program with arguments.
    run: &'a dyn Fn(&str, &[&str]) -> io::Result<Output>,
}

/// Whether systemd runs this machine (sd_booted(3)).
pub fn is_booted() -> bool {
    Path::new("/run/systemd/system").exists()
}

/// systemd by its own programs.
pub const HERE: Systemd<'static> =
    Systemd { run: &|program, arguments| Command::new(program).args(arguments).output() };

impl Systemd<'_> {
    /// Starts the unit unless it is active. Returns its control group, from the tree's root.
    ///
    /// # Errors
    /// If systemd refuses, with what it says.
    pub fn start(&self, manager: Manager, exists: &dyn Fn(&Path) -> bool) -> Result<PathBuf, Fault> {
        if let Some(group) = self.control_group(manager)? {
            if exists(&group) {
                return Ok(group);
            }
            // Its group was removed behind its back.
            self.stop(manager)?;
        }
        let unit = format!("--unit={UNIT}");
        let mut arguments = vec![unit.as_str(), "--slice=-.slice", "--description=Groups of crosstalk"];
        for property in ["Type=oneshot", "RemainAfterExit=yes", "Delegate=yes"] {
            arguments.extend(["--property", property]);
        }
        arguments.push("true");
        self.ask(manager, "systemd-run", &arguments)?;
        self.control_group(manager)?.ok_or_else(|| {
            Fault::environment("systemd has started it, and names no control group of it")
                .at(UNIT)
                .remedy(format!("see what it says: systemctl status {UNIT}"))
        })
    }

    /// Sets what the unit's group has: its processors' weight, and memory that is protected.
    ///
    /// # Errors
    /// If systemd refuses, with what it says.
    pub fn set(&self, manager: Manager, weight: u32, protection: Protection) -> Result<(), Fault> {
        let properties = [
            format!("CPUWeight={weight}"),
            format!("MemoryMin={}", protection.min),
            format!("MemoryLow={}", protection.low),
        ];
        let mut arguments = vec!["set-property", "--runtime", UNIT];
        arguments.extend(properties.iter().map(String::as_str));
        self.ask(manager, "systemctl", &arguments).map(drop)
    }

    /// Stops the unit, which removes its group.
    ///
    /// # Errors
    /// If systemd refuses, with what it says.
    pub fn stop(&self, manager: Manager) -> Result<(), Fault> {
        self.ask(manager, "systemctl", &["stop", UNIT]).map(drop)
    }

    /// The control group of the unit if that is active.
    fn control_group(&self, manager: Manager) -> Result<Option<PathBuf>, Fault> {
        let said = self.ask(manager, "systemctl", &["show", "--property=ActiveState,ControlGroup", UNIT])?;
        let value = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let group = value("ControlGroup").filter(|group| group.starts_with('/'));
        Ok(group.filter(|_| value("ActiveState") == Some("active")).map(PathBuf::from))
    }

    /// Runs one of its programs. Returns what it prints.
    fn ask(&self, manager: Manager, program: &str, arguments: &[&str]) -> Result<String, Fault> {
        let whose = (manager == Manager::User).then_some("--user");
        let arguments: Vec<&str> = whose.into_iter().chain(arguments.iter().copied()).collect();
        let refused = |why: String| {
            let line = format!("{program} {}", arguments.join(" "));
            Fault::environment(format!("systemd does not make a control group for us: {why}"))
                .at(program.to_string())
                .remedy(format!("see what it says to: {line}"))
        };
        let output = (self.run)(program, &arguments).map_err(|e| refused(e.to_string()))?;
        if !output.status.success() {
            return Err(refused(quoted(String::from_utf8_lossy(&output.stderr).trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn output(code: i32, out: &str, err: &str) -> io::Result<Output> {
        let status = ExitStatus::from_raw(code << 8);
        Ok(Output { status, stdout: out.into(), stderr: err.into() })
    }

    /// A pretended systemd that knows whether the unit is active, and the commands that it got.
    struct Pretended {
        active: RefCell<bool>,
        got: RefCell<Vec<String>>,
    }

    impl Pretended {
        fn new(active: bool) -> Self {
            Pretended { active: RefCell::new(active), got: RefCell::default() }
        }

        fn run(&self, program: &str, arguments: &[&str]) -> io::Result<Output> {
            let line = format!("{program} {}", arguments.join(" "));
            let shows = line.contains(" show ");
            if program == "systemd-run" || line.contains(" stop ") {
                *self.active.borrow_mut() = program == "systemd-run";
            }
            self.got.borrow_mut().push(line);
            match (shows, *self.active.borrow()) {
                (true, true) => output(0, "ActiveState=active\nControlGroup=/crosstalk-groups.service\n", ""),
                (true, false) => output(0, "ActiveState=inactive\nControlGroup=\n", ""),
                _ => output(0, "", ""),
            }
        }
    }

    #[test]
    fn the_unit_is_started_once() {
        let pretended = Pretended::new(false);
        let run = |program: &str, arguments: &[&str]| pretended.run(program, arguments);
        let systemd = Systemd { run: &run };
        let group = Path::new("/crosstalk-groups.service");
        assert_eq!(systemd.start(Manager::System, &|_| true).as_deref(), Ok(group));
        assert_eq!(systemd.start(Manager::System, &|_| true).as_deref(), Ok(group));
        let got = pretended.got.borrow();
        let starts: Vec<_> = got.iter().filter(|line| line.starts_with("systemd-run")).collect();
        let expected = "systemd-run --unit=crosstalk-groups.service --slice=-.slice --description=Groups of crosstalk \
                        --property Type=oneshot --property RemainAfterExit=yes --property Delegate=yes true";
        assert_eq!(starts, [expected]);
    }

    #[test]
    fn a_unit_whose_group_is_gone_is_started_again() {
        let pretended = Pretended::new(true);
        let run = |program: &str, arguments: &[&str]| pretended.run(program, arguments);
        Systemd { run: &run }.start(Manager::User, &|_| false).expect("is started");
        let got = pretended.got.borrow();
        assert!(got.iter().any(|line| line == "systemctl --user stop crosstalk-groups.service"), "{got:?}");
        assert!(got.iter().any(|line| line.starts_with("systemd-run --user --unit=")), "{got:?}");
    }

    #[test]
    fn its_properties_are_set_until_the_next_boot() {
        let pretended = Pretended::new(true);
        let run = |program: &str, arguments: &[&str]| pretended.run(program, arguments);
        Systemd { run: &run }.set(Manager::System, 200, Protection { min: 7, low: 9 }).expect("is set");
        let expected =
            "systemctl set-property --runtime crosstalk-groups.service CPUWeight=200 MemoryMin=7 MemoryLow=9";
        assert_eq!(pretended.got.borrow().as_slice(), [expected]);
    }

    #[test]
    fn what_it_refuses_is_a_fault_with_its_words() {
        let refuses = Systemd { run: &|_, _| output(1, "", "Access denied\n") };
        let fault = refuses.start(Manager::System, &|_| true).expect_err("is refused");
        assert!(fault.message.contains("Access denied"), "{fault}");
        assert!(fault.remedy.is_some_and(|said| said.contains("systemctl show")));
        let missing = Systemd { run: &|_, _| Err(io::ErrorKind::NotFound.into()) };
        assert!(missing.stop(Manager::User).is_err());
    }
}
