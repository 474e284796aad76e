//! The files that users read: written once for an agent, and out of the page cache before each attempt.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;

use crate::reread::{BLOCK, drop_cached, write_blocks};

/// Makes a folder, with those above it.
///
/// # Errors
/// If it cannot be made.
pub fn create(folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder)
        .map_err(|e| Fault::attempt(format!("cannot make a folder: {e}")).at(folder.display().to_string()))
}

/// The file called `name` in `folder`, of `size` bytes; written if there is none of that size.
///
/// # Errors
/// If it cannot be written.
pub fn block_file(folder: &Path, name: &str, size: u64) -> Result<PathBuf, Fault> {
    let failed = |e: std::io::Error| Fault::attempt(e.to_string()).at(folder.display().to_string());
    create(folder)?;
    let path = folder.join(name);
    if fs::metadata(&path).map_or(0, |found| found.len()) != size {
        write_blocks(&path, size / BLOCK as u64)?;
    }
    // Pages that are cached are charged to an earlier attempt's group.
    File::open(&path).and_then(|file| drop_cached(&file)).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_for_its_size() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let size = 2 * BLOCK as u64;
        let path = block_file(folder.path(), "file", size).expect("writes");
        let first = fs::metadata(&path).and_then(|found| found.modified()).expect("is there");
        block_file(folder.path(), "file", size).expect("is there");
        assert_eq!(fs::metadata(&path).and_then(|found| found.modified()).expect("is there"), first);
        block_file(folder.path(), "file", 2 * size).expect("writes");
        assert_eq!(fs::metadata(&path).expect("is there").len(), 2 * size);
    }
}
