//! The processes that outlive their owner just long enough to tidy up.

use crosstalk_core::Fault;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::time::Duration;

use super::folders;
use super::tree;
use super::undo::{self, Patience};
use crate::launcher::Launcher;
use crate::process::{MARK, cannot, ignore_signals, leave_session, rename, send, wait_readable};

/// The hidden verb that [`reaper_main`] stands behind.
pub const REAP: &str = "reap";

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
        let mut command = launcher.command(REAP);
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
        Err(failed(format!("{} {REAP} gave no sign of life", launcher.program.display())))
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
    await_end(path, &std::io::stdin(), LEASE);
    // Not in turn: who has it may be stopped just now.
    undo::end_leases(path);
    let ended_others = undo::names_processes(path);
    let mut cleaned = undo::finish(path, Patience::Full);
    if ended_others {
        // They may have had ledgers of their own, and their reapers may have ended with them: a PID
        // namespace takes all of its processes along.
        cleaned.add(undo::clean_all(&folders(), Patience::Full));
    }
    if cleaned.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) }
}

/// Waits until the owner's pipe ends. An error ends the wait, too: the owner is gone.
fn await_end(ledger: &Path, owner: &dyn AsFd, lease: Duration) {
    // Whether the owner has ever renewed the lease. It stays so: an owner that is stopped, continued and stopped
    // again may have set something in between without having renewed it.
    let (mut leased, mut beats) = (false, [0; 256]);
    loop {
        match wait_readable(&[owner], leased.then_some(lease)) {
            // What cannot be put back now is tried again, and nothing is done where nothing is set.
            Ok(readable) if !readable[0] => undo::end_leases(ledger),
            Ok(_) => match rustix::io::read(owner, &mut beats) {
                Ok(0) => return,
                Ok(_) => leased = true,
                Err(Errno::INTR) => {}
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Instant;

    use crate::ledger::Change;

    #[test]
    fn an_owner_that_stops_twice_has_what_is_leased_put_back_twice() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ledger, knob) = (folder.path().join("x.ndjson"), folder.path().join("knob"));
        let was = "before".to_string();
        let change =
            Change::Knob { path: knob.clone(), was, inode: None, leased: true, what: "a knob".into() };
        let change = serde_json::to_string(&change).expect("is JSON");
        let text = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":1,\"start\":1}}}}\n{{\"line\":\"open\",\"number\":0,{}\n",
            &change[1..]
        );
        fs::write(&ledger, text).expect("writes");
        fs::write(&knob, "ours").expect("writes");
        let (read, mut owner) = std::io::pipe().expect("a pipe");
        let reaper = std::thread::spawn(move || await_end(&ledger, &read, Duration::from_millis(5)));
        owner.write_all(b".").expect("renews");
        for _ in 0..3 {
            let until = Instant::now() + Duration::from_secs(20);
            while fs::read_to_string(&knob).expect("reads") != "before" {
                assert!(Instant::now() < until, "it is put back");
                std::thread::sleep(Duration::from_millis(1));
            }
            // It goes on, sets it again, and stops before it renews.
            fs::write(&knob, "ours").expect("writes");
        }
        drop(owner);
        reaper.join().expect("ends with its owner");
    }
}
