//! Files of the kernel's that hold names which anybody may choose: of programs, of mounts, of control groups.

use std::path::Path;
use std::{fs, io};

/// What the file says. Names may be any bytes: what is no UTF-8 in them is replaced, so that nobody hides, or hides
/// others, by a name.
///
/// # Errors
/// Those of read(2).
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
