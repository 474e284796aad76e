//! One owner's ledger on disk: a line of JSON for each change that is opened
//! or closed, each on disk before the change is made.

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Change;
use crate::process::{Identity, fresh_mark};
use crate::regular;

/// Between two looks whether another is through.
const GLANCE: Duration = Duration::from_millis(5);

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    /// The first: whose ledger it is.
    Owner { process: Identity },
    /// A change is about to be made.
    Open {
        number: u64,
        #[serde(flatten)]
        change: Change,
    },
    /// It has been undone.
    Close { number: u64 },
    /// It could not be undone in time, which is tried again.
    Resisted { number: u64 },
}

/// A name for a new ledger of the running process, and who that is. Another process of the same number may
/// have begun at the same time in another PID namespace.
pub(super) fn name(folder: &Path) -> Result<(PathBuf, Identity), Fault> {
    let owner = Identity::own().ok_or_else(|| {
        Fault::environment("cannot read /proc/self/stat").remedy("mount /proc: mount -t proc proc /proc")
    })?;
    let unique = &fresh_mark()?[..8];
    Ok((folder.join(format!("{}-{}-{unique}.ndjson", owner.pid, owner.start)), owner))
}

/// The owner's end: adds lines.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    file: fs::File,
    next: u64,
}

impl File {
    /// Begins the ledger of `owner`.
    pub(super) fn create(path: PathBuf, owner: Identity) -> Result<File, Fault> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|e| unwritable(&path, e))?;
        // Whoever sees this process under another number, or not at all (in a container that shares
        // the folder), sees by the lock that it lives. Where there are no locks, the number counts.
        // Who looks just now lets go in a moment.
        let _ = file.lock_shared();
        let mut ledger = File { path, file, next: 0 };
        ledger.write(&Line::Owner { process: owner })?;
        Ok(ledger)
    }

    /// Writes down a change before it is made; returns its number.
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
            // What comes next is to begin on a line of its own. Where that fails, too, it is told as damaged.
            let _ = self.file.set_len(before);
            unwritable(&self.path, e)
        })
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> Fault {
    Fault::environment(format!("cannot write the undo ledger: {error}"))
        .at(path.display().to_string())
        .remedy("free space there; nothing lasting is done without a ledger")
}

/// The right to finish a ledger, which one process has at a time. Its writer shares the lock with
/// whoever looks at it; who finishes it has it alone.
#[derive(Debug)]
pub(super) struct Turn {
    /// Locked while it is open; `None` where there are no locks.
    _file: Option<fs::File>,
}

/// Somebody else has the turn, and had it for all the time that there was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl Turn {
    /// The turn at the ledger at `path`, whose writer is gone; `None` where the ledger is, too. Who
    /// has it now is waited for.
    pub(super) fn take(path: &Path, patience: Duration) -> Result<Option<Turn>, Busy> {
        Turn::wait(path, patience, |_| false)
    }

    /// The same for one whose writer may live; `None` where it does.
    pub(super) fn take_if_left(path: &Path, patience: Duration) -> Result<Option<Turn>, Busy> {
        Turn::wait(path, patience, |file| file.try_lock_shared().is_ok())
    }

    fn wait(
        path: &Path,
        patience: Duration,
        lives: impl Fn(&fs::File) -> bool,
    ) -> Result<Option<Turn>, Busy> {
        let Ok(file) = regular::open(path) else { return Ok(None) };
        let until = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Turn { _file: Some(file) })),
                Err(fs::TryLockError::Error(_)) => return Ok(Some(Turn { _file: None })),
                Err(fs::TryLockError::WouldBlock) if lives(&file) => return Ok(None),
                Err(fs::TryLockError::WouldBlock) if Instant::now() >= until => return Err(Busy),
                Err(fs::TryLockError::WouldBlock) => thread::sleep(GLANCE),
            }
        }
    }
}

/// What a ledger says.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Whose it is; `None` if the first line did not reach the disk, in which case nothing was changed
    /// either, or is damaged.
    pub(super) owner: Option<Identity>,
    /// Changes not undone, with their numbers, the last first.
    pub(super) open: Vec<(u64, Change)>,
    /// Those of them that have resisted before.
    pub(super) resisted: BTreeSet<u64>,
    /// Lines of which nobody can tell what they say, from 1.
    pub(super) unread: Vec<usize>,
}

/// Reads a ledger, its writer dead or alive. A last line cut short by the end
/// of its writer announces a change that was not made.
pub(super) fn read(path: &Path) -> std::io::Result<Contents> {
    let mut bytes = Vec::new();
    regular::open(path)?.read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Contents {
    let mut owner = None;
    let (mut open, mut resisted, mut unread) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for (at, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(Line::Owner { process }) => owner = Some(process),
            Ok(Line::Open { number, change }) => drop(open.insert(number, change)),
            Ok(Line::Close { number }) => drop(open.remove(&number)),
            Ok(Line::Resisted { number }) => drop(resisted.insert(number)),
            Err(_) => unread.push(at + 1),
        }
    }
    Contents { owner, open: open.into_iter().rev().collect(), resisted, unread }
}

/// Crosses out what was undone of the ledger at `path`, whose owner is gone, and notes what has resisted.
pub(super) fn note(path: &Path, undone: &[u64], resisted: &[u64]) -> Result<(), Fault> {
    if undone.is_empty() && resisted.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().append(true).open(path).map_err(|e| unwritable(path, e))?;
    let mut ledger = File { path: path.into(), file, next: 0 };
    // Its last line may be cut short, and would be one that nobody can read.
    let bytes = fs::read(path).map_err(|e| unwritable(path, e))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last as u64 + 1);
    ledger.file.set_len(whole).map_err(|e| unwritable(path, e))?;
    undone.iter().try_for_each(|number| ledger.close(*number))?;
    resisted.iter().try_for_each(|number| ledger.write(&Line::Resisted { number: *number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(mark: &str) -> Change {
        Change::Processes { mark: mark.into(), what: "a test".into() }
    }

    #[test]
    fn what_is_opened_and_not_closed_is_open_the_last_first() {
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
        assert_eq!((contents.open, contents.resisted), (vec![(1, change("b"))], BTreeSet::from([1])));
    }

    #[test]
    fn a_ledger_is_held_while_its_writer_has_it_and_then_one_has_its_turn_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, owner) = name(folder.path()).expect("this process has a stat file");
        let ledger = File::create(path.clone(), owner).expect("is made");
        let soon = Duration::from_secs(1);
        let left = Turn::take_if_left(&path, soon);
        assert!(left.expect("nobody finishes it").is_none(), "its writer lives");
        drop(ledger);
        // What other tests start has all files open for a moment.
        let turn = |patience| Turn::take(&path, patience);
        let first = turn(soon).expect("nobody has it");
        assert!(first.is_some());
        let began = Instant::now();
        let short = Duration::from_millis(50);
        assert_eq!(Turn::take_if_left(&path, short).expect_err("another has it"), Busy);
        assert_eq!(turn(short).expect_err("another has it"), Busy);
        assert!(began.elapsed() >= 2 * short);
        drop(first);
        assert!(turn(soon).expect("nobody has it any more").is_some());
        let none = Turn::take(&folder.path().join("none"), Duration::ZERO);
        assert!(none.expect("nobody has it").is_none());
    }

    #[test]
    fn a_line_cut_short_is_a_change_not_made() {
        let whole = r#"{"line":"open","number":0,"change":"processes","mark":"a","what":"a test"}"#;
        assert_eq!(parse(format!("{whole}\n").as_bytes()).open, [(0, change("a"))]);
        assert!(parse(whole.as_bytes()).open.is_empty(), "its end is missing");
        let cut = &whole.as_bytes()[..40];
        assert!(parse(cut).open.is_empty() && parse(cut).unread.is_empty());
        assert_eq!(parse(&[cut, b"\n"].concat()).unread, [1]);
    }

    #[test]
    fn what_is_noted_stands_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let whole = r#"{"line":"open","number":0,"change":"processes","mark":"a","what":"a test"}"#;
        fs::write(&path, format!("{whole}\n{}", &whole[..40])).expect("writes");
        note(&path, &[], &[0]).expect("writes");
        let contents = read(&path).expect("reads");
        assert_eq!((contents.open.len(), contents.resisted, contents.unread), (1, [0].into(), Vec::new()));
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let modes = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, modes, 0)
            .expect("makes a pipe");
        assert!(read(&path).is_err());
        assert!(Turn::take(&path, Duration::ZERO).is_ok_and(|turn| turn.is_none()));
    }
}
