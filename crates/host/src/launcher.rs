//! Starts this program again with a hidden verb.
//!
//! Namespaces must not be set up in a forked copy of a process with many threads
//! (fork(2): only the calling thread survives, locks stay locked). So the holder, the
//! reaper and the agents are fresh processes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Starts the hidden verbs of a program: `agent`, `end`, `hold`, `reap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Arguments in front of the verb.
    pub args: Vec<OsString>,
}

impl Launcher {
    /// The running program, by its path in `/proc`. It can be started even after its file was
    /// replaced, or by a user who may not read its folder.
    pub fn current() -> Self {
        Launcher { program: "/proc/self/exe".into(), args: Vec::new() }
    }

    /// Starts the verbs of the program at `path`.
    pub fn of_program(path: impl Into<PathBuf>) -> Self {
        Launcher { program: path.into(), args: Vec::new() }
    }

    /// The command that runs the hidden verb `verb`.
    pub fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(verb);
        command
    }
}
