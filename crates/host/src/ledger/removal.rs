//! Removes a folder of temporary files.

use crosstalk_core::Fault;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

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
        fs::create_dir(&path).expect("creates");
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
