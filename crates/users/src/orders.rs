//! The messages between a workload and its drivers: one JSON object a line.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// What a driver is to do: the first line on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// The overlay that the driver mounts, in a mount namespace of its own.
    pub overlay: Option<Overlay>,
    /// The users that it starts.
    pub users: Vec<UserOrders>,
}

/// An overlay over files of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// The folder that it hides.
    pub over: PathBuf,
    /// The folder that holds what is written.
    pub own: PathBuf,
}

impl Orders {
    /// The folders that its users need beside those that they work in, each once.
    pub fn shared(&self) -> Vec<PathBuf> {
        let folder = |user: &UserOrders| match &user.task {
            Task::Mix { common, .. } => Some(common.clone()),
            Task::Reread { file, .. } | Task::Stream { file } => file.parent().map(PathBuf::from),
            Task::Run { .. } => None,
        };
        let folders: BTreeSet<PathBuf> = self.users.iter().filter_map(folder).collect();
        folders.into_iter().collect()
    }
}

/// What one user does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserOrders {
    /// The user's number, from 0, over all groups.
    pub number: usize,
    /// The folder that the user works in; others may share it.
    pub folder: PathBuf,
    /// The seed of all users' random numbers.
    pub seed: u64,
    /// The user's jobs.
    pub task: Task,
}

/// The jobs of a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum Task {
    /// Jobs of a mix, in this order.
    Mix {
        /// The names of the tests.
        jobs: Vec<String>,
        /// The folder of the files that jobs only read.
        common: PathBuf,
        /// The share of each test's whole work.
        work: f64,
        /// The size of the files that tests read and write.
        file_size: Bytes,
    },
    /// Reads through a file again and again, slowly.
    Reread {
        /// The file.
        file: PathBuf,
        /// The bytes that the user reads: from the file's beginning.
        size: Bytes,
        /// The number of jobs.
        jobs: usize,
        /// The blocks of a job.
        blocks: usize,
    },
    /// Reads through a file again and again, as fast as it can, until it is stopped.
    Stream {
        /// The file.
        file: PathBuf,
    },
    /// Runs a command by the shell, once, in the folder in which the workload runs.
    Run {
        /// What the shell reads.
        command: String,
    },
}

/// What a driver gets after its orders: a line on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// All users begin.
    Begin,
    /// Users that run until they are stopped end.
    Stop,
}

/// What a driver reports: a line on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// All its users are ready to begin.
    Ready,
    /// A user has ended well.
    User {
        /// Its number.
        number: usize,
        /// What it did.
        done: UserRecord,
        /// Bytes that it read from devices in all its life, with its children (wait4(2)).
        device_reads: u64,
    },
    /// A user failed.
    Failed {
        /// Its number.
        number: usize,
        /// Why.
        fault: Fault,
    },
    /// A user was killed.
    Killed {
        /// Its number.
        number: usize,
        /// By which signal.
        signal: i32,
    },
    /// The driver itself cannot go on.
    Broken(Fault),
}

/// What a user reports to its driver.
pub type UserResult = Result<UserRecord, Fault>;

/// What a user did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserRecord {
    /// When it began and ended, in seconds of CLOCK_MONOTONIC (clock_gettime(2)).
    pub began: f64,
    /// See `began`.
    pub ended: f64,
    /// The jobs that it did.
    pub jobs: u64,
    /// The bytes that it read, if it reads a file of its own.
    pub read: u64,
    /// The bytes that its command read by system calls, from files, pipes and devices alike (proc_pid_io(5)); 0 if it
    /// runs none, or the kernel does not count them.
    pub read_by_command: u64,
    /// Seconds that its own process was ready to run while others ran (sched-stats.rst).
    pub run_delay: f64,
    /// Seconds of its CPU time in user mode since it began, with its children.
    pub cpu_user: f64,
    /// The same in system mode.
    pub cpu_system: f64,
    /// Seconds of pauses that are part of its jobs.
    pub paused: f64,
    /// Page faults of its own process with a read from a device.
    pub major_faults: u64,
}
