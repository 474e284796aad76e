//! External work of a test's own, own work beside it, and what is set of its groups.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{command, finish, kill};

/// They take turns: a guard guards all that is external on the machine, and some load it.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program of ours, which ends with its test, however that ends.
pub struct Running(Option<Child>);

/// A script as external work.
pub fn external(name: &str, script: &str) -> Running {
    let mut command =
        command(Path::new("/"), &["exec", "--external", "--name", name, "--", "sh", "-c", script]);
    Running::of(command.spawn().expect("starts"))
}

impl Running {
    /// One that has been started.
    pub fn of(child: Child) -> Self {
        Running(Some(child))
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("has not been waited for").id()
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("has not been waited for")
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Output {
        finish(self.0.take().expect("has not been waited for"))
    }

    /// Tells it to end, and does not wait for that.
    pub fn ask_to_end(&mut self) {
        kill("-TERM", self.child().id());
    }

    /// Tells it to end.
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

/// The directories of the group that was made with this name.
pub fn dirs(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("crosstalk-external-{name}-"), &mut found);
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

pub fn await_that(what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
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
