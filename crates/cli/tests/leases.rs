//! Nothing stays frozen: not when the guard and those who watch over it are killed or stopped, any two of the
//! three. Skipped where no control groups can be made.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use common::external::{Running, Spinner, await_promised, await_that, search};
use common::foreign::is_frozen;
use common::{command, kill, lacks_groups, stderr, stdout};

/// A process that sleeps, and the guard that it alone is guarded by.
struct Pair {
    sleeper: Child,
    place: String,
    guard: Option<Running>,
    /// The guard, the reaper beside it, and the one outside its control groups.
    three: [u32; 3],
    /// Two of them, and what is done to each.
    done: [(usize, &'static str); 2],
}

const GUARD: usize = 0;

impl Pair {
    fn new(folder: &Path, done: [(usize, &'static str); 2]) -> Pair {
        let sleeper = Command::new("sleep").arg("600").spawn().expect("sleep starts");
        let place = place(sleeper.id());
        let mut start = command(folder, &["guard", "--pid", &sleeper.id().to_string(), "--json"]);
        // Nobody else finds its ledger, and puts back what is in it.
        let guard = start.env("XDG_RUNTIME_DIR", folder).spawn().expect("starts");
        let three = [guard.id(), 0, 0];
        Pair { sleeper, place, guard: Some(Running::of(guard)), three, done }
    }

    fn finds_its_reapers(&mut self) -> bool {
        for pid in children(self.three[GUARD]) {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if line.contains("\0reap\0") {
                self.three[if line.ends_with("\0apart\0") { 2 } else { 1 }] = pid;
            }
        }
        self.three.iter().all(|pid| *pid > 0)
    }

    fn is_paused(&self) -> bool {
        let place = place(self.sleeper.id());
        let group = place.lines().find(|line| line.contains("crosstalk-guests-"));
        let Some(name) = group.and_then(|line| line.rsplit('/').next()) else { return false };
        let mut dirs = Vec::new();
        search(Path::new("/sys/fs/cgroup"), name, &mut dirs);
        is_frozen(&dirs)
    }

    /// What was done to one of the three, if anything was.
    fn done_to(&self, which: usize) -> Option<&'static str> {
        self.done.iter().find(|(one, _)| *one == which).map(|(_, signal)| *signal)
    }

    fn is_back(&self) -> bool {
        place(self.sleeper.id()) == self.place
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Who was stopped ends when it goes on.
        let on = |pid: &u32| Command::new("kill").args(["-CONT", &pid.to_string()]).output().is_ok();
        assert!(self.three.iter().filter(|pid| **pid > 0).all(on), "kill starts");
        self.guard.take();
        self.sleeper.kill().and_then(|()| self.sleeper.wait()).expect("is ours");
    }
}

fn place(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn nothing_stays_frozen_whatever_two_are_killed_or_stopped() {
    if lacks_groups() {
        return;
    }
    if !Path::new(&format!("/proc/self/task/{}/children", std::process::id())).exists() {
        eprintln!("skipped: this kernel does not list a process's children (CONFIG_PROC_CHILDREN)");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ways = ["-KILL", "-STOP"];
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let all = pairs.iter().flat_map(|(one, other)| {
        ways.iter().flat_map(move |first| ways.map(|second| [(*one, *first), (*other, second)]))
    });
    // Foreground work that leaves nothing.
    let _own: Vec<Spinner> = (0..4).map(|_| Spinner::on("0-1023")).collect();
    let mut all: Vec<Pair> = all.map(|done| Pair::new(folder.path(), done)).collect();
    await_that("each guard has two reapers", || all.iter_mut().all(Pair::finds_its_reapers));
    await_that("all are paused", || all.iter().all(Pair::is_paused));
    for pair in &all {
        pair.done.iter().for_each(|(one, signal)| kill(signal, pair.three[*one]));
    }
    for pair in &mut all {
        match pair.done_to(GUARD) {
            Some("-KILL") => {
                await_promised(&format!("it runs where it was: {:?}", pair.done), || pair.is_back());
                pair.guard.take().expect("was ours").kill();
            }
            Some(_) => await_promised(&format!("it runs: {:?}", pair.done), || !pair.is_paused()),
            None => assert!(!pair.is_back(), "its guard goes on: {:?}", pair.done),
        }
    }
    // A guard that goes on guards as before, and finds out that it was stopped.
    for pair in all.iter().filter(|pair| pair.done_to(GUARD) == Some("-STOP")) {
        assert!(!pair.is_paused(), "whoever was at work before: {:?}", pair.done);
        kill("-CONT", pair.three[GUARD]);
        // As soon as it has frozen the group again, it is stopped again.
        await_that(&format!("it is paused again: {:?}", pair.done), || pair.is_paused());
        kill("-STOP", pair.three[GUARD]);
    }
    for pair in all.iter().filter(|pair| pair.done_to(GUARD) == Some("-STOP")) {
        await_promised(&format!("it runs again: {:?}", pair.done), || !pair.is_paused());
        kill("-CONT", pair.three[GUARD]);
    }
    for pair in &mut all {
        if pair.done_to(GUARD) == Some("-KILL") {
            continue;
        }
        await_that(&format!("it is paused again: {:?}", pair.done), || pair.is_paused());
        // Whoever was killed is replaced.
        if pair.done.iter().any(|(one, signal)| *one != GUARD && *signal == "-KILL") {
            let (before, done) = (pair.three, pair.done);
            let killed = |(one, signal): &(usize, &str)| *one != GUARD && *signal == "-KILL";
            await_that(&format!("it has two reapers again: {done:?}"), || {
                pair.finds_its_reapers();
                done.iter().filter(|one| killed(one)).all(|(one, _)| pair.three[*one] != before[*one])
            });
        }
        let mut guard = pair.guard.take().expect("is ours");
        guard.ask_to_end();
        let output = guard.finish();
        assert_eq!(output.status.code(), Some(0), "{:?}: {}", pair.done, stderr(&output));
        // On a busy machine others may not run for so long, either.
        let told = stdout(&output).contains("the guard did not run for");
        assert!(told || pair.done_to(GUARD).is_none(), "{:?}: {}", pair.done, stdout(&output));
        await_that(&format!("it is where it was: {:?}", pair.done), || pair.is_back());
    }
}

#[test]
fn reapers_that_are_stopped_hold_no_guard_up() {
    if lacks_groups() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut pair = Pair::new(folder.path(), [(1, "-STOP"), (2, "-STOP")]);
    await_that("its guard has two reapers", || pair.finds_its_reapers());
    // A reaper is at work when its guard has heard of it, which then takes what it guards into its group.
    await_that("it is guarded", || !pair.is_back());
    pair.done.iter().for_each(|(one, signal)| kill(signal, pair.three[*one]));
    let mut guard = pair.guard.take().expect("is ours");
    guard.ask_to_end();
    let output = guard.finish();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(pair.is_back());
}
