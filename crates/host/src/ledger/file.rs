//! The file of one owner's ledger: a line of JSON for each change that is opened or
//! closed. It is synced to disk before the change is made.

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::change::Change;
use crate::lockers::lockers;
use crate::process::{Identity, fresh_mark, send};
use crate::regular;

/// Between two attempts to lock a ledger.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// One line. The serialised names are those of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    /// The first line: the owner.
    Owner { process: Identity },
    /// A change is about to be made.
    Open {
        number: u64,
        #[serde(flatten)]
        change: Change,
    },
    /// The change has been undone.
    Close { number: u64 },
    /// The change could not be undone in time. It is tried again.
    #[serde(rename = "resisted")]
    UndoFailed { number: u64 },
}

/// A path for a new ledger of the running process, and that process's identity. The path is unique, as another
/// process of the same id may have begun at the same time in another PID namespace.
pub(super) fn name(folder: &Path) -> Result<(PathBuf, Identity), Fault> {
    let owner = Identity::own().ok_or_else(|| {
        Fault::environment("cannot read /proc/self/stat").remedy("mount /proc: mount -t proc proc /proc")
    })?;
    let unique = &fresh_mark()?[..8];
    Ok((folder.join(format!("{}-{}-{unique}.ndjson", owner.pid, owner.start)), owner))
}

/// The file, open for more lines.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    file: fs::File,
    /// The number of the next change.
    next: u64,
}

impl File {
    /// Creates the ledger of `owner`.
    pub(super) fn create(path: PathBuf, owner: Identity) -> Result<File, Fault> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|e| unwritable(&path, e))?;
        // The lock shows that this process is alive, also to a process that sees it under another id or not at
        // all, as in a container that shares the folder. Without file locks the id counts. If the lock fails, a
        // reader has it for a moment.
        let _ = file.lock_shared();
        let mut ledger = File { path, file, next: 0 };
        ledger.write(&Line::Owner { process: owner })?;
        Ok(ledger)
    }

    /// Lists a change before it is made. Returns its number.
    pub(super) fn open(&mut self, change: &Change) -> Result<u64, Fault> {
        let number = self.next;
        self.next += 1;
        self.write(&Line::Open { number, change: change.clone() })?;
        Ok(number)
    }

    /// Crosses a change out.
    pub(super) fn close(&mut self, number: u64) -> Result<(), Fault> {
        self.write(&Line::Close { number })
    }

    fn write(&mut self, line: &Line) -> Result<(), Fault> {
        let mut bytes = serde_json::to_vec(line).map_err(|e| Fault::environment(e.to_string()))?;
        bytes.push(b'\n');
        let before = self.file.metadata().map_err(|e| unwritable(&self.path, e))?.len();
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|e| {
            // The next line must begin on a line of its own. If this fails too, the line is reported as damaged.
            let _ = self.file.set_len(before);
            unwritable(&self.path, e)
        })
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> Fault {
    Fault::environment(format!("cannot write the undo ledger: {error}"))
        .at(path.display().to_string())
        .remedy("free space there; no lasting change is made without a ledger")
}

/// An exclusive lock on a ledger, for undoing it. Its owner holds a shared lock.
#[derive(Debug)]
pub(super) struct UndoLock {
    /// Locked while it is open; `None` if the file system has no locks.
    _file: Option<fs::File>,
}

/// Another process held the lock during the whole timeout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LockTimeout;

impl UndoLock {
    /// Locks the ledger at `path`, whose owner has ended. `None` if the ledger is gone.
    pub(super) fn take(path: &Path, timeout: Duration) -> Result<Option<UndoLock>, LockTimeout> {
        UndoLock::wait(path, timeout, |_| false)
    }

    /// The same for a ledger whose owner may be alive. `None` if it is.
    pub(super) fn take_if_abandoned(path: &Path, timeout: Duration) -> Result<Option<UndoLock>, LockTimeout> {
        UndoLock::wait(path, timeout, |file| file.try_lock_shared().is_ok())
    }

    fn wait(
        path: &Path,
        timeout: Duration,
        is_alive: impl Fn(&fs::File) -> bool,
    ) -> Result<Option<UndoLock>, LockTimeout> {
        let Ok(file) = regular::open(path) else { return Ok(None) };
        let until = Instant::now() + timeout;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(UndoLock { _file: Some(file) })),
                Err(fs::TryLockError::Error(_)) => return Ok(Some(UndoLock { _file: None })),
                Err(fs::TryLockError::WouldBlock) if is_alive(&file) => return Ok(None),
                Err(fs::TryLockError::WouldBlock) if Instant::now() >= until => return Err(LockTimeout),
                Err(fs::TryLockError::WouldBlock) => {
                    continue_holders(&file);
                    thread::sleep(POLL_INTERVAL);
                }
            }
        }
    }
}

/// Lets the processes that undo a ledger go on, if they were stopped. Its owner, which holds a lock too, has ended.
fn continue_holders(ledger: &fs::File) {
    let holders = ledger.metadata().map(|metadata| lockers(&metadata)).unwrap_or_default();
    // 0 is a process of another PID namespace.
    holders.into_iter().filter(|pid| *pid != 0).for_each(|pid| send(pid, libc::SIGCONT));
}

/// The content of a ledger.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The owner; `None` if the first line is damaged, or did not reach the disk. In the latter case nothing
    /// was changed.
    pub(super) owner: Option<Identity>,
    /// Changes that are not undone, with their numbers, the last one first.
    pub(super) open: Vec<(u64, Change)>,
    /// The numbers of changes that could not be undone before.
    pub(super) undo_failed: BTreeSet<u64>,
    /// The numbers of damaged lines, from 1.
    pub(super) damaged: Vec<usize>,
}

/// Reads a ledger. If the last line is incomplete, its owner was killed before it made
/// that change.
pub(super) fn read(path: &Path) -> std::io::Result<Contents> {
    let mut bytes = Vec::new();
    regular::open(path)?.read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Contents {
    let mut owner = None;
    let (mut open, mut undo_failed, mut damaged) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for (at, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(Line::Owner { process }) => owner = Some(process),
            Ok(Line::Open { number, change }) => drop(open.insert(number, change)),
            Ok(Line::Close { number }) => drop(open.remove(&number)),
            Ok(Line::UndoFailed { number }) => drop(undo_failed.insert(number)),
            Err(_) => damaged.push(at + 1),
        }
    }
    Contents { owner, open: open.into_iter().rev().collect(), undo_failed, damaged }
}

/// Crosses out changes that were undone in the ledger at `path`, whose owner has ended, and notes those that
/// could not be undone.
pub(super) fn note(path: &Path, undone: &[u64], undo_failed: &[u64]) -> Result<(), Fault> {
    if undone.is_empty() && undo_failed.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().append(true).open(path).map_err(|e| unwritable(path, e))?;
    let mut ledger = File { path: path.into(), file, next: 0 };
    // An incomplete last line is removed: with more text it would be a damaged line.
    let bytes = fs::read(path).map_err(|e| unwritable(path, e))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last as u64 + 1);
    ledger.file.set_len(whole).map_err(|e| unwritable(path, e))?;
    undone.iter().try_for_each(|number| ledger.close(*number))?;
    undo_failed.iter().try_for_each(|number| ledger.write(&Line::UndoFailed { number: *number }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;
    use std::process::{Command, Stdio};

    fn change(mark: &str) -> Change {
        Change::Processes { mark: mark.into(), what: "a test".into() }
    }

    #[test]
    fn changes_that_are_not_closed_are_open_in_reverse_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, owner) = name(folder.path()).expect("this process has a stat file");
        let mut ledger = File::create(path.clone(), owner).expect("is made");
        let first = ledger.open(&change("a")).expect("writes");
        ledger.open(&change("b")).expect("writes");
        ledger.open(&change("c")).expect("writes");
        ledger.close(first).expect("writes");
        let contents = read(&path).expect("reads");
        assert_eq!(contents.owner, Some(owner));
        assert_eq!(contents.open, [(2, change("c")), (1, change("b"))]);
        note(&path, &[2], &[1]).expect("writes");
        let contents = read(&path).expect("reads");
        assert_eq!((contents.open, contents.undo_failed), (vec![(1, change("b"))], BTreeSet::from([1])));
    }

    #[test]
    fn a_ledger_is_locked_by_its_owner_and_then_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, owner) = name(folder.path()).expect("this process has a stat file");
        let ledger = File::create(path.clone(), owner).expect("is made");
        let soon = Duration::from_secs(1);
        let abandoned = UndoLock::take_if_abandoned(&path, soon);
        assert!(abandoned.expect("nobody undoes it").is_none(), "its owner is alive");
        drop(ledger);
        // Processes that other tests start have all files open for a moment.
        let take = |timeout| UndoLock::take(&path, timeout);
        let first = take(soon).expect("nobody has it");
        assert!(first.is_some());
        let began = Instant::now();
        let short = Duration::from_millis(50);
        assert_eq!(UndoLock::take_if_abandoned(&path, short).expect_err("another has it"), LockTimeout);
        assert_eq!(take(short).expect_err("another has it"), LockTimeout);
        assert!(began.elapsed() >= 2 * short);
        drop(first);
        assert!(take(soon).expect("nobody has it any more").is_some());
        let none = UndoLock::take(&folder.path().join("none"), Duration::ZERO);
        assert!(none.expect("nobody has it").is_none());
    }

    #[test]
    fn who_undoes_it_and_was_stopped_goes_on() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        fs::write(&path, "").expect("writes");
        let mut holder = Command::new("flock");
        let script = "echo it has the lock; kill -STOP $PPID";
        holder.args(["x.ndjson", "sh", "-c", script]).current_dir(folder.path()).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("starts");
        let mut line = String::new();
        let output = holder.stdout.take().expect("is piped");
        std::io::BufReader::new(output).read_line(&mut line).expect("reads");
        assert_eq!(line, "it has the lock\n");
        let taken = UndoLock::take(&path, Duration::from_secs(60));
        // So that a failure leaves nothing.
        let _ = holder.kill();
        let _ = holder.wait();
        assert!(taken.expect("it goes on and ends").is_some());
    }

    #[test]
    fn an_incomplete_line_is_a_change_that_was_not_made() {
        let whole = r#"{"line":"open","number":0,"change":"processes","mark":"a","what":"a test"}"#;
        assert_eq!(parse(format!("{whole}\n").as_bytes()).open, [(0, change("a"))]);
        assert!(parse(whole.as_bytes()).open.is_empty(), "its end is missing");
        let cut = &whole.as_bytes()[..40];
        assert!(parse(cut).open.is_empty() && parse(cut).damaged.is_empty());
        assert_eq!(parse(&[cut, b"\n"].concat()).damaged, [1]);
    }

    #[test]
    fn a_note_is_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let whole = r#"{"line":"open","number":0,"change":"processes","mark":"a","what":"a test"}"#;
        fs::write(&path, format!("{whole}\n{}", &whole[..40])).expect("writes");
        note(&path, &[], &[0]).expect("writes");
        let contents = read(&path).expect("reads");
        assert_eq!(
            (contents.open.len(), contents.undo_failed, contents.damaged),
            (1, [0].into(), Vec::new())
        );
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let modes = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, modes, 0)
            .expect("makes a pipe");
        assert!(read(&path).is_err());
        assert!(UndoLock::take(&path, Duration::ZERO).is_ok_and(|lock| lock.is_none()));
    }
}
