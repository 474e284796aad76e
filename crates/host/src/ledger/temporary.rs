//! A folder for temporary files that is removed when its owner ends, however it ends.

use crosstalk_core::Fault;
use rustix::fs::{Access, access};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::change::Change;
use super::owner::{Entry, Ledger};
use crate::process::fresh_mark;

/// A folder for temporary files. Dropping it removes the folder with its content.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    _entry: Entry,
}

impl Ledger {
    /// Creates a folder for temporary files that only this user can enter.
    ///
    /// # Errors
    /// If the ledger cannot be written, or the folder cannot be created.
    pub fn temporary_folder(&self, what: &str) -> Result<TemporaryFolder, Fault> {
        let path = temporary_root()?.join(format!("crosstalk-{}", fresh_mark()?));
        let entry = self.enter(Change::Folder { path: path.clone(), what: what.into() })?;
        create(&path)?;
        Ok(TemporaryFolder { path, _entry: entry })
    }
}

impl TemporaryFolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The folder in which temporary folders are created: `$TMPDIR`, else `/tmp`.
///
/// # Errors
/// A usage fault if its path is not UTF-8 (it is sent to nodes and recorded), if it is no directory, or if
/// `$TMPDIR` is not writable.
pub fn temporary_root() -> Result<PathBuf, Fault> {
    let path = std::env::temp_dir();
    let refused = |expected: &str| {
        Err(Fault::usage(format!("expected {expected}"))
            .at(format!("TMPDIR={}", path.display()))
            .remedy("set TMPDIR to a folder of yours that can be written to"))
    };
    if path.to_str().is_none() {
        return refused("a folder whose name is UTF-8");
    }
    if !path.is_dir() {
        return refused("a folder, found none");
    }
    // A `/tmp` that is not writable is reported when a folder is created there.
    if std::env::var_os("TMPDIR").is_some()
        && let Err(e) = access(&path, Access::WRITE_OK | Access::EXEC_OK)
    {
        return refused(&format!("a folder that can be written to: {}", std::io::Error::from(e)));
    }
    Ok(path)
}

fn create(path: &Path) -> Result<(), Fault> {
    DirBuilder::new().mode(0o700).create(path).map_err(|e| {
        Fault::environment(format!("cannot create a folder for temporary files: {e}"))
            .at(path.display().to_string())
            .remedy("set TMPDIR to a folder of yours that can be written to")
    })
}

/// Removes the folder. A process that still writes to it may create a file between listing and removing;
/// then it is removed again, until `deadline` has passed.
pub(super) fn remove(path: &Path, deadline: Duration) -> Result<(), Fault> {
    let until = Instant::now() + deadline;
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            // Also if its parent is no folder.
            Err(e) if is_none(e.kind()) && !path.exists() => return Ok(()),
            Err(e) if Instant::now() >= until => {
                return Err(Fault::environment(format!("cannot remove temporary files: {e}"))
                    .at(path.display().to_string()));
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn is_none(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_never_created_is_removed_already() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(remove(&folder.path().join("x"), Duration::ZERO), Ok(()));
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        assert_eq!(remove(&file.join("x"), Duration::ZERO), Ok(()));
    }

    #[test]
    fn a_writer_that_ends_soon_is_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x");
        create(&path).expect("creates");
        let inner = path.clone();
        let writer = thread::spawn(move || {
            let until = Instant::now() + Duration::from_millis(50);
            let mut written = 0_u32;
            while Instant::now() < until {
                // Fails if the folder is gone.
                let _ = fs::create_dir_all(inner.join(format!("{written}")));
                written += 1;
            }
        });
        // `create_dir_all` may create it again, until the writer has ended.
        remove(&path, Duration::from_secs(2)).expect("removes");
        writer.join().expect("writes");
        remove(&path, Duration::from_secs(2)).expect("removes");
        assert!(!path.exists());
    }
}
