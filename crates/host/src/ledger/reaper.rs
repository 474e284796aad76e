//! The processes that outlive their owner just long enough to tidy up.

use crosstalk_core::Fault;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::time::Duration;

use super::tree;
use super::undo::{self, Patience};
use crate::launcher::Launcher;
use crate::process::{MARK, cannot, ignore_signals, leave_session, rename, send, wait_readable};

/// The hidden verb that [`reaper_main`] stands behind.
const VERB: &str = "reap";

/// What a reaper is called in `ps`.
pub const REAPER: &str = "crosstalk-reap";
/// What tells a reaper to leave its owner's control groups.
const APART: &str = "apart";
/// What is leased is put back when its owner has not renewed it for so long.
pub const LEASE: Duration = Duration::from_secs(4);

/// The owner's hold on its reapers: letting go sets them to work. One is there from the beginning, a second since
/// the owner first renewed a lease: then no two processes that are killed or stopped, the owner's among them,
/// leave what is leased as it is.
#[derive(Debug)]
pub(super) struct Reapers {
    launcher: Launcher,
    ledger: PathBuf,
    all: Vec<Reaper>,
}

impl Reapers {
    /// Starts the first reaper of the ledger at `path`, and waits until no signal that is meant for its owner can
    /// reach it.
    pub(super) fn start(launcher: &Launcher, path: &Path) -> Result<Reapers, Fault> {
        let first = Reaper::start(launcher, path, false)?;
        Ok(Reapers { launcher: launcher.clone(), ledger: path.into(), all: vec![first] })
    }

    /// Tells them that their owner is at work. There are two from now on: one that was killed is replaced.
    pub(super) fn renew(&mut self) -> Result<(), Fault> {
        self.all.retain(Reaper::renew);
        for apart in [false, true] {
            if !self.all.iter().any(|one| one.apart == apart) {
                let reaper = Reaper::start(&self.launcher, &self.ledger, apart)?;
                reaper.renew();
                self.all.push(reaper);
            }
        }
        Ok(())
    }
}

impl Drop for Reapers {
    fn drop(&mut self) {
        self.all.clear();
        // In case they were killed. What fails here too is left to the next start.
        let _ = undo::finish(&self.ledger, Patience::Brief);
    }
}

/// One of them.
#[derive(Debug)]
struct Reaper {
    child: Child,
    pipe: Option<ChildStdin>,
    /// Whether it stands in no control group of its owner's, so that it outlives what is done to all in those.
    apart: bool,
}

impl Reaper {
    fn start(launcher: &Launcher, path: &Path, apart: bool) -> Result<Reaper, Fault> {
        let failed = |why: String| Fault::environment(format!("cannot start the reaper: {why}"));
        let mut command = launcher.command(VERB);
        command.arg(path).args(apart.then_some(APART));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // An agent's processes carry their owner's mark, and are killed by it: its reaper, which then
        // has to undo what the agent did, must not be one of them.
        command.env_remove(MARK);
        let mut child = command.spawn().map_err(|e| cannot("start the reaper", &e))?;
        let pipe = child.stdin.take();
        // One that is stopped does not read: its owner must not wait for it.
        let open = pipe.as_ref().map(|pipe| fcntl_setfl(pipe, OFlags::NONBLOCK));
        let mut reaper = Reaper { child, pipe, apart };
        open.transpose().map_err(|e| failed(e.to_string()))?;
        let mut ready = reaper.child.stdout.take().ok_or_else(|| failed("no pipe".into()))?;
        let in_time = wait_readable(&[&ready], Some(Duration::from_secs(10))).is_ok_and(|r| r[0]);
        let mut byte = [0];
        if in_time && ready.read_exact(&mut byte).is_ok() {
            return Ok(reaper);
        }
        Err(failed(format!("{} {VERB} gave no sign of life", launcher.program.display())))
    }

    /// Tells it that its owner is at work; no where it has ended.
    fn renew(&self) -> bool {
        let written = self.pipe.as_ref().map(|mut pipe| pipe.write(b"."));
        !written.is_some_and(|written| written.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe.take();
        // Somebody may have stopped it.
        send(self.child.id(), libc::SIGCONT);
        // It undoes what is open within bounded time, and always ends.
        let _ = self.child.wait();
    }
}

/// What the hidden verb `reap` does: waits until its standard input ends, then undoes what the ledger named by the
/// first argument still holds open. Once it has heard of its owner, it puts back what is leased whenever it does
/// not hear for [`LEASE`].
pub fn reaper_main(args: &[String]) -> ExitCode {
    let Some(path) = args.first().map(Path::new) else { return ExitCode::from(2) };
    rename(REAPER);
    // Ctrl-C and a closing terminal are the owner's business.
    leave_session();
    ignore_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE]);
    if args.get(1).is_some_and(|word| word == APART) {
        tree::to_the_top();
    }
    let mut out = std::io::stdout();
    if out.write_all(b"+").and_then(|()| out.flush()).is_err() {
        return ExitCode::from(4);
    }
    await_end(path);
    // Not in turn: who has it may be stopped just now.
    undo::end_leases(path);
    let cleaned = undo::finish(path, Patience::Full);
    if cleaned.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) }
}

/// Waits until standard input ends. An error ends the wait, too: the owner is gone.
fn await_end(ledger: &Path) {
    let stdin = std::io::stdin();
    // Whether it is to hear of its owner within the time.
    let (mut leased, mut beats) = (false, [0; 256]);
    loop {
        match wait_readable(&[&stdin], leased.then_some(LEASE)) {
            // What cannot be put back now is tried again.
            Ok(readable) if !readable[0] => leased = !undo::end_leases(ledger),
            Ok(_) => match rustix::io::read(&stdin, &mut beats) {
                Ok(0) => return,
                Ok(_) => leased = true,
                Err(Errno::INTR) => {}
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
}
