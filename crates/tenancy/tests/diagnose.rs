//! What a nice service in a group beside own work costs, for real. Skipped where this user can make no
//! groups.

use std::process::{Child, Command, Stdio};
use std::{path::PathBuf, thread, time::Duration};

use crosstalk_host::cpu::allowed;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_tenancy::diagnose::{Cost, Diagnosis, Snapshot, costs, diagnose};
use crosstalk_tenancy::group::{Made, Setting};

/// Programs of nice 19 that compute, one for each processor, in a group beside this process's.
struct Service {
    made: Made,
    programs: Vec<Child>,
}

impl Service {
    fn start(ledger: &Ledger) -> Option<Self> {
        let made = match Made::new("crosstalk-own-nice", ledger) {
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

    /// What is told of it, as of one that has been at it for hours.
    fn diagnosed(&self) -> Diagnosis {
        let mut snapshot = Snapshot::take();
        let ours = |pid: u32| self.programs.iter().any(|program| program.id() == pid);
        snapshot
            .processes
            .iter_mut()
            .filter(|process| ours(process.pid))
            .for_each(|process| process.ticks += 1_000_000);
        let mut found = diagnose(&snapshot);
        found.retain(|found| found.group.contains("crosstalk-own-nice-"));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// Own work's share of a processor, and what the service takes for each of them; nothing where that
    /// does not get to compute.
    fn cost(&self) -> Option<(f64, f64)> {
        let pids = self.programs.iter().map(Child::id).collect();
        let cost = costs(&[pids]).remove(0);
        eprintln!("{}", cost.told());
        match cost {
            Cost::Measured { share, external, processors, .. } => Some((share, external / processors as f64)),
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
fn a_nice_service_beside_own_work_takes_a_large_part_of_it_until_its_group_is_idle() {
    let args = ["-c", "printf +; cat > /dev/null"].map(Into::into).to_vec();
    let ledger = Ledger::open(&Launcher { program: PathBuf::from("sh"), args }).expect("a ledger");
    let Some(service) = Service::start(&ledger) else { return };
    if service.made.group().place(&Setting::Idle(true)).is_none() {
        eprintln!("skipped: groups here cannot be idle");
        return;
    }
    assert!(service.diagnosed().competing().is_some(), "nice does nothing there");
    let (own, external) = service.cost().expect("it computes");
    // A third where this process stands at the top of the tree, half where in a group of its own. Bounds
    // leave room for whoever else is on this machine, who takes of both.
    assert!(external > 0.3 * own && own < 0.85, "own work has {own} of a processor, the service {external}");
    service.made.group().set(&Setting::Idle(true)).expect("is offered");
    assert!(service.diagnosed().competing().is_none(), "it is mended");
    // Where others use the machine, what is idle may not even get to compute.
    if let Some((mended, left)) = service.cost() {
        assert!(left < 0.1 * mended && mended > 1.1 * own, "own work has {mended}, the service {left}");
    }
}
