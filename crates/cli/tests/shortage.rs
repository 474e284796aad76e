//! `crosstalk guard` where memory or devices are short. Skipped where no control groups can be made.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::external::{Running, alone, await_that, dirs, external};
use common::{command, lacks_groups, stderr, stdout};

#[test]
fn what_was_started_elsewhere_in_the_trees_is_guarded_whole() {
    let memory = Path::new("/sys/fs/cgroup/memory");
    if lacks_groups() || !memory.join("cgroup.procs").exists() {
        eprintln!("skipped: there is no tree of v1 in which groups stand below the caller's");
        return;
    }
    let _alone = alone();
    let above = Above::make(memory);
    let child = background_in(&above.0, "elsewhere", "head -c 40m /dev/zero | tail -c 20m | sleep 100");
    let group = || dirs("elsewhere").into_iter().find(|dir| dir.starts_with(&above.0));
    let usage = || group().and_then(|dir| fs::read_to_string(dir.join("memory.usage_in_bytes")).ok());
    let used = || usage().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    await_that("it has its memory", || used() > 10 << 20);
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("guard.prom");
    let path = file.display().to_string();
    let guard = command(Path::new("/"), &["guard", "--metrics", &path]);
    let mut guard = Running::start(guard);
    await_that("its memory is seen", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let line =
            text.lines().find_map(|line| line.strip_prefix("crosstalk_guard_background_memory_bytes "));
        line.and_then(|bytes| bytes.parse::<f64>().ok()).is_some_and(|bytes| bytes > 1e7)
    });
    guard.kill();
    child.end();
}

/// A group above those of background work, which goes with its test.
struct Above(PathBuf);

impl Above {
    fn make(tree: &Path) -> Self {
        let dir = tree.join(format!("crosstalk-test-{}", std::process::id()));
        fs::create_dir(&dir).expect("makes");
        Above(dir)
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_secs(10);
        let mut gone = false;
        while !gone && Instant::now() < until {
            gone = fs::remove_dir(&self.0).is_ok();
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(gone || std::thread::panicking(), "{} stays", self.0.display());
    }
}

/// A command that begins in this group.
fn within(group: &Path, words: &[&str]) -> Command {
    let enters = format!("echo $$ > {}/cgroup.procs && exec \"$@\" && exit 1", group.display());
    let mut starts = Command::new("sh");
    starts.args(["-c", &enters, "sh"]).args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    starts
}

/// A script as background work, which begins in this group.
fn background_in(group: &Path, name: &str, script: &str) -> Running {
    let program = command(Path::new("/"), &[]).get_program().to_os_string();
    let program = program.to_str().expect("a path in UTF-8");
    let words = [program, "exec", "--background", "--name", name, "--", "sh", "-c", script];
    Running::of(within(group, &words).spawn().expect("starts"))
}

/// Writes to a file and waits for the device, over and over, for so long; how often a second.
fn writes(path: &Path, time: Duration) -> f64 {
    let (block, began, mut count) = (vec![1; 1 << 20], Instant::now(), 0);
    while began.elapsed() < time {
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("opens");
        file.write_all(&block).expect("writes");
        file.sync_data().expect("is on the device");
        count += 1;
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}

#[test]
fn foreground_work_that_waits_for_devices_is_protected_although_it_hardly_computes() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    // Files in memory wait for no device.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let file = folder.path().join("own");
    // What the kernel still had to write would be in the way of both.
    assert!(Command::new("sync").arg("-f").arg(folder.path()).status().expect("sync starts").success());
    let second = Duration::from_secs(1);
    let alone = writes(&file, second);
    let script = format!(
        "cd {}; for n in 1 2 3 4; do (while :; do dd if=/dev/zero of=$n bs=1M count=16 oflag=dsync conv=notrunc \
         2>/dev/null; done) & done; wait",
        folder.path().display()
    );
    let child = external("writers", &script);
    await_that("they write", || folder.path().join("4").exists());
    let beside = writes(&file, second);
    if !dirs("writers").iter().any(|dir| dir.join("io.pressure").exists()) {
        child.end();
        eprintln!("skipped: no group here says how long it waits for devices");
        return;
    }
    let serves_all = |alone: f64| {
        if alone < 2.0 * beside {
            eprintln!(
                "skipped: this disk serves all at once: {alone} writes a second alone, {beside} beside others"
            );
        }
        alone < 2.0 * beside
    };
    if serves_all(alone) {
        child.end();
        return;
    }
    let words = ["guard", "--background", "writers", "--slowdown", "5%", "--for", "9 s", "--explain"];
    let guard = Running::start(command(Path::new("/"), &words));
    // A trial that shows nothing is followed by another after 2 s.
    writes(&file, 5 * second);
    let guarded = writes(&file, 3 * second);
    let output = guard.finish();
    child.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    // Writing takes memory bandwidth, too: where that is seen first, nobody waits for the device any more.
    let why = ["foreground work waits for devices", "While background work runs, memory "];
    assert!(why.iter().any(|why| said.contains(why)), "{said}");
    // A disk that many share, or that has a limit, gives less after seconds of writing, to whoever writes alone,
    // too.
    let after = writes(&file, second);
    eprintln!(
        "{alone} writes a second alone, {beside} beside others, {guarded} guarded, {after} alone afterwards"
    );
    let alone = alone.min(after);
    if serves_all(alone) {
        return;
    }
    // How much faster depends on the disk, and is measured by `bench/guard_pareto.py`.
    assert!(guarded > beside, "{alone} alone, {beside} beside others, {guarded} guarded: {said}");
    let paused = said.split_once("Background work was paused ").and_then(|(_, rest)| rest.split_once(" %"));
    let paused: f64 = paused.expect("is said").0.parse().expect("is a number");
    assert!(paused > 50.0, "{said}");
}
