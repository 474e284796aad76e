//! The reapers: processes that outlive the owner of a ledger to undo its changes.

use crosstalk_core::Fault;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::time::Duration;

use super::folder::folders;
use super::tree;
use super::undo::{self, UndoTime};
use crate::launcher::Launcher;
use crate::process::{MARK, cannot, ignore_signals, leave_session, send, set_process_name, wait_readable};

/// The hidden verb that runs [`reaper_main`].
pub const REAP: &str = "reap";

/// A reaper's name in `ps`.
pub const REAPER: &str = "crosstalk-reap";
/// The argument that lets a reaper leave its owner's control groups.
const APART: &str = "apart";
/// Leased settings are restored if their owner has not renewed the lease for this time.
pub const LEASE: Duration = Duration::from_secs(4);

/// The reapers of one owner; dropping it lets them undo all open changes. The first one runs from the beginning, the
/// second one from the first renewal of a lease on. So leased settings are restored, whichever two of the three
/// processes are killed or stopped.
#[derive(Debug)]
pub(super) struct Reapers {
    launcher: Launcher,
    ledger: PathBuf,
    all: Vec<Reaper>,
}

impl Reapers {
    /// Starts the first reaper of the ledger at `path`, and waits until it has left its owner's session.
    pub(super) fn start(launcher: &Launcher, path: &Path) -> Result<Reapers, Fault> {
        let first = Reaper::start(launcher, path, false)?;
        Ok(Reapers { launcher: launcher.clone(), ledger: path.into(), all: vec![first] })
    }

    /// Renews the lease at both reapers. Starts them if they do not run.
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
        // In case the reapers were killed. A failure here is left to the next owner.
        let _ = undo::finish(&self.ledger, UndoTime::Short);
    }
}

/// One reaper.
#[derive(Debug)]
struct Reaper {
    child: Child,
    pipe: Option<ChildStdin>,
    /// Whether it is outside of its owner's control groups, so that it survives what is done to them.
    apart: bool,
}

impl Reaper {
    fn start(launcher: &Launcher, path: &Path, apart: bool) -> Result<Reaper, Fault> {
        let failed = |why: String| Fault::environment(format!("cannot start the reaper: {why}"));
        let mut command = launcher.command(REAP);
        command.arg(path).args(apart.then_some(APART));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // An agent's processes carry a mark, by which they are killed. Its reaper must survive that, to
        // undo the agent's changes.
        command.env_remove(MARK);
        let mut child = command.spawn().map_err(|e| cannot("start the reaper", &e))?;
        let pipe = child.stdin.take();
        // A stopped reaper does not read. Its owner must not block on it.
        let open = pipe.as_ref().map(|pipe| fcntl_setfl(pipe, OFlags::NONBLOCK));
        let mut reaper = Reaper { child, pipe, apart };
        open.transpose().map_err(|e| failed(e.to_string()))?;
        let mut ready = reaper.child.stdout.take().ok_or_else(|| failed("no pipe".into()))?;
        let in_time = wait_readable(&[&ready], Some(Duration::from_secs(10))).is_ok_and(|r| r[0]);
        let mut byte = [0];
        if in_time && ready.read_exact(&mut byte).is_ok() {
            return Ok(reaper);
        }
        Err(failed(format!("{} {REAP} did not report that it is ready", launcher.program.display())))
    }

    /// Renews the lease. Returns false if the reaper has ended.
    fn renew(&self) -> bool {
        let written = self.pipe.as_ref().map(|mut pipe| pipe.write(b"."));
        !written.is_some_and(|written| written.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe.take();
        // It may have been stopped.
        send(self.child.id(), libc::SIGCONT);
        // It undoes all changes within bounded time, and then ends.
        let _ = self.child.wait();
    }
}

/// Runs a reaper, for the hidden verb `reap`. It waits until its standard input ends, then undoes the open changes of
/// the ledger that the first argument names. After a first renewal, it also restores leased settings whenever no
/// renewal has come for [`LEASE`].
pub fn reaper_main(args: &[String]) -> ExitCode {
    let Some(path) = args.first().map(Path::new) else { return ExitCode::from(2) };
    set_process_name(REAPER);
    // Ctrl-C and a closing terminal concern the owner only.
    leave_session();
    ignore_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE]);
    if args.get(1).is_some_and(|word| word == APART) {
        tree::move_to_roots();
    }
    let mut out = std::io::stdout();
    if out.write_all(b"+").and_then(|()| out.flush()).is_err() {
        return ExitCode::from(4);
    }
    await_end(path, &std::io::stdin(), LEASE);
    // Without the lock: the process that has it may be stopped.
    undo::end_leases(path);
    let ended_others = undo::names_processes(path);
    let mut cleaned = undo::finish(path, UndoTime::Full);
    if ended_others {
        // These processes may have had ledgers, and their reapers may have ended with them: the kernel
        // ends all processes of a PID namespace with its first one.
        cleaned.add(undo::clean_all(&folders(), UndoTime::Full));
    }
    if cleaned.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) }
}

/// Waits until the owner's pipe ends, and restores leased settings meanwhile. An error ends the wait, too.
fn await_end(ledger: &Path, owner: &dyn AsFd, lease: Duration) {
    // Whether the owner has ever renewed the lease. This stays true: an owner that is stopped, continued and
    // stopped again may have set something in between without a renewal.
    let (mut leased, mut beats) = (false, [0; 256]);
    loop {
        match wait_readable(&[owner], leased.then_some(lease)) {
            // It is tried again later if it fails, and does nothing if nothing is set.
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

    use crate::ledger::change::Change;

    #[test]
    fn leased_settings_are_restored_whenever_their_owner_stops() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ledger, knob) = (folder.path().join("x.ndjson"), folder.path().join("knob"));
        let original = "before".to_string();
        let change =
            Change::Knob { path: knob.clone(), original, inode: None, leased: true, what: "a knob".into() };
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
            // The owner continues, sets it again, and stops before it renews the lease.
            fs::write(&knob, "ours").expect("writes");
        }
        drop(owner);
        reaper.join().expect("ends with its owner");
    }
}
