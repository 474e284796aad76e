//! Runs a list of specifications one after another, in a program with a `main` of its own: the
//! hidden verbs start that program again.

use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The user `nobody`.
pub const NOBODY: u32 = 65_534;

/// Set in the run that has given up root.
const ROOTLESS: &str = "CROSSTALK_TEST_ROOTLESS";

/// The most seconds that one specification may take, unless `CROSSTALK_DEADLINE` is set.
const DEADLINE: u64 = 60;

/// A specification and its name.
pub type Spec = (&'static str, fn());

/// Runs the specifications whose names contain the first argument, as this user. If that is
/// root, runs them again as nobody.
pub fn run(specs: &[Spec]) -> ExitCode {
    let wanted = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    let rootless = std::env::var_os(ROOTLESS).is_some();
    let seconds = std::env::var("CROSSTALK_DEADLINE").ok().and_then(|seconds| seconds.parse().ok());
    let deadline = Duration::from_secs(seconds.unwrap_or(DEADLINE));
    let mut failed = 0;
    for &(name, spec) in specs.iter().filter(|(name, _)| name.contains(&wanted)) {
        let began = Instant::now();
        let (done, wait) = mpsc::channel::<()>();
        let watchdog = thread::spawn(move || {
            if wait.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("test {name} ... HANGS after {deadline:?}");
                std::process::exit(101);
            }
        });
        let passed = catch_unwind(spec).is_ok();
        drop(done);
        watchdog.join().expect("ends when the channel closes");
        failed += usize::from(!passed);
        let (user, word) = (if rootless { "nobody" } else { "self" }, if passed { "ok" } else { "FAILED" });
        println!("test {name} (as {user}) ... {word} in {:.2} s", began.elapsed().as_secs_f64());
    }
    if crosstalk_host::user::is_root() && !rootless {
        let mut again = Command::new("/proc/self/exe");
        again.arg(&wanted).env(ROOTLESS, "1").env_remove("XDG_RUNTIME_DIR");
        let status = again.uid(NOBODY).gid(NOBODY).current_dir("/").status().expect("starts again");
        failed += usize::from(!status.success());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Traces that a cluster might leave outside of its namespaces: devices, routes (10.77.0.0/16, in
/// the notation of /proc), mounts of /proc, control groups. Other programs may change the rest
/// meanwhile.
pub fn traces_on_host() -> Vec<String> {
    let lines = |path: &str| -> Vec<String> {
        std::fs::read_to_string(path).unwrap_or_default().lines().map(String::from).collect()
    };
    let mut traces = lines("/proc/net/dev");
    traces.retain(|line| ["port", "switch"].iter().any(|name| line.trim_start().starts_with(name)));
    traces.extend(lines("/proc/net/route").into_iter().filter(|line| line.contains("00004D0A")));
    traces.extend(lines("/proc/self/mounts").into_iter().filter(|line| line.starts_with("proc ")));
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"] {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        traces.extend(names.filter(|name| name.contains("crosstalk")));
    }
    traces
}
