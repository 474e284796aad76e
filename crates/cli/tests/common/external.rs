//! Background work of a test's own, foreground work while it runs, and the settings of its groups.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_host::load;

use super::{PATIENCE, command, finish, kill};

/// One test at a time: a guard guards all background work on the machine, and some tests load it.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program of ours, which ends with its test, however that ends.
pub struct Running(Option<Child>);

/// A script as background work.
pub fn external(name: &str, script: &str) -> Running {
    let mut command =
        command(Path::new("/"), &["exec", "--background", "--name", name, "--", "sh", "-c", script]);
    Running::of(command.spawn().expect("starts"))
}

impl Running {
    /// One that has been started.
    pub fn of(child: Child) -> Self {
        Running(Some(child))
    }

    /// Starts one.
    pub fn start(mut command: Command) -> Self {
        Running::of(command.spawn().expect("starts"))
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("has not been waited for").id()
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("has not been waited for")
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Output {
        finish(self.0.take().expect("has not been waited for"))
    }

    /// Sends it the signal to end, and does not wait for that.
    pub fn ask_to_end(&mut self) {
        kill("-TERM", self.child().id());
    }

    /// Ends it.
    pub fn end(mut self) -> Output {
        self.ask_to_end();
        self.finish()
    }

    /// Kills it; with its owner, a group goes too.
    pub fn kill(&mut self) {
        self.child().kill().expect("is ours");
        self.child().wait().expect("is ours");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // A test that fails has not waited for it.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A guard that writes what it says into files, to be read while it runs.
pub struct Guarding {
    child: Child,
    folder: tempfile::TempDir,
}

impl Guarding {
    /// `crosstalk guard ARGS`.
    pub fn begin(args: &[&str]) -> Self {
        Guarding::of(command(Path::new("/"), &[&["guard"], args].concat()))
    }

    /// One that is to be started.
    pub fn of(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let file = |name: &str| fs::File::create(folder.path().join(name)).expect("makes");
        let child = command.stdout(file("out")).stderr(file("err")).spawn().expect("starts");
        Guarding { child, folder }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("reads")
    }

    /// What it has written to standard output so far.
    pub fn said(&self) -> String {
        self.read("out")
    }

    /// The same of standard error.
    pub fn complained(&self) -> String {
        self.read("err")
    }

    /// Waits until it samples; it speaks JSON.
    pub fn await_look(&self) {
        await_that("it samples", || self.said().contains("\"event\":\"guard\""));
    }

    /// Waits for its end: exit code, standard output and standard error.
    pub fn finish(mut self) -> (Option<i32>, String, String) {
        let mut status = None;
        await_that("the guard ends", || {
            status = self.child.try_wait().expect("waits");
            status.is_some()
        });
        (status.and_then(|status| status.code()), self.said(), self.complained())
    }

    /// The same, after the signal to end.
    pub fn end(self) -> (Option<i32>, String, String) {
        kill("-TERM", self.id());
        self.finish()
    }
}

impl Drop for Guarding {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The directories of the group that was made with this name.
pub fn dirs(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("crosstalk-background-{name}-"), &mut found);
    found
}

pub fn search(dir: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        } else {
            search(&entry.path(), prefix, found);
        }
    }
}

/// Waits until it holds, however slow a busy machine makes everything.
pub fn await_that(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_within(PATIENCE, holds), "{what}");
}

/// Waits until it is as the guard promises it to be within 10 s. That is promised where nothing resists: others on
/// a busy machine may, and it has four times as long.
pub fn await_promised(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_within(Duration::from_secs(40), holds), "{what}");
}

/// Whether it holds within that time.
pub fn holds_within(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The group's settings, as they are.
pub fn settings(name: &str) -> BTreeMap<PathBuf, String> {
    const SET: [&str; 15] = [
        "cpu.idle",
        "cpu.shares",
        "cpu.weight",
        "cpu.max",
        "cpu.cfs_quota_us",
        "cpuset.cpus",
        "memory.limit_in_bytes",
        "memory.max",
        "memory.high",
        "cgroup.freeze",
        "freezer.state",
        "io.weight",
        "io.bfq.weight",
        "blkio.bfq.weight",
        "blkio.weight",
    ];
    let all = dirs(name).into_iter().flat_map(|dir| SET.map(|file| dir.join(file)));
    all.filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

/// Notes of a guard that speaks JSON which say this.
pub fn notes(said: &str, says: &str) -> usize {
    said.lines().filter(|line| line.contains("\"event\":\"note\"") && line.contains(says)).count()
}

/// How many processors are in use.
pub fn processors_in_use() -> f64 {
    load::busy(Duration::from_millis(500)).map_or(0.0, |busy| busy.share() * busy.processors as f64)
}

/// Whether others keep this machine busy for so long that a guard would pause background work, which is then said.
pub fn lacks_quiet() -> bool {
    let lacks = !holds_within(Duration::from_secs(10), || processors_in_use() < 0.5);
    if lacks {
        eprintln!("skipped: others keep this machine busy");
    }
    lacks
}

/// The processes in the group.
pub fn inside(name: &str) -> Vec<u32> {
    let text = dirs(name).first().and_then(|dir| fs::read_to_string(dir.join("cgroup.procs")).ok());
    text.unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
}

/// Clock ticks of CPU time that a process has used.
pub fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// A process of its own that computes, on these processors.
pub struct Spinner(Child);

/// Foreground work that leaves nothing.
pub fn crowd() -> Vec<Spinner> {
    (0..8).map(|_| Spinner::on("0-1023")).collect()
}

impl Spinner {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn on(processors: &str) -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", processors, "sh", "-c", "while :; do :; done"]).stdout(Stdio::null());
        Spinner(command.spawn().expect("taskset starts"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.kill().expect("is ours");
        self.0.wait().expect("is ours");
    }
}
