//! What a nice service in a group beside foreground work costs, for real. Skipped where this user can make no
//! groups.

use std::process::{Child, Command, Stdio};
use std::{path::PathBuf, thread, time::Duration};

use crosstalk_cgroup::group::{OwnGroup, Setting};
use crosstalk_diagnose::{Cost, Diagnosis, Snapshot, costs, diagnose};
use crosstalk_host::cpu::allowed;
use crosstalk_host::{Launcher, Ledger};

/// Programs of nice 19 that compute, one for each processor, in a group beside this process's.
struct Service {
    made: OwnGroup,
    programs: Vec<Child>,
}

impl Service {
    fn start(ledger: &Ledger) -> Option<Self> {
        let made = match OwnGroup::new("crosstalk-foreground-nice", ledger) {
            Ok(made) => made,
            Err(fault) => {
                eprintln!("skipped: {}", fault.sentence());
                return None;
            }
        };
        let spin = |_| {
            let mut command = Command::new("nice");
            command.args(["-n", "19", "sh", "-c", "while :; do :; done"]).stdout(Stdio::null());
            made.place(&mut command).expect("its files open").spawn().expect("nice starts")
        };
        let programs = allowed().into_iter().map(spin).collect();
        // They have the processors before anything is measured.
        thread::sleep(Duration::from_millis(300));
        Some(Service { made, programs })
    }

    /// What is said of it, as of one that has been at it for hours.
    fn diagnosed(&self) -> Diagnosis {
        let mut snapshot = Snapshot::take();
        let ours = |pid: u32| self.programs.iter().any(|program| program.id() == pid);
        snapshot
            .processes
            .iter_mut()
            .filter(|process| ours(process.pid))
            .for_each(|process| process.ticks += 1_000_000);
        let mut found = diagnose(&snapshot);
        found.retain(|found| found.group.contains("crosstalk-foreground-nice-"));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// Of the processors' time that both had, foreground work's part, whoever else is on this machine; nothing
    /// where the service does not get to compute.
    fn own_part(&self) -> Option<f64> {
        let pids = self.programs.iter().map(Child::id).collect();
        let cost = costs(&[pids]).remove(0);
        eprintln!("{}", cost.sentence());
        match cost {
            Cost::Measured { share, background, processors, .. } => {
                Some(share / (share + background / processors as f64))
            }
            Cost::Quiet { .. } => None,
            Cost::Unknown { why } => panic!("{why}"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // A test that has failed may have ended it.
            let _ = program.kill().and_then(|()| program.wait());
        }
    }
}

#[test]
fn a_nice_service_beside_foreground_work_takes_a_large_part_of_it_until_its_group_is_idle() {
    let args = ["-c", "printf +; cat > /dev/null"].map(Into::into).to_vec();
    let ledger = Ledger::open(&Launcher { program: PathBuf::from("sh"), args }).expect("a ledger");
    let Some(service) = Service::start(&ledger) else { return };
    if service.made.group().place(&Setting::Idle(true)).is_none() {
        eprintln!("skipped: groups here cannot be idle");
        return;
    }
    assert!(service.diagnosed().competing().is_some(), "nice does nothing there");
    // A half where both are in groups of their own; two thirds where this process stands at the top.
    let beside = service.own_part().expect("it computes");
    assert!((0.3..0.8).contains(&beside), "foreground work has {beside} of what both have");
    service.made.group().set(&Setting::Idle(true)).expect("is offered");
    assert!(service.diagnosed().competing().is_none(), "it is mended");
    // Where others use the machine, what is idle may not even get to compute.
    let mended = service.own_part().unwrap_or(1.0);
    assert!(mended > 0.92, "foreground work has {mended} of what both have");
}
