//! A folder for temporary files that is gone with its owner, however that ends.

use crosstalk_core::Fault;
use rustix::fs::{Access, access};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Entry;

/// The folder. Dropping it takes it away with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    pub(super) path: PathBuf,
    pub(super) _entry: Entry,
}

impl Scratch {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Where temporary files are: `$TMPDIR`, else `/tmp`.
///
/// # Errors
/// A usage fault where its name is not UTF-8, for it goes to nodes and into records, which are text; where it
/// is no directory; and where `$TMPDIR` cannot be written to.
pub fn temporary() -> Result<PathBuf, Fault> {
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
    // What is wrong with `/tmp` is for who makes something there to say.
    if std::env::var_os("TMPDIR").is_some()
        && let Err(e) = access(&path, Access::WRITE_OK | Access::EXEC_OK)
    {
        return refused(&format!("a folder that can be written to: {}", std::io::Error::from(e)));
    }
    Ok(path)
}

pub(super) fn make(path: &Path) -> Result<(), Fault> {
    DirBuilder::new().mode(0o700).create(path).map_err(|e| {
        Fault::environment(format!("cannot make a folder for temporary files: {e}"))
            .at(path.display().to_string())
            .remedy("set TMPDIR to a folder of yours that can be written to")
    })
}

/// Takes it away. What writes to it may be about to end: then a file appears
/// between looking and removing, and one more look is due.
pub(super) fn remove(path: &Path, deadline: Duration) -> Result<(), Fault> {
    let until = Instant::now() + deadline;
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            // Also where what it was to be in is no folder.
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
    fn what_was_never_made_is_gone_already() {
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
        make(&path).expect("makes");
        let inner = path.clone();
        let writer = thread::spawn(move || {
            let until = Instant::now() + Duration::from_millis(50);
            let mut written = 0_u32;
            while Instant::now() < until {
                // The folder may be gone: then there is nothing to write to.
                let _ = fs::create_dir_all(inner.join(format!("{written}")));
                written += 1;
            }
        });
        // It may come back meanwhile, from `create_dir_all`; not after the writer has ended.
        remove(&path, Duration::from_secs(2)).expect("removes");
        writer.join().expect("writes");
        remove(&path, Duration::from_secs(2)).expect("removes");
        assert!(!path.exists());
    }
}
