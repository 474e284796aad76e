//! Schedules that attempts have kept, saved beside the journal until the run has finished: a run that is resumed replays what
//! was recorded before, and not something recorded anew.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::message::UNFAITHFUL_SCHEDULE;

/// Their folder, in the nodes' shared folder and in the run's.
pub const FOLDER: &str = "schedules";

/// Copies the schedules that `to` lacks from `from`, folder by folder. Without a folder of them there is nothing to copy.
///
/// # Errors
/// An environment fault if a file cannot be read or written.
pub fn copy_new(from: &Path, to: &Path) -> Result<(), Fault> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(cannot("read", from, &e)),
    };
    for entry in entries {
        let path = entry.map_err(|e| cannot("read", from, &e))?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_new(&path, &copy)?;
        } else if is_whole(&path) && !copy.exists() {
            copy_file(&path, &copy)?;
        }
    }
    Ok(())
}

/// Whether it is a schedule that counts, and not one that is being written.
fn is_whole(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".schedule") && !name.ends_with(UNFAITHFUL_SCHEDULE)
}

/// Copies a file as a whole or not at all.
fn copy_file(from: &Path, to: &Path) -> Result<(), Fault> {
    let part: PathBuf = to.with_extension("part");
    let folder = to.parent().unwrap_or(to);
    let copied =
        fs::create_dir_all(folder).and_then(|()| fs::copy(from, &part)).and_then(|_| fs::rename(&part, to));
    copied.map_err(|e| {
        let _ = fs::remove_file(&part);
        cannot("write", to, &e)
    })
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot {what} a recorded schedule: {error}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_schedules_are_copied_once_with_their_folders() {
        let root = tempfile::tempdir().expect("a directory");
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        copy_new(&from, &to).expect("nothing is there");
        fs::create_dir_all(from.join("each")).expect("made");
        for name in ["a.schedule", "each/b.schedule", "c.unfaithful.schedule", "d.part"] {
            fs::write(from.join(name), name).expect("written");
        }
        copy_new(&from, &to).expect("copies");
        fs::write(from.join("a.schedule"), "another").expect("written");
        copy_new(&from, &to).expect("copies");
        assert_eq!(
            fs::read_to_string(to.join("a.schedule")).expect("is there"),
            "a.schedule",
            "the first one counts"
        );
        assert!(to.join("each/b.schedule").exists());
        assert!(!to.join("c.unfaithful.schedule").exists() && !to.join("d.part").exists());
    }
}
