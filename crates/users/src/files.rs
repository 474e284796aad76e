//! The files that users read: written once for an agent, and out of the page cache before each attempt.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_work::peer::Deadline;
use rustix::fs::statvfs;

use crate::reread::{BLOCK, drop_cached, write_blocks};

/// Makes a folder, with those above it.
///
/// # Errors
/// If it cannot be made.
pub fn create(folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder)
        .map_err(|e| Fault::attempt(format!("cannot make a folder: {e}")).at(folder.display().to_string()))
}

/// Bytes that stay free beside the users' files, for what else is written there.
const SPARE: u64 = 64 << 20;

/// The bytes of those of these files, by name, that are not in `folder` yet.
pub fn missing(folder: &Path, files: &BTreeMap<String, Bytes>) -> Bytes {
    let missing = files.iter().filter(|(name, size)| length(&folder.join(name)) != size.0);
    Bytes(missing.fold(0, |sum, (_, size)| sum.saturating_add(size.0)))
}

/// Checks that so many more bytes fit into the file system of `folder`, which is made.
///
/// # Errors
/// A usage fault if they do not; an attempt fault if the folder cannot be made, or the system does not say what is free.
pub fn check_space(folder: &Path, need: Bytes) -> Result<(), Fault> {
    create(folder)?;
    let place = folder.display().to_string();
    let system =
        statvfs(folder).map_err(|e| Fault::attempt(format!("cannot read what is free: {e}")).at(&*place))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if need.0 == 0 || need.0.saturating_add(SPARE) <= free {
        return Ok(());
    }
    let [need, free, spare] = [need.0, free, SPARE].map(|bytes| human(bytes as f64, "B"));
    let message = format!("the users' files take {need}, and {spare} are to stay free: {free} are free");
    Err(Fault::usage(message)
        .at(place)
        .remedy("write smaller sizes into the mix, or let TMPDIR name a folder with more space"))
}

/// The bytes of a file; none if there is no such file.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Writes a file of `size` bytes if there is none of that size, and takes it out of the page cache.
///
/// # Errors
/// If it cannot be written, or not in time.
pub fn block_file(path: &Path, size: u64, until: &Deadline) -> Result<(), Fault> {
    if length(path) != size {
        write_blocks(path, size / BLOCK as u64, until)?;
    }
    // Pages that are cached are charged to an earlier attempt's group.
    let dropped = File::open(path).and_then(|file| drop_cached(&file));
    dropped.map_err(|e| Fault::attempt(e.to_string()).at(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::FaultKind;
    use crosstalk_core::units::Seconds;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn files_that_are_larger_than_what_is_free_are_refused_before_any_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().join("users");
        let sizes = BTreeMap::from([("a".into(), Bytes(4096)), ("b".into(), Bytes(1 << 60))]);
        let fault = check_space(&folder, missing(&folder, &sizes)).expect_err("no disk is that large");
        assert_eq!((fault.kind, fault.place.clone()), (FaultKind::Usage, Some(folder.display().to_string())));
        assert!(
            fault.message.contains("take 1073741824 GiB") && fault.message.contains("are free"),
            "{}",
            fault.message
        );
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("TMPDIR")));
        File::create(folder.join("b")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        let sizes = BTreeMap::from([("b".into(), Bytes(1 << 40))]);
        assert_eq!(check_space(&folder, missing(&folder, &sizes)), Ok(()), "it is there");
    }

    #[test]
    fn a_file_that_is_not_written_in_time_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cancelled = AtomicBool::new(true);
        let until = Deadline::new(Seconds(60.0), &cancelled);
        let path = folder.path().join("file");
        let fault = block_file(&path, 1 << 40, &until).expect_err("is cancelled");
        assert_eq!(fault.kind, FaultKind::Interrupted);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_written_once_for_its_size() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let size = 2 * BLOCK as u64;
        let cancelled = AtomicBool::new(false);
        let until = Deadline::new(Seconds(60.0), &cancelled);
        let path = folder.path().join("file");
        block_file(&path, size, &until).expect("writes");
        let first = fs::metadata(&path).and_then(|found| found.modified()).expect("is there");
        block_file(&path, size, &until).expect("is there");
        assert_eq!(fs::metadata(&path).and_then(|found| found.modified()).expect("is there"), first);
        block_file(&path, 2 * size, &until).expect("writes");
        assert_eq!(fs::metadata(&path).expect("is there").len(), 2 * size);
    }
}
