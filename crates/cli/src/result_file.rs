//! Files that a command writes at its end: whether they can be written is checked at its beginning.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_host::regular;

/// The first of `NAME-001.END`, `-002` and so on in the current folder that does not exist.
///
/// # Errors
/// An environment fault if all are taken.
pub fn next_free(name: &str, end: &str) -> Result<PathBuf, Fault> {
    let files = (1..100_000).map(|number| PathBuf::from(format!("{name}-{number:03}.{end}")));
    let free = |file: &PathBuf| fs::symlink_metadata(file).is_err();
    files.into_iter().find(free).ok_or_else(|| {
        Fault::environment(format!("there are too many files `{name}-001.{end}`"))
            .remedy("remove some of them")
    })
}

/// Checks that a file can be written. Its content stays until [`write`].
///
/// # Errors
/// If it cannot, with its name.
pub fn writable(file: &Path) -> Result<(), Fault> {
    match fs::metadata(file) {
        Ok(_) => regular::may_write(file).map_err(|e| unwritable(file, &e)),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            // The target of a dangling link is checked.
            if let Ok(target) = fs::read_link(file) {
                return writable(&file.parent().unwrap_or(Path::new("")).join(target));
            }
            let created = OpenOptions::new().append(true).create_new(true).open(file);
            created.and_then(|_| fs::remove_file(file)).map_err(|e| unwritable(file, &e))
        }
        Err(e) => Err(unwritable(file, &e)),
    }
}

/// Writes a file, in place of what it had.
///
/// # Errors
/// If it cannot, with its name.
pub fn write(file: &Path, content: &str) -> Result<(), Fault> {
    regular::replace_content(file, content).map_err(|e| unwritable(file, &e))
}

fn unwritable(file: &Path, e: &std::io::Error) -> Fault {
    let message = format!("cannot write it: {e}");
    let fault = if e.kind() == ErrorKind::InvalidInput {
        Fault::usage(message).remedy("name a file, or use the output of --json")
    } else {
        Fault::environment(message)
    };
    fault.at(file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn checking_a_file_changes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [new, old, link] = ["new", "old", "link"].map(|name| folder.path().join(name));
        fs::write(&old, "kept").expect("writes");
        symlink("target", &link).expect("links");
        for file in [&new, &old, &link] {
            assert_eq!(writable(file), Ok(()));
        }
        assert!(!new.exists() && !folder.path().join("target").exists());
        assert_eq!(fs::read_to_string(&old).expect("reads"), "kept");
        assert_eq!(fs::read_link(&link).expect("is still a link"), Path::new("target"));
        assert!(writable(folder.path()).is_err() && writable(&folder.path().join("no/file")).is_err());
    }
}
