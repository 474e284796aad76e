//! Undoing what a ledger holds open.

use crosstalk_core::Fault;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{DEADLINE, file, folder};

/// Undoes what dead owners left behind in this user's ledgers; says what that was.
///
/// # Errors
/// When something could not be undone; the rest is.
pub fn clean() -> Result<Vec<String>, Fault> {
    clean_in(&folder()?, DEADLINE)
}

/// [`clean`] in a given folder. What has resisted before gets the time `again`.
pub(super) fn clean_in(folder: &Path, again: Duration) -> Result<Vec<String>, Fault> {
    let entries = fs::read_dir(folder)
        .map_err(|e| Fault::environment(e.to_string()).at(folder.display().to_string()))?;
    let mut undone = Vec::new();
    let mut fault = None;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|e| e != "ndjson") || !is_stale(&path) {
            continue;
        }
        match finish(&path, again) {
            Ok(changes) => undone.extend(changes),
            Err(f) => fault = Some(f),
        }
    }
    fault.map_or(Ok(undone), Err)
}

/// Whether the ledger's owner is gone: it holds the ledger no more, nor has any process its number.
/// One without its first line is judged by its name, which begins with the owner's number.
fn is_stale(path: &Path) -> bool {
    if file::is_held(path) {
        return false;
    }
    match file::read(path) {
        Ok(contents) => match contents.owner {
            Some(owner) => !owner.alive(),
            None => named_owner(path).is_none_or(|pid| !Path::new("/proc").join(pid).exists()),
        },
        Err(_) => false,
    }
}

fn named_owner(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split('-').next()
}

/// Undoes what the ledger at `path` holds open and takes the ledger away. What has resisted before
/// gets the time `again`.
///
/// # Errors
/// When something could not be undone; the ledger then stays.
pub(super) fn finish(path: &Path, again: Duration) -> Result<Vec<String>, Fault> {
    let contents = match file::read(path) {
        Ok(contents) => contents,
        // The reaper and the next owner may both be at it: whoever is second finds nothing.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Fault::environment(e.to_string()).at(path.display().to_string())),
    };
    let (mut undone, mut numbers, mut resisting, mut fault) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (number, change) in &contents.open {
        // One that resists keeps no other from being undone: nothing stays frozen for it.
        let before = contents.resisted.contains(number);
        match change.undo(if before { again } else { DEADLINE }) {
            Ok(()) => {
                undone.push(change.what().to_string());
                numbers.push(*number);
            }
            Err(why) => {
                resisting.extend((!before).then_some(*number));
                fault = Some(why.at(path.display().to_string()));
            }
        }
    }
    if let Some(fault) = fault {
        // Whoever comes next must not undo them again: by then they may say what somebody else wants.
        // Where this cannot be written, they are.
        let _ = file::note(path, &numbers, &resisting);
        return Err(fault);
    }
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::environment(format!("cannot remove it: {e}")).at(path.display().to_string()))
        }
        _ => Ok(undone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Identity, MARK, fresh_mark};
    use std::process::Command;
    use std::time::Instant;

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
        assert!(clean_in(folder.path(), DEADLINE).expect("cleans").is_empty());
        assert!(child.try_wait().expect("can be asked").is_none(), "the owner lives, so does its child");

        // The same number, but begun at another time: the owner is gone.
        fs::write(&path, ledger_of(Identity { start: own.start + 1, ..own }, &mark)).expect("writes");
        assert_eq!(clean_in(folder.path(), DEADLINE).expect("cleans"), ["a sleeper"]);
        assert!(!child.wait().expect("was ours").success());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_undone_beside_something_that_resists_is_not_undone_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, knob) = (folder.path().join("x.ndjson"), folder.path().join("knob"));
        let own = Identity::own().expect("has a stat file");
        let ledger = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"program\",\"words\":[\"false\"],\"what\":\"a program\"}}\n\
             {{\"line\":\"open\",\"number\":1,\"change\":\"knob\",\"path\":\"{}\",\"was\":\"before\",\"what\":\"a knob\"}}\n",
            own.pid,
            own.start + 1,
            knob.display()
        );
        fs::write(&path, ledger).expect("writes");
        fs::write(&knob, "ours").expect("writes");
        assert!(clean_in(folder.path(), DEADLINE).is_err(), "`false` puts nothing back");
        let says = || fs::read_to_string(&knob).expect("reads");
        assert_eq!(says(), "before");
        fs::write(&knob, "another's").expect("writes");
        assert!(clean_in(folder.path(), DEADLINE).is_err(), "it still resists");
        assert_eq!(says(), "another's");
    }

    #[test]
    fn what_has_resisted_is_not_waited_for_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = Identity::own().expect("has a stat file");
        let ledger = format!(
            "{{\"line\":\"owner\",\"process\":{{\"pid\":{},\"start\":{}}}}}\n\
             {{\"line\":\"open\",\"number\":0,\"change\":\"program\",\"words\":[\"sleep\",\"60\"],\"what\":\"a program\"}}\n",
            own.pid,
            own.start + 1
        );
        fs::write(folder.path().join("x.ndjson"), ledger).expect("writes");
        let tried = || {
            let began = Instant::now();
            assert!(clean_in(folder.path(), Duration::ZERO).is_err(), "it does not end");
            began.elapsed()
        };
        assert!(tried() >= DEADLINE);
        assert!(tried() < DEADLINE);
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notes.txt");
        fs::write(&path, "mine").expect("writes");
        clean_in(folder.path(), DEADLINE).expect("cleans");
        assert!(path.exists());
    }
}
