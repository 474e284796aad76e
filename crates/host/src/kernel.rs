//! Reading files of the kernel that contain names chosen by users: of programs, mounts, control groups.

use std::path::Path;
use std::{fs, io};

/// The content of a file in `/proc` or `/sys`. Names may be any bytes. Bytes that are not UTF-8 are replaced, so
/// that a name cannot hide a process or a group.
///
/// # Errors
/// Those of read(2).
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
