//! Control groups of this host, for real. Skipped where this user can make none.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crosstalk_cgroup::exec::{ExecRequest, begin};
use crosstalk_cgroup::group::reading::{cpu_time, pressure};
use crosstalk_cgroup::group::{Group, OwnGroup, Setting};
use crosstalk_core::units::Bytes;
use crosstalk_host::{Launcher, Ledger};

/// A ledger whose reaper leaves everything to its owner, which these tests do not kill.
fn ledger() -> Ledger {
    let args = ["-c", "printf +; cat > /dev/null"].map(Into::into).to_vec();
    Ledger::open(&Launcher { program: PathBuf::from("sh"), args }).expect("a ledger")
}

fn made(ledger: &Ledger) -> Option<OwnGroup> {
    match OwnGroup::new("crosstalk-foreground-test", ledger) {
        Ok(made) => Some(made),
        Err(fault) => {
            eprintln!("skipped: {}", fault.sentence());
            None
        }
    }
}

fn spinner() -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdout(Stdio::null());
    command
}

fn place(made: &OwnGroup, mut command: Command) -> Child {
    made.place(&mut command).expect("its files open").spawn().expect("sh starts")
}

/// CPU time that the group has used, from whichever tree counts it.
fn used(made: &OwnGroup) -> Duration {
    let path = made.group().file(&[("cpuacct", "cpuacct.usage"), ("", "cpu.stat")]).expect("is counted");
    cpu_time(&fs::read_to_string(path).expect("reads")).expect("is a time")
}

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_group_holds_what_begins_in_it_and_takes_it_along() {
    let ledger = ledger();
    let Some(made) = made(&ledger) else { return };
    let mut child = place(&made, spinner());
    assert_eq!(made.group().processes(), [child.id()]);
    let paths = made.group().paths();
    assert!(paths.iter().all(|path| path.is_dir()));
    await_that("it is counted", || used(&made) > Duration::from_millis(20));
    made.remove().expect("goes");
    assert!(!child.wait().expect("was ours").success(), "it was killed");
    assert!(!paths.iter().any(|path| path.exists()));
}

#[test]
fn a_frozen_group_is_paused_and_resumes() {
    let ledger = ledger();
    let Some(made) = made(&ledger) else { return };
    if made.group().place(&Setting::Frozen(true)).is_none() {
        eprintln!("skipped: groups here cannot be frozen");
        return;
    }
    let mut child = place(&made, spinner());
    await_that("it runs", || used(&made) > Duration::from_millis(20));
    made.group().set(&Setting::Frozen(true)).expect("is offered");
    sleep(Duration::from_millis(50));
    let before = used(&made);
    sleep(Duration::from_millis(300));
    assert!(used(&made) - before < Duration::from_millis(50), "it is paused");
    made.group().set(&Setting::Frozen(false)).expect("is offered");
    await_that("it goes on", || used(&made) > before + Duration::from_millis(20));
    // Frozen things end, too.
    made.group().set(&Setting::Frozen(true)).expect("is offered");
    made.remove().expect("goes");
    assert!(!child.wait().expect("was ours").success());
}

#[test]
fn settings_are_taken_by_the_kernel_and_knobs_put_back() {
    let ledger = ledger();
    let Some(made) = made(&ledger) else { return };
    let group = made.group();
    for setting in [
        Setting::Weight(50),
        Setting::Quota(Some(0.5)),
        Setting::Quota(None),
        Setting::Cores("0".into()),
        Setting::MemoryMax(Some(Bytes(1 << 30))),
        Setting::MemoryMax(None),
        Setting::MemoryHigh(Some(Bytes(1 << 30))),
        Setting::IoWeight(10),
        Setting::Idle(true),
    ] {
        if group.place(&setting).is_some() {
            group.set(&setting).unwrap_or_else(|fault| panic!("{setting:?}: {fault}"));
        } else {
            assert!(group.set(&setting).expect_err("not offered").remedy.is_some());
        }
    }
    if let Some(path) = group.place(&Setting::Cores(String::new())) {
        let before = fs::read_to_string(&path).expect("reads");
        let mut dial = group.knob(&Setting::Cores(String::new()), &ledger).expect("is taken");
        dial.set(&Setting::Cores("0".into())).expect("is there");
        drop(dial);
        assert_eq!(fs::read_to_string(&path).expect("reads"), before);
    }
    if let Some(path) = group.file(&[("", "cpu.pressure")]) {
        pressure(&fs::read_to_string(path).expect("reads")).expect("is a pressure");
    }
}

#[test]
fn a_group_keeps_its_settings_when_who_made_the_first_has_ended() {
    let (one, other) = (ledger(), ledger());
    let (Some(first), Some(second)) = (made(&one), made(&other)) else { return };
    let files = || {
        [Setting::Weight(1), Setting::Cores(String::new()), Setting::MemoryMax(None)]
            .map(|setting| second.group().place(&setting))
    };
    let before = files();
    first.remove().expect("goes");
    drop(one);
    assert_eq!(files(), before);
}

#[test]
fn guests_go_back_to_where_they_were() {
    let ledger = ledger();
    let mut child = spinner().spawn().expect("sh starts");
    let place = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("runs");
    let before = place(child.id());
    let home = Group::of_process(child.id()).expect("is there");
    match OwnGroup::for_guests("crosstalk-foreground-guests", &home, &ledger) {
        Ok(made) => {
            made.group().take_in(child.id()).expect("may be moved");
            assert!(place(child.id()).contains("crosstalk-foreground-guests-"));
            assert_eq!(made.group().processes(), [child.id()]);
            made.remove().expect("goes");
            assert_eq!(place(child.id()), before);
        }
        Err(fault) => eprintln!("skipped: {}", fault.sentence()),
    }
    assert!(child.try_wait().expect("is ours").is_none(), "it lives");
    child.kill().expect("is ours");
    child.wait().expect("is ours");
}

#[test]
fn guests_have_no_more_than_at_home() {
    let ledger = ledger();
    let Some(home) = made(&ledger) else { return };
    let quota = Setting::Quota(Some(0.5));
    home.group().set(&quota).expect("is offered where groups can be made");
    let guests =
        OwnGroup::for_guests("crosstalk-foreground-guests", home.group(), &ledger).expect("can be made, too");
    let said = |group: &Group| fs::read_to_string(group.place(&quota).expect("is offered")).expect("reads");
    assert_eq!(said(guests.group()), said(home.group()));
    assert!(said(guests.group()).starts_with("50000"), "{}", said(guests.group()));
}

#[test]
fn what_cannot_be_set_leaves_nothing() {
    let ledger = ledger();
    if made(&ledger).is_none() {
        return;
    }
    let request = ExecRequest {
        command: vec!["true".into()],
        background: true,
        name: Some("refused".into()),
        memory: None,
        cores: Some(usize::MAX),
        quota: None,
    };
    assert!(begin(&request, &ledger).is_err());
    let request = ExecRequest { cores: None, command: vec!["/no/such/program".into()], ..request };
    assert!(begin(&request, &ledger).expect_err("is not there").message.contains("cannot start it"));
    let left = Command::new("find")
        .args(["/sys/fs/cgroup", "-name", "crosstalk-background-refused-*"])
        .output()
        .expect("finds");
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}
