//! The process that outlives its owner just long enough to tidy up.

use crosstalk_core::Fault;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::time::Duration;

use super::undo::{self, Patience};
use crate::launcher::Launcher;
use crate::process::{MARK, ignore_signals, leave_session, rename, send, wait_readable};

/// The hidden verb that [`reaper_main`] stands behind.
const VERB: &str = "reap";

/// The owner's hold on its reaper: letting go sets it to work.
#[derive(Debug)]
pub(super) struct Reaper {
    child: Child,
    pipe: Option<ChildStdin>,
    ledger: PathBuf,
}

impl Reaper {
    /// Starts the reaper of the ledger at `path`, and waits until no signal
    /// that is meant for its owner can reach it.
    pub(super) fn start(launcher: &Launcher, path: &Path) -> Result<Reaper, Fault> {
        let failed = |why: String| Fault::environment(format!("cannot start the reaper: {why}"));
        let mut command = launcher.command(VERB);
        command.arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // An agent's processes carry their owner's mark, and are killed by it: its reaper, which then
        // has to undo what the agent did, must not be one of them.
        command.env_remove(MARK);
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let pipe = child.stdin.take();
        let mut reaper = Reaper { child, pipe, ledger: path.into() };
        let mut ready = reaper.child.stdout.take().ok_or_else(|| failed("no pipe".into()))?;
        let in_time = wait_readable(&[&ready], Some(Duration::from_secs(10))).is_ok_and(|r| r[0]);
        let mut byte = [0];
        if in_time && ready.read_exact(&mut byte).is_ok() {
            return Ok(reaper);
        }
        Err(failed(format!("{} {VERB} gave no sign of life", launcher.program.display())))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe.take();
        // Somebody may have stopped it.
        send(self.child.id(), libc::SIGCONT);
        // It undoes what is open within bounded time, and always ends.
        let _ = self.child.wait();
        // In case it was killed. What fails here too is left to the next start.
        let _ = undo::finish(&self.ledger, Patience::Brief);
    }
}

/// What the hidden verb `reap` does: waits until its standard input ends, then
/// undoes what the ledger named by the first argument still holds open.
pub fn reaper_main(args: &[String]) -> ExitCode {
    let Some(path) = args.first() else { return ExitCode::from(2) };
    rename("crosstalk-reap");
    // Ctrl-C and a closing terminal are the owner's business.
    leave_session();
    ignore_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE]);
    let mut out = std::io::stdout();
    if out.write_all(b"+").and_then(|()| out.flush()).is_err() {
        return ExitCode::from(4);
    }
    // An error ends the wait as the end of the pipe does: the owner is gone.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let cleaned = undo::finish(Path::new(path), Patience::Full);
    if cleaned.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) }
}
