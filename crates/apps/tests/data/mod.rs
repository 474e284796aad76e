//! Real data for tests, in the directory that `CROSSTALK_DATA` names.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};

/// The repository's root: its Python environments and reference programs are below it.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The file of that name, where it is there.
pub fn find(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("CROSSTALK_DATA").map(PathBuf::from)?;
    Some(directory.join(name)).filter(|path| path.is_file())
}

/// The same; without the file, says why the test is skipped.
pub fn real(name: &str) -> Option<PathBuf> {
    let found = find(name);
    if found.is_none() {
        eprintln!("skipped: no {name} in the directory that CROSSTALK_DATA names (crosstalk data list)");
    }
    found
}
