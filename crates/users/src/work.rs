//! A user at work: gets ready, waits for the beginning, does its jobs, and reports what it did.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use crosstalk_core::{Fault, quoted};
use crosstalk_host::clock::{switches_and_faults, thread_schedstat};
use crosstalk_host::process::{Usage, cannot, end_with_starter};
use crosstalk_stats::rng::Rng;
use rustix::time::{ClockId, clock_gettime};

use crate::common::CommonFiles;
use crate::orders::{Task, UserOrders, UserRecord};
use crate::reread::{BLOCK, BlockFile, reread, stream};
use crate::test::{Test, test};
use crate::user::{User, random};

/// The jobs of a user, ready to begin.
enum Jobs<'a> {
    Mix(Vec<&'static Test>, User),
    Reread { file: BlockFile<'a>, jobs: usize, blocks: usize, random: Rng },
    Stream(BlockFile<'a>),
    Run(&'a str),
}

/// The ends of pipes by which a user and its driver wait for each other. Nothing is written: each is closed.
pub struct Pipes {
    /// The user closes it when it is ready.
    pub ready: File,
    /// The driver closes its end when all users are to begin.
    pub begin: File,
    /// The driver closes its end when users that run until they are stopped are to end.
    pub stop: File,
}

/// Does a user's jobs.
///
/// # Errors
/// If a job fails, or finds a wrong result.
pub fn work(orders: &UserOrders, pipes: Pipes) -> Result<UserRecord, Fault> {
    let Pipes { ready, mut begin, stop } = pipes;
    let mut jobs = Jobs::prepare(orders)?;
    drop(ready);
    // It ends when the driver has closed its end, or has ended.
    let _ = begin.read(&mut [0]);
    let (began, before, used) = (now(), ProcessWaits::now(), Usage::so_far());
    let JobTotals { done, read, read_by_command, paused } = jobs.run(&stop)?;
    let (ended, after, used) = (now(), ProcessWaits::now(), Usage::so_far().since(used));
    Ok(UserRecord {
        began,
        ended,
        jobs: done,
        read,
        read_by_command,
        run_delay: after.run_delay - before.run_delay,
        paused: paused.as_secs_f64(),
        major_faults: after.major_faults - before.major_faults,
        cpu_user: used.user.as_secs_f64(),
        cpu_system: used.system.as_secs_f64(),
    })
}

impl<'a> Jobs<'a> {
    fn prepare(orders: &'a UserOrders) -> Result<Self, Fault> {
        Ok(match &orders.task {
            Task::Mix { jobs, common, work, file_size } => {
                let tests = jobs.iter().map(|name| test(name)).collect::<Result<_, _>>()?;
                let (common, seeds) = (CommonFiles::made(common), (orders.seed, orders.number as u64));
                Jobs::Mix(tests, User::new(orders.folder.clone(), common, *work, *file_size, seeds))
            }
            Task::Reread { file, size, jobs, blocks } => {
                let mut file = BlockFile::open(file, Some(size.0))?;
                // Its pages are charged to its group before the time begins.
                file.read_all()?;
                let random = random(orders.seed, orders.number as u64);
                Jobs::Reread { file, jobs: *jobs, blocks: *blocks, random }
            }
            Task::Stream { file } => Jobs::Stream(BlockFile::open(file, None)?),
            Task::Run { command } => Jobs::Run(command),
        })
    }

    fn run(&mut self, stop: &File) -> Result<JobTotals, Fault> {
        match self {
            Jobs::Mix(tests, user) => {
                tests.iter().try_for_each(|test| (test.run)(user))?;
                Ok(JobTotals { done: tests.len() as u64, ..JobTotals::default() })
            }
            Jobs::Reread { file, jobs, blocks, random } => {
                let (mut next, mut paused) = (0, Duration::ZERO);
                for _ in 0..*jobs {
                    paused += reread(file, next, *blocks, random)?;
                    next += *blocks as u64;
                }
                Ok(JobTotals {
                    done: *jobs as u64,
                    read: next * BLOCK as u64,
                    paused,
                    ..JobTotals::default()
                })
            }
            Jobs::Stream(file) => {
                Ok(JobTotals { read: stream(file, stop)? * BLOCK as u64, ..JobTotals::default() })
            }
            Jobs::Run(command) => {
                let before = read_by_calls();
                run_command(command)?;
                let read_by_command = read_by_calls().saturating_sub(before);
                Ok(JobTotals { done: 1, read_by_command, ..JobTotals::default() })
            }
        }
    }
}

/// What jobs did.
#[derive(Debug, Default)]
struct JobTotals {
    /// The jobs that were done.
    done: u64,
    /// Bytes that were read.
    read: u64,
    /// Bytes that a command read by system calls.
    read_by_command: u64,
    /// The time of pauses.
    paused: Duration,
}

/// Runs a command, which must end well. What it prints is not kept.
fn run_command(command: &str) -> Result<(), Fault> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    end_with_starter(&mut shell);
    let status = shell.status().map_err(|e| cannot("run a command", &e))?;
    if status.success() {
        return Ok(());
    }
    let remedy = "run it by itself to see what it prints";
    Err(Fault::attempt(format!("`{}` ended with {status}", quoted(command))).remedy(remedy))
}

/// The bytes that this process and those it has waited for have read by system calls; 0 if the kernel does not say.
fn read_by_calls() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let count = |line: &str| line.strip_prefix("rchar:")?.trim().parse().ok();
    text.lines().find_map(count).unwrap_or(0)
}

/// Seconds of CLOCK_MONOTONIC, which all processes of a host share.
pub fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What this process has waited for so far.
struct ProcessWaits {
    run_delay: f64,
    major_faults: u64,
}

impl ProcessWaits {
    /// A count that the kernel does not report is zero.
    fn now() -> Self {
        ProcessWaits {
            run_delay: thread_schedstat().map_or(0.0, |stat| stat.delay_ns as f64 * 1e-9),
            major_faults: switches_and_faults().map_or(0, |counts| counts.major_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_and_its_children_read_is_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 3 << 20]).expect("writes");
        let before = read_by_calls();
        if before == 0 {
            eprintln!("skipped: the kernel does not count what processes read");
            return;
        }
        run_command(&format!("(wc -c < /dev/null; md5sum '{}')", path.display())).expect("ends well");
        assert!(read_by_calls() - before >= 3 << 20);
    }
}
