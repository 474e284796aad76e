//! `crosstalk guard` and groups that others have made: what it does to them, and that they have again what
//! their owners gave them. Skipped where there are no trees of v1.

mod common;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::external::{
    Guarding, Running, Spinner, alone, await_promised, await_that, crowd, external, holds_within, inside,
    lacks_quiet, processors_in_use, search, settings, ticks,
};
use common::foreign::{Foreign, is_frozen};
use common::{PATIENCE, command, crosstalk, kill, lacks_groups, stderr, stdout};
use crosstalk_host::cpu::parse_list;

fn lacks_trees() -> bool {
    let lacks = lacks_groups() || !Path::new("/sys/fs/cgroup/cpuset/cgroup.procs").exists();
    if lacks {
        eprintln!("skipped: there is no tree of v1 in which groups have processors of their own");
    }
    lacks
}

fn guard(arguments: &[&str]) -> Running {
    Running::of(command(Path::new("/"), &[&["guard"], arguments].concat()).spawn().expect("starts"))
}

#[test]
fn a_group_has_again_the_weight_that_its_owner_gave_it() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let foreign = Foreign::at_the_top();
    if foreign.file("cpu.idle").is_none() {
        eprintln!("skipped: this kernel has no idle class of groups (Linux 5.15)");
        return;
    }
    let weight = foreign.file("cpu.shares").expect("a tree shares processors out");
    for shares in ["512", "2048", "2"] {
        fs::write(&weight, shares).expect("may be set");
        let output = crosstalk(Path::new("/"), &["guard", "--background", &foreign.name(), "--for", "0.5 s"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(foreign.text_of("cpu.shares").as_deref(), Some(shares));
        let mut killed = guard(&["--background", &foreign.name()]);
        await_that("it is in hand", || foreign.text_of("cpu.idle").as_deref() == Some("1"));
        killed.kill();
        await_promised("it has its class and weight", || {
            let found = ["cpu.idle", "cpu.shares"].map(|file| foreign.text_of(file).expect("is there"));
            found == ["0", shares]
        });
    }
}

#[test]
fn a_group_that_is_given_another_name_has_what_was_set_put_back() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let mut foreign = Foreign::at_the_top();
    let spinner = Spinner::on("0-1023");
    foreign.takes(spinner.id());
    let before = ["cpu.shares", "cpu.idle", "cpuset.cpus"].map(|file| foreign.text_of(file));
    let own = crowd();
    let guard = Guarding::begin(&["--background", &foreign.name(), "--json"]);
    await_that("it is paused", || foreign.is_frozen());
    foreign.rename(&format!("crosstalk-test-{}-renamed", std::process::id()));
    let lines = guard.said().lines().count();
    await_that("it goes on", || guard.said().lines().count() > lines);
    let (code, _, complained) = guard.end();
    drop(own);
    assert_eq!(code, Some(0), "{complained}");
    assert_eq!(["cpu.shares", "cpu.idle", "cpuset.cpus"].map(|file| foreign.text_of(file)), before);
    assert!(!foreign.is_frozen());
}

#[test]
fn a_group_that_another_program_takes_out_of_the_idle_class_is_put_back_there() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let foreign = Foreign::at_the_top();
    let Some(idle) = foreign.file("cpu.idle") else {
        eprintln!("skipped: this kernel has no idle class of groups");
        return;
    };
    let spinner = Spinner::on("0-1023");
    foreign.takes(spinner.id());
    let is_idle = || fs::read_to_string(&idle).expect("reads").trim() == "1";
    let guard = Guarding::begin(&["--background", &foreign.name(), "--json"]);
    await_that("it is idle", is_idle);
    // As systemd does when its units are read again.
    for _ in 0..2 {
        fs::write(&idle, "0").expect("is ours");
        await_that("it is idle again", is_idle);
    }
    let (code, said, complained) = guard.end();
    assert_eq!(code, Some(0), "{complained}");
    assert_eq!(said.matches("out of the idle class").count(), 1, "{said}");
    assert!(!is_idle(), "it is put back");
}

#[test]
fn who_may_set_nothing_keeps_no_guard_away() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let foreign = Foreign::at_the_top();
    let mut dirs = foreign.dirs();
    dirs.sort();
    let run = || crosstalk(Path::new("/"), &["guard", "--background", &foreign.name(), "--for", "0.2 s"]);
    let mut nobody = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "flock", "--no-fork", "-x"])
        .arg(&dirs[0])
        .args(["sh", "-c", "echo held; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("setpriv starts");
    let mut said = [0; 5];
    nobody.stdout.take().expect("is piped").read_exact(&mut said).expect("it locks");
    let output = run();
    nobody.kill().and_then(|()| nobody.wait()).expect("is ours");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let held = fs::File::open(&dirs[0]).expect("opens");
    held.lock().expect("nobody has it any more");
    let output = run();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let who = format!("another guard (process {})", std::process::id());
    assert!(stderr(&output).contains(&who), "{}", stderr(&output));
}

#[test]
fn what_is_sent_a_signal_to_end_ends_although_foreground_work_leaves_nothing() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let _own = crowd();
    let mut spinner = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts");
    let name = format!("process {}", spinner.id());
    let guard = Guarding::begin(&["--pid", &spinner.id().to_string(), "--slowdown", "0.1%", "--explain"]);
    await_that("it is paused", || {
        let mut groups = Vec::new();
        search(Path::new("/sys/fs/cgroup"), "crosstalk-guests-", &mut groups);
        is_frozen(&groups)
    });
    kill("-TERM", spinner.id());
    let ended = holds_within(PATIENCE, || spinner.try_wait().expect("is ours").is_some());
    if !ended {
        spinner.kill().expect("is ours");
    }
    let reported = ended && holds_within(PATIENCE, || guard.said().contains(&format!("{name} has ended")));
    let (_, said, _) = guard.end();
    spinner.wait().expect("is ours");
    assert!(ended && reported, "{said}");
}

#[test]
fn where_the_idle_class_does_not_reach_background_work_keeps_to_fewer_processors_and_other_does_not() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let service = Foreign::service();
    let all = service.processors();
    if all.len() < 2 {
        eprintln!("skipped: there is one processor");
        return;
    }
    // Where others use the processors that foreground work leaves here, there is nowhere to go.
    if lacks_quiet() {
        return;
    }
    let crowd = crowd();
    crowd.iter().for_each(|one| service.takes(one.id()));
    let yields = external("yields", "sleep 300");
    await_that("it begins", || !inside("yields").is_empty());
    let mut guard = guard(&["--background", &service.name()]);
    let own = Spinner::on(&all.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    let keeps = holds_within(Duration::from_secs(60), || service.processors().len() < all.len());
    let others = settings("yields").into_iter().find(|(path, _)| path.ends_with("cpuset.cpus"));
    guard.kill();
    yields.end();
    let (path, others) = others.expect("it has processors, too");
    assert_eq!(parse_list(&others), all, "{}: the idle class reaches there", path.display());
    await_promised("its processors are back", || service.processors() == all);
    drop((crowd, own));
    if !keeps {
        let others = processors_in_use();
        assert!(others >= 0.5, "background work keeps all processors: others use {others} of them");
        eprintln!("skipped: others use {others:.1} processors of this machine");
    }
    let groups = service.dirs();
    drop(service);
    assert!(groups.iter().all(|dir| !dir.exists()), "{groups:?}");
}

#[test]
fn the_doctor_prints_a_group_once_with_the_nice_values_of_all_in_it() {
    if lacks_trees() {
        return;
    }
    let _alone = alone();
    let foreign = Foreign::at_the_top();
    let nice = |value: &str, processor: &str| {
        let mut command = Command::new("nice");
        command.args(["-n", value, "taskset", "-c", processor, "sh", "-c", "while :; do :; done"]);
        let spinner =
            Running::of(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts"));
        foreign.takes(spinner.id());
        spinner
    };
    let processors = foreign.processors();
    let (first, last) = (processors[0].to_string(), processors[processors.len() - 1].to_string());
    let both = [("12", nice("12", &first)), ("19", nice("19", &last))];
    // What has used less than 10 s of CPU time is not printed.
    await_that("they compute", || both.iter().all(|(_, one)| ticks(one.id()) >= 1000));
    let said = stdout(&crosstalk(Path::new("/"), &["doctor", "--no-load"]));
    let ids = both.map(|(_, one)| format!("(process {}) and another", one.id()));
    let lines: Vec<&str> = said.lines().filter(|line| ids.iter().any(|id| line.contains(id))).collect();
    let [line] = lines[..] else { panic!("printed once: {said}") };
    assert!(line.contains("nice (12, 19)"), "{line}");
}
