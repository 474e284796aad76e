//! A folder for temporary files that is removed when its owner ends, however it ends.

use crosstalk_core::Fault;
use rustix::fs::{Access, access};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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
