//! Undoing what a ledger holds open.

use crosstalk_core::Fault;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::file::{Contents, Turn};
use super::folder::{folder, folders};
use super::{BRIEFLY, Change, DEADLINE, TURN, file};
use crate::process::own_mark;

/// What is done about changes that resist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Somebody waits to begin: those that have resisted before are tried briefly.
    Brief,
    /// Nobody waits: each has its time.
    Full,
}

/// What has come of undoing.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// What was undone, for people.
    pub undone: Vec<String>,
    /// Settings of which nothing was to be undone: they are gone with their group or device, or somebody else's
    /// by now.
    pub gone: Vec<String>,
    /// Why the rest was not: it stays written down.
    pub left: Vec<Fault>,
}

impl Cleaned {
    fn nothing(why: Fault) -> Self {
        Cleaned { left: vec![why], ..Cleaned::default() }
    }

    pub(super) fn add(&mut self, other: Cleaned) {
        self.undone.extend(other.undone);
        self.gone.extend(other.gone);
        self.left.extend(other.left);
    }
}

/// Undoes what dead owners left behind in this user's ledgers, wherever those are. That none can be kept here
/// is told, too.
pub fn clean() -> Cleaned {
    let mut cleaned = folder().err().map_or_else(Cleaned::default, Cleaned::nothing);
    cleaned.add(clean_all(&folders(), Patience::Full));
    cleaned
}

/// [`clean`] in these folders, as patiently as that.
pub(super) fn clean_all(folders: &[PathBuf], patience: Patience) -> Cleaned {
    let mut cleaned = Cleaned::default();
    folders.iter().for_each(|folder| cleaned.add(clean_in(folder, patience)));
    cleaned
}

/// [`clean`] in a given folder.
fn clean_in(folder: &Path, patience: Patience) -> Cleaned {
    clean_as(own_mark().as_deref(), folder, patience)
}

/// The same for a process that carries the mark `own`, if any.
fn clean_as(own: Option<&str>, folder: &Path, patience: Patience) -> Cleaned {
    let mut cleaned = Cleaned::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => {
            return Cleaned::nothing(Fault::environment(e.to_string()).at(folder.display().to_string()));
        }
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|e| e != "ndjson") {
            continue;
        }
        let contents = match file::read(&path) {
            Ok(contents) => contents,
            // Its owner or its reaper has taken it away.
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
            // This process is to be ended with the rest: by its owner's reaper, or by who comes next.
            if patience == Patience::Full {
                cleaned.left.push(ends_this(&path));
            }
            continue;
        }
        match Turn::take_if_left(&path, TURN) {
            Ok(Some(turn)) => cleaned.add(undo(&path, patience, &turn)),
            Ok(None) => {}
            Err(file::Busy) => cleaned.left.push(busy(&path)),
        }
    }
    cleaned
}

/// Whether no process that can be seen has the number of the ledger's owner: then it is gone, unless it
/// holds the ledger. One without its first line is judged by its name, which begins with the number.
fn is_stale(path: &Path, contents: &Contents) -> bool {
    match contents.owner {
        Some(owner) => !owner.alive(),
        None => named_owner(path).is_none_or(|pid| !Path::new("/proc").join(pid).exists()),
    }
}

fn unreadable(path: &Path, why: &str) -> Fault {
    Fault::environment(format!("cannot read this undo ledger: {why}"))
        .at(path.display().to_string())
        .remedy("put back by hand what it names, as far as that can be seen, and remove it")
}

fn ends_this(path: &Path) -> Fault {
    Fault::environment("to undo what this says would end this process, too")
        .at(path.display().to_string())
        .remedy("have it undone from elsewhere, such as another terminal: crosstalk clean")
}

/// Whether the ledger's owner has started what carries this mark.
fn has_started(contents: &Contents, mark: &str) -> bool {
    let is_it = |change: &Change| matches!(change, Change::Processes { mark: its, .. } if its == mark);
    contents.open.iter().any(|(_, change)| is_it(change))
}

fn named_owner(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split('-').next()
}

/// Undoes what the ledger at `path`, whose owner is gone, holds open, and takes the ledger away, unless something
/// could not be undone.
pub(super) fn finish(path: &Path, patience: Patience) -> Cleaned {
    match Turn::take(path, TURN) {
        Ok(Some(turn)) => undo(path, patience, &turn),
        // The reaper and the next owner may both be at it: whoever is second finds nothing.
        Ok(None) => Cleaned::default(),
        Err(file::Busy) => Cleaned::nothing(busy(path)),
    }
}

/// Whether processes are among what the ledger at `path` holds open.
pub(super) fn names_processes(path: &Path) -> bool {
    let is_one = |change: &Change| matches!(change, Change::Processes { .. });
    file::read(path).is_ok_and(|contents| contents.open.iter().any(|(_, change)| is_one(change)))
}

/// Puts back what is leased of what the ledger at `path` holds open, which stays written down: its owner may go on,
/// and set it again. Nothing is done where nothing is set; what fails can be tried again.
pub(super) fn end_leases(path: &Path) {
    let Ok(contents) = file::read(path) else { return };
    for (_, change) in &contents.open {
        if matches!(change, Change::Knob { leased: true, .. }) {
            let _ = change.undo(BRIEFLY);
        }
    }
}

fn busy(path: &Path) -> Fault {
    Fault::environment("somebody else is still undoing what this says").at(path.display().to_string())
}

/// [`finish`] for who has the turn.
fn undo(path: &Path, patience: Patience, _: &Turn) -> Cleaned {
    let at = |fault: Fault| fault.at(path.display().to_string());
    let contents = match file::read(path) {
        Ok(contents) => contents,
        // Whoever had the turn before has finished it.
        Err(e) if e.kind() == ErrorKind::NotFound => return Cleaned::default(),
        Err(e) => return Cleaned::nothing(unreadable(path, &e.to_string())),
    };
    let (mut undone, mut resisting) = (Vec::new(), Vec::new());
    for (number, change) in &contents.open {
        // One that resists keeps no other from being undone: nothing stays frozen for it.
        let brief = patience == Patience::Brief && contents.resisted.contains(number);
        match change.undo(if brief { BRIEFLY } else { DEADLINE }) {
            Ok(touched) => undone.push((*number, change, touched)),
            Err(why) => resisting.push((*number, change, why)),
        }
    }
    let mut left: Vec<Fault> = resisting.iter().map(|one| at(one.2.clone())).collect();
    if !contents.unread.is_empty() {
        let lines: Vec<String> = contents.unread.iter().map(ToString::to_string).collect();
        left.push(unreadable(path, &format!("line {} is damaged", lines.join(", "))));
    }
    if left.is_empty() {
        let removed = fs::remove_file(path).err().filter(|e| e.kind() != ErrorKind::NotFound);
        left.extend(removed.map(|e| at(Fault::environment(format!("cannot remove it: {e}")))));
    } else {
        let resisted: Vec<u64> = resisting.iter().map(|one| one.0).collect();
        let closed: Vec<u64> = undone.iter().map(|one| one.0).collect();
        // Whoever comes next must not undo them again: by then they may say what somebody else wants.
        // Where this cannot be written, they are.
        let _ = file::note(path, &closed, &resisted);
    }
    let told = |meant: bool| {
        let those = undone.iter().filter(|(_, _, touched)| *touched == meant);
        those.map(|(_, change, _)| change.what().to_string()).collect()
    };
    Cleaned { undone: told(true), gone: told(false), left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Identity, MARK, fresh_mark};
    use std::path::PathBuf;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    /// What was undone, or the first reason why not all was.
    fn told(cleaned: Cleaned) -> Result<Vec<String>, Fault> {
        cleaned.left.into_iter().next().map_or(Ok(cleaned.undone), Err)
    }

    fn clean_in(folder: &Path, patience: Patience) -> Result<Vec<String>, Fault> {
        told(super::clean_in(folder, patience))
    }

    fn finish(path: &Path, patience: Patience) -> Result<Vec<String>, Fault> {
        told(super::finish(path, patience))
    }

    fn clean_as(own: Option<&str>, folder: &Path, patience: Patience) -> Result<Vec<String>, Fault> {
        told(super::clean_as(own, folder, patience))
    }

    #[test]
    fn all_folders_are_looked_into_and_all_that_resists_is_told() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a temporary folder"));
        let own = Identity::own().expect("has a stat file");
        let dead = Identity { start: own.start + 1, ..own };
        let mark = || fresh_mark().expect("random numbers");
        for folder in &folders {
            fs::write(folder.path().join("x.ndjson"), ledger_of(dead, &mark())).expect("writes");
            fs::write(folder.path().join("y.ndjson"), ledger_of(dead, &mark()) + "?\n").expect("writes");
        }
        let paths = folders.each_ref().map(|folder| folder.path().to_path_buf());
        let cleaned = clean_all(&paths, Patience::Full);
        assert_eq!((cleaned.undone.len(), cleaned.left.len()), (4, 2), "{cleaned:?}");
        let again = clean_all(&paths, Patience::Full);
        assert_eq!((again.undone.len(), again.left.len()), (0, 2), "it is told as long as it is there");
    }

    fn ledger_of(owner: Identity, mark: &str) -> String {
        format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"processes\",\"mark\":\"{mark}\",\"what\":\"a sleeper\"}}\n",
            owner.pid, owner.start
        )
    }

    #[test]
    fn a_dead_owner_s_ledger_is_undone_a_living_one_s_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = fresh_mark().expect("random numbers");
        let mut child = Command::new("sleep").arg("30").env(MARK, &mark).spawn().expect("sleep starts");
        let own = Identity::own().expect("has a stat file");
        let path = folder.path().join("x.ndjson");

        fs::write(&path, ledger_of(own, &mark)).expect("writes");
        assert!(clean_in(folder.path(), Patience::Full).expect("cleans").is_empty());
        assert!(child.try_wait().expect("can be asked").is_none(), "the owner lives, so does its child");

        // The same number, but begun at another time: the owner is gone.
        fs::write(&path, ledger_of(Identity { start: own.start + 1, ..own }, &mark)).expect("writes");
        assert_eq!(clean_in(folder.path(), Patience::Full).expect("cleans"), ["a sleeper"]);
        assert!(!child.wait().expect("was ours").success());
        assert!(!path.exists());
    }

    #[test]
    fn who_is_to_be_ended_leaves_that_to_others() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = fresh_mark().expect("random numbers");
        let path = folder.path().join("x.ndjson");
        let own = Identity::own().expect("has a stat file");
        fs::write(&path, ledger_of(Identity { start: own.start + 1, ..own }, &mark)).expect("writes");
        // It would end all but itself, and nobody would know of it any more.
        assert!(clean_as(Some(&mark), folder.path(), Patience::Brief).expect("cleans").is_empty());
        assert!(clean_as(Some(&mark), folder.path(), Patience::Full).is_err(), "who asks is told");
        assert!(path.exists());
        let other = fresh_mark().expect("random numbers");
        assert_eq!(clean_as(Some(&other), folder.path(), Patience::Brief).expect("cleans"), ["a sleeper"]);
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_read_is_told_and_kept_and_the_rest_is_undone() {
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
        let fault = clean_in(folder.path(), Patience::Full).expect_err("a line says nothing");
        assert!(fault.message.contains("line 3 is damaged") && fault.remedy.is_some(), "{fault}");
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "before");
        fs::write(&knob, "another's").expect("writes");
        assert!(clean_in(folder.path(), Patience::Full).is_err(), "it is told as long as it is there");
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "another's");
        fs::remove_file(&path).expect("was kept");
        fs::create_dir(&path).expect("makes");
        assert!(clean_in(folder.path(), Patience::Full).is_err(), "a folder says nothing");
    }

    #[test]
    fn a_lease_that_ends_puts_back_what_is_leased_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.ndjson");
        let knobs = ["leased", "kept"].map(|name| folder.path().join(name));
        let mut ledger = format!("{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":1}}}}\n", 1);
        for (number, knob) in knobs.iter().enumerate() {
            fs::write(knob, "ours").expect("writes");
            let change = Change::Knob {
                path: knob.clone(),
                was: "before".into(),
                inode: None,
                leased: number == 0,
                what: "a knob".into(),
            };
            let change = serde_json::to_string(&change).expect("is JSON");
            ledger += &format!("{{\"line\":\"open\",\"number\":{number},{}\n", &change[1..]);
        }
        fs::write(&path, &ledger).expect("writes");
        let says = || knobs.each_ref().map(|knob| fs::read_to_string(knob).expect("reads"));
        end_leases(&path);
        assert_eq!(says(), ["before", "ours"]);
        fs::write(&knobs[0], "ours").expect("its owner goes on");
        // It is open as before.
        end_leases(&path);
        assert_eq!(says(), ["before", "ours"]);
        assert_eq!(fs::read_to_string(&path).expect("reads"), ledger);
    }

    #[test]
    fn a_setting_of_a_group_that_is_gone_was_not_undone() {
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
        let cleaned = super::clean_in(folder.path(), Patience::Full);
        assert_eq!((cleaned.undone.len(), cleaned.left.len()), (0, 0), "{cleaned:?}");
        assert_eq!(cleaned.gone, ["a knob"]);
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "another's");
    }

    /// A ledger of an owner that is gone, with a group that cannot be removed while `stray` is in it, and a knob.
    struct Resisting {
        folder: tempfile::TempDir,
        ledger: PathBuf,
        stray: PathBuf,
        knob: PathBuf,
    }

    fn resisting() -> Resisting {
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
        Resisting { folder, ledger, stray, knob }
    }

    #[test]
    fn what_is_undone_beside_something_that_resists_is_not_undone_again() {
        let Resisting { folder, knob, .. } = resisting();
        assert!(clean_in(folder.path(), Patience::Brief).is_err(), "the group is not empty");
        let says = || fs::read_to_string(&knob).expect("reads");
        assert_eq!(says(), "before");
        fs::write(&knob, "another's").expect("writes");
        assert!(clean_in(folder.path(), Patience::Brief).is_err(), "it still resists");
        assert_eq!(says(), "another's");
    }

    #[test]
    fn what_has_resisted_is_waited_for_briefly() {
        let Resisting { folder, .. } = resisting();
        let tried = || {
            let began = Instant::now();
            assert!(clean_in(folder.path(), Patience::Brief).is_err(), "the group is not empty");
            began.elapsed()
        };
        let (first, again) = (tried(), tried());
        assert!(first >= DEADLINE && again < first, "{first:?}, then {again:?}");
    }

    #[test]
    fn who_is_slow_undoes_nothing_that_the_next_has_set() {
        let Resisting { folder, ledger, stray, knob } = resisting();
        let path = ledger.clone();
        let slow = thread::spawn(move || finish(&path, Patience::Full));
        while Turn::take(&ledger, Duration::ZERO).is_ok() {
            thread::yield_now();
        }
        fs::remove_file(stray).expect("is there");
        // As the next owner does, before it sets anything.
        assert_eq!(clean_in(folder.path(), Patience::Brief), Ok(Vec::new()), "the other did it");
        fs::write(&knob, "set anew").expect("writes");
        assert_eq!(slow.join().expect("ends"), Ok(vec!["a knob".into(), "a group".into()]));
        assert_eq!(fs::read_to_string(&knob).expect("reads"), "set anew");
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notes.txt");
        fs::write(&path, "mine").expect("writes");
        clean_in(folder.path(), Patience::Full).expect("cleans");
        assert!(path.exists());
    }
}
