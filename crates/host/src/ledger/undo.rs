//! Undoing the open changes of a ledger.

use crosstalk_core::Fault;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::change::{Change, UNDO_DEADLINE};
use super::file::{self, Contents, UndoLock};
use super::folder::{folder, folders};
use crate::process::own_mark;

/// How long undoing a change may take that could not be undone before, while another process waits.
const SHORT_DEADLINE: Duration = Duration::from_millis(250);
/// How long to wait for another process that undoes the same ledger. Undoing takes longer only if many changes
/// cannot be undone.
const LOCK_TIMEOUT: Duration = Duration::from_secs(12);
/// How long a command that is being started may have its starter's lock.
const STARTING: Duration = Duration::from_secs(2);
/// The time between two checks whether it has given it up.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How much time changes have that could not be undone before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UndoTime {
    /// A short time, as a process waits to begin.
    Short,
    /// The full time.
    Full,
}

/// What undoing has done: the changes that were undone, and those that could not be.
#[derive(Debug, Default)]
pub struct CleanReport {
    /// The purposes of changes that were undone, for people.
    pub undone: Vec<String>,
    /// The purposes of settings that needed no undoing: their group or device is gone, or another owner has
    /// changed them.
    pub gone: Vec<String>,
    /// Faults of changes that could not be undone. They stay listed.
    pub left: Vec<Fault>,
}

impl CleanReport {
    fn failed(fault: Fault) -> Self {
        CleanReport { left: vec![fault], ..CleanReport::default() }
    }

    pub(super) fn add(&mut self, other: CleanReport) {
        self.undone.extend(other.undone);
        self.gone.extend(other.gone);
        self.left.extend(other.left);
    }
}

/// Undoes the changes of dead owners in all ledgers of this user. Also reports if no ledger can be created here.
pub fn undo_all_abandoned() -> CleanReport {
    let mut cleaned = folder().err().map_or_else(CleanReport::default, CleanReport::failed);
    cleaned.add(clean_all(&folders(), UndoTime::Full));
    cleaned
}

/// [`undo_all_abandoned`] in these folders.
pub(super) fn clean_all(folders: &[PathBuf], time: UndoTime) -> CleanReport {
    let mut cleaned = CleanReport::default();
    folders.iter().for_each(|folder| cleaned.add(clean_in(folder, time)));
    cleaned
}

/// [`undo_all_abandoned`] in one folder.
fn clean_in(folder: &Path, time: UndoTime) -> CleanReport {
    clean_as(own_mark().as_deref(), folder, time)
}

/// The same, by a process that carries the mark `own`, if any.
fn clean_as(own: Option<&str>, folder: &Path, time: UndoTime) -> CleanReport {
    let mut cleaned = CleanReport::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => {
            return CleanReport::failed(Fault::environment(e.to_string()).at(folder.display().to_string()));
        }
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|e| e != "ndjson") {
            continue;
        }
        let contents = match file::read(&path) {
            Ok(contents) => contents,
            // Its owner or its reaper has removed it.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => {
                cleaned.left.push(unreadable(&path, &e.to_string()));
                continue;
            }
        };
        if !is_stale(&path, &contents) {
            continue;
        }
        if own.is_some_and(|mark| has_started(&contents, mark)) {
            // Undoing would kill this process. That is left to the owner's reaper, or to another process.
            if time == UndoTime::Full {
                cleaned.left.push(would_end_this_process(&path));
            }
            continue;
        }
        match take_abandoned(&path, time) {
            Ok(Some(lock)) => cleaned.add(undo(&path, time, &lock)),
            Ok(None) => {}
            Err(file::LockTimeout) => cleaned.left.push(locked(&path)),
        }
    }
    cleaned
}

/// Locks a ledger whose owner is not visible. `None` if the owner is alive elsewhere, or the ledger is gone. A command
/// that the owner was about to start when it was killed has its lock for a moment: a full undo waits for that.
fn take_abandoned(path: &Path, time: UndoTime) -> Result<Option<UndoLock>, file::LockTimeout> {
    let until = Instant::now() + if time == UndoTime::Full { STARTING } else { Duration::ZERO };
    loop {
        match UndoLock::take_if_abandoned(path, LOCK_TIMEOUT) {
            Ok(None) if path.exists() && Instant::now() < until => thread::sleep(POLL_INTERVAL),
            taken => return taken,
        }
    }
}

/// Whether no visible process is the ledger's owner. The owner has ended then, unless it has locked the ledger.
/// Without the first line the owner's process id is taken from the file's name.
fn is_stale(path: &Path, contents: &Contents) -> bool {
    match contents.owner {
        Some(owner) => !owner.is_alive(),
        None => named_owner(path).is_none_or(|pid| !Path::new("/proc").join(pid).exists()),
    }
}

fn unreadable(path: &Path, why: &str) -> Fault {
    Fault::environment(format!("cannot read this undo ledger: {why}"))
        .at(path.display().to_string())
        .remedy("undo by hand the changes that it lists, as far as they can be read, and remove it")
}

fn would_end_this_process(path: &Path) -> Fault {
    Fault::environment("undoing this would end this process, too")
        .at(path.display().to_string())
        .remedy("in another terminal: crosstalk clean")
}

/// Whether the ledger's owner has started the processes with this mark.
fn has_started(contents: &Contents, mark: &str) -> bool {
    let is_it = |change: &Change| matches!(change, Change::Processes { mark: its, .. } if its == mark);
    contents.open.iter().any(|(_, change)| is_it(change))
}

fn named_owner(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split('-').next()
}

/// Undoes the open changes of the ledger at `path`, whose owner has ended. Removes the ledger unless a change
/// could not be undone.
pub(super) fn finish(path: &Path, time: UndoTime) -> CleanReport {
    match UndoLock::take(path, LOCK_TIMEOUT) {
        Ok(Some(lock)) => undo(path, time, &lock),
        // The reaper and the next owner may both undo it. The second one finds nothing.
        Ok(None) => CleanReport::default(),
        Err(file::LockTimeout) => CleanReport::failed(locked(path)),
    }
}

/// Whether the ledger at `path` lists processes that are not ended.
pub(super) fn names_processes(path: &Path) -> bool {
    let is_one = |change: &Change| matches!(change, Change::Processes { .. });
    file::read(path).is_ok_and(|contents| contents.open.iter().any(|(_, change)| is_one(change)))
}

/// Restores the leased settings in the ledger at `path`. They stay listed, as the owner may continue and set them
/// again. Can be called any number of times.
pub(super) fn end_leases(path: &Path) {
    let Ok(contents) = file::read(path) else { return };
    for (_, change) in &contents.open {
        if matches!(change, Change::Knob { leased: true, .. }) {
            let _ = change.undo(SHORT_DEADLINE);
        }
    }
}

fn locked(path: &Path) -> Fault {
    Fault::environment("another process is still undoing this").at(path.display().to_string())
}

/// [`finish`] with the lock.
fn undo(path: &Path, time: UndoTime, _: &UndoLock) -> CleanReport {
    let at = |fault: Fault| fault.at(path.display().to_string());
    let contents = match file::read(path) {
        Ok(contents) => contents,
        // Another process had the lock before, and has finished it.
        Err(e) if e.kind() == ErrorKind::NotFound => return CleanReport::default(),
        Err(e) => return CleanReport::failed(unreadable(path, &e.to_string())),
    };
    let (mut undone, mut failed) = (Vec::new(), Vec::new());
    for (number, change) in &contents.open {
        // After a failure the others are still undone: nothing stays frozen.
        let is_short = time == UndoTime::Short && contents.undo_failed.contains(number);
        match change.undo(if is_short { SHORT_DEADLINE } else { UNDO_DEADLINE }) {
            Ok(was_needed) => undone.push((*number, change, was_needed)),
            Err(fault) => failed.push((*number, fault)),
        }
    }
    let mut left: Vec<Fault> = failed.iter().map(|(_, fault)| at(fault.clone())).collect();
    if !contents.damaged.is_empty() {
        let lines: Vec<String> = contents.damaged.iter().map(ToString::to_string).collect();
        left.push(unreadable(path, &format!("line {} is damaged", lines.join(", "))));
    }
    if left.is_empty() {
        let removed = fs::remove_file(path).err().filter(|e| e.kind() != ErrorKind::NotFound);
        left.extend(removed.map(|e| at(Fault::environment(format!("cannot remove it: {e}")))));
    } else {
        let failed: Vec<u64> = failed.iter().map(|(number, _)| *number).collect();
        let closed: Vec<u64> = undone.iter().map(|(number, ..)| *number).collect();
        // They must not be undone again later, when another owner may have changed the settings.
        // If this cannot be written, they are.
        let _ = file::note(path, &closed, &failed);
    }
    let purposes = |needed: bool| {
        let those = undone.iter().filter(|(_, _, was_needed)| *was_needed == needed);
        those.map(|(_, change, _)| change.what().to_string()).collect()
    };
    CleanReport { undone: purposes(true), gone: purposes(false), left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Identity, MARK, fresh_mark};
    use std::path::PathBuf;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    /// The changes that were undone, or the first fault.
    fn result_of(cleaned: CleanReport) -> Result<Vec<String>, Fault> {
        cleaned.left.into_iter().next().map_or(Ok(cleaned.undone), Err)
    }

    fn clean_in(folder: &Path, time: UndoTime) -> Result<Vec<String>, Fault> {
        result_of(super::clean_in(folder, time))
    }

    fn finish(path: &Path, time: UndoTime) -> Result<Vec<String>, Fault> {
        result_of(super::finish(path, time))
    }

    fn clean_as(own: Option<&str>, folder: &Path, time: UndoTime) -> Result<Vec<String>, Fault> {
        result_of(super::clean_as(own, folder, time))
    }

    #[test]
    fn all_folders_are_read_and_all_failures_are_reported() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a temporary folder"));
        let own = Identity::own().expect("has a stat file");
        let dead = Identity { start: own.start + 1, ..own };
        let mark = || fresh_mark().expect("random numbers");
        for folder in &folders {
            fs::write(folder.path().join("x.ndjson"), ledger_of(dead, &mark())).expect("writes");
            fs::write(folder.path().join("y.ndjson"), ledger_of(dead, &mark()) + "?\n").expect("writes");
        }
        let paths = folders.each_ref().map(|folder| folder.path().to_path_buf());
        let cleaned = clean_all(&paths, UndoTime::Full);
        assert_eq!((cleaned.undone.len(), cleaned.left.len()), (4, 2), "{cleaned:?}");
        let again = clean_all(&paths, UndoTime::Full);
        assert_eq!((again.undone.len(), again.left.len()), (0, 2), "it is reported as long as it exists");
    }

    fn ledger_of(owner: Identity, mark: &str) -> String {
        format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"processes\",\"mark\":\"{mark}\",\"what\":\"a sleeper\"}}\n",
            owner.pid, owner.start
        )
    }

    #[test]
    fn the_ledger_of_a_dead_owner_is_undone_and_of_a_living_one_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = fresh_mark().expect("random numbers");
        let mut child = Command::new("sleep").arg("30").env(MARK, &mark).spawn().expect("sleep starts");
        let own = Identity::own().expect("has a stat file");
        let path = folder.path().join("x.ndjson");

        fs::write(&path, ledger_of(own, &mark)).expect("writes");
        assert!(clean_in(folder.path(), UndoTime::Full).expect("cleans").is_empty());
        assert!(child.try_wait().expect("can be asked").is_none(), "the owner is alive, so its child is");

        // The same process id, but another start time: the owner has ended.
        fs::write(&path, ledger_of(Identity { start: own.start + 1, ..own }, &mark)).expect("writes");
        assert_eq!(clean_in(folder.path(), UndoTime::Full).expect("cleans"), ["a sleeper"]);
        assert!(!child.wait().expect("was ours").success());
        assert!(!path.exists());
    }

    #[test]
    fn a_process_that_would_be_killed_leaves_undoing_to_others() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = fresh_mark().expect("random numbers");
        let path = folder.path().join("x.ndjson");
        let own = Identity::own().expect("has a stat file");
        fs::write(&path, ledger_of(Identity { start: own.start + 1, ..own }, &mark)).expect("writes");
        // It would kill all processes but itself, and then no ledger would list it.
        assert!(clean_as(Some(&mark), folder.path(), UndoTime::Short).expect("cleans").is_empty());
        assert!(clean_as(Some(&mark), folder.path(), UndoTime::Full).is_err(), "`clean` reports it");
        assert!(path.exists());
        let other = fresh_mark().expect("random numbers");
        assert_eq!(clean_as(Some(&other), folder.path(), UndoTime::Short).expect("cleans"), ["a sleeper"]);
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_line_is_reported_and_kept_and_the_others_are_undone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, knob) = (folder.path().join("x.ndjson"), folder.path().join("knob"));
        let own = Identity::own().expect("has a stat file");
        let knobs = |number: u32, kind: &str| {
            format!(
                "{{\"line\":\"open\",\"number\":{number},\"change\":\"{kind}\",\"path\":\"{}\",\"was\":\"before\",\"what\":\"a knob\"}}\n",
                knob.display()
            )
        };
        let owner = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n",
            own.pid,
            own.start + 1
        );
        let damaged = [owner.into_bytes(), knobs(0, "knob").into(), knobs(1, "knnb").into(), b"\xff".into()];
        fs::write(&path, damaged.concat()).expect("writes");
        fs::write(&knob, "ours").expect("writes");
        let fault = clean_in(folder.path(), UndoTime::Full).expect_err("a line is damaged");
        assert!(fault.message.contains("line 3 is damaged") && fault.remedy.is_some(), "{fault}");
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "before");
        fs::write(&knob, "another's").expect("writes");
        assert!(clean_in(folder.path(), UndoTime::Full).is_err(), "it is reported as long as it exists");
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "another's");
        fs::remove_file(&path).expect("was kept");
        fs::create_dir(&path).expect("makes");
        assert!(clean_in(folder.path(), UndoTime::Full).is_err(), "a folder is no ledger");
    }

    #[test]
    fn when_a_lease_ends_only_leased_settings_are_restored() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let knobs = ["leased", "kept"].map(|name| folder.path().join(name));
        let mut ledger = format!("{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":1}}}}\n", 1);
        for (number, knob) in knobs.iter().enumerate() {
            fs::write(knob, "ours").expect("writes");
            let change = Change::Knob {
                path: knob.clone(),
                original: "before".into(),
                inode: None,
                leased: number == 0,
                what: "a knob".into(),
            };
            let change = serde_json::to_string(&change).expect("is JSON");
            ledger += &format!("{{\"line\":\"open\",\"number\":{number},{}\n", &change[1..]);
        }
        fs::write(&path, &ledger).expect("writes");
        let values = || knobs.each_ref().map(|knob| fs::read_to_string(knob).expect("reads"));
        end_leases(&path);
        assert_eq!(values(), ["before", "ours"]);
        fs::write(&knobs[0], "ours").expect("its owner sets it again");
        // It is still listed.
        end_leases(&path);
        assert_eq!(values(), ["before", "ours"]);
        assert_eq!(fs::read_to_string(&path).expect("reads"), ledger);
    }

    #[test]
    fn a_setting_of_a_group_that_is_gone_needs_no_undoing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = Identity::own().expect("has a stat file");
        let knob = folder.path().join("knob");
        let path = knob.display();
        let ledger = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"knob\",\"path\":\"{path}\",\"was\":\"before\",\"inode\":1,\"what\":\"a knob\"}}\n",
            own.pid,
            own.start + 1
        );
        fs::write(folder.path().join("x.ndjson"), ledger).expect("writes");
        fs::write(&knob, "another's").expect("writes");
        let cleaned = super::clean_in(folder.path(), UndoTime::Full);
        assert_eq!((cleaned.undone.len(), cleaned.left.len()), (0, 0), "{cleaned:?}");
        assert_eq!(cleaned.gone, ["a knob"]);
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "another's");
    }

    /// A ledger of a dead owner, with a group that cannot be removed while `stray` is in it, and a knob.
    struct FailingUndo {
        folder: tempfile::TempDir,
        ledger: PathBuf,
        stray: PathBuf,
        knob: PathBuf,
    }

    fn unremovable() -> FailingUndo {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ledger, knob) = (folder.path().join("x.ndjson"), folder.path().join("knob"));
        let group = folder.path().join("group");
        let own = Identity::own().expect("has a stat file");
        let text = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"group\",\"paths\":[\"{}\"],\"back\":[],\"what\":\"a group\"}}\n\
             {{\"line\":\"open\",\"number\":1,\"change\":\"knob\",\"path\":\"{}\",\"was\":\"before\",\"what\":\"a knob\"}}\n",
            own.pid,
            own.start + 1,
            group.display(),
            knob.display()
        );
        fs::write(&ledger, text).expect("writes");
        fs::write(&knob, "ours").expect("writes");
        fs::create_dir(&group).expect("makes");
        let stray = group.join("stray");
        fs::write(&stray, "").expect("writes");
        FailingUndo { folder, ledger, stray, knob }
    }

    #[test]
    fn a_change_that_was_undone_is_not_undone_again_while_another_fails() {
        let FailingUndo { folder, knob, .. } = unremovable();
        assert!(clean_in(folder.path(), UndoTime::Short).is_err(), "the group is not empty");
        let value = || fs::read_to_string(&knob).expect("reads");
        assert_eq!(value(), "before");
        fs::write(&knob, "another's").expect("writes");
        assert!(clean_in(folder.path(), UndoTime::Short).is_err(), "the group is still not empty");
        assert_eq!(value(), "another's");
    }

    #[test]
    fn a_change_that_could_not_be_undone_has_a_short_time_next() {
        let FailingUndo { folder, .. } = unremovable();
        let tried = || {
            let began = Instant::now();
            assert!(clean_in(folder.path(), UndoTime::Short).is_err(), "the group is not empty");
            began.elapsed()
        };
        let (first, again) = (tried(), tried());
        assert!(first >= UNDO_DEADLINE && again < first, "{first:?}, then {again:?}");
    }

    #[test]
    fn a_slow_process_undoes_nothing_that_the_next_owner_has_set() {
        let FailingUndo { folder, ledger, stray, knob } = unremovable();
        let path = ledger.clone();
        let slow = thread::spawn(move || finish(&path, UndoTime::Full));
        while UndoLock::take(&ledger, Duration::ZERO).is_ok() {
            thread::yield_now();
        }
        fs::remove_file(stray).expect("is there");
        // The next owner does this before it sets anything.
        assert_eq!(clean_in(folder.path(), UndoTime::Short), Ok(Vec::new()), "the other did it");
        fs::write(&knob, "set anew").expect("writes");
        assert_eq!(slow.join().expect("ends"), Ok(vec!["a knob".into(), "a group".into()]));
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "set anew");
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notes.txt");
        fs::write(&path, "mine").expect("writes");
        clean_in(folder.path(), UndoTime::Full).expect("cleans");
        assert!(path.exists());
    }
}
