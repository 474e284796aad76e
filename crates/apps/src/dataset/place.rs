//! Puts a data set into its directory: each file whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crosstalk_core::Fault;
use tempfile::NamedTempFile;

use super::catalogue::{DataSet, Files, Supply};
use super::download::{download, unwritable_fault};
use super::zip::read_member;

/// Gets a data set into `dir`, which is made where it is not there.
///
/// # Errors
/// A usage fault where it is there, or is got by hand; an environment fault where it cannot be fetched or
/// written, or differs from the catalogue's.
pub fn install(set: &DataSet, dir: &Path) -> Result<(), Fault> {
    let Supply::Download { url, sha256 } = &set.supply else {
        return Err(by_hand(set, dir));
    };
    if let Some(there) = set.files.paths().map(|path| dir.join(path)).find(|path| path.exists()) {
        let what = match (set.file_sha256.is_some(), set.is_complete_in(dir)) {
            (true, true) => "it is already there, with the right checksum",
            (true, false) => "another file with its name is already there: the checksum differs",
            (false, _) => "a file with its name is already there; there is no checksum to check it by",
        };
        return Err(Fault::usage(what)
            .at(there.display().to_string())
            .remedy("use it as it is; or remove it first, or name another --dir"));
    }
    let at = |path: &Path, e: &io::Error| unwritable_fault(e).at(path.display().to_string());
    fs::create_dir_all(dir).map_err(|e| at(dir, &e))?;
    // Without a name: nothing of it stays, however this ends.
    let mut fetched = tempfile::tempfile_in(dir).map_err(|e| at(dir, &e))?;
    download(url, set.size, sha256, &mut fetched).map_err(|fault| fault.at(dir.display().to_string()))?;
    let again = |mut file: &File| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = again(&fetched).map_err(|e| at(dir, &e))?;
    let files: Vec<(&str, Vec<u8>)> = match &set.files {
        Files::Whole(path) => vec![(path.as_str(), bytes)],
        Files::Members(members) => {
            let unpacked = members.iter().map(|(name, path)| Ok((path.as_str(), read_member(&bytes, name)?)));
            unpacked.collect::<Result<_, Fault>>().map_err(|fault| fault.at(url.as_str()))?
        }
    };
    for (path, bytes) in files {
        let path = dir.join(path);
        put(&path, &bytes).map_err(|e| at(&path, &e))?;
    }
    Ok(())
}

/// Writes a file for everybody to read; it has its name only once it is whole.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(io::Error::from)
}

fn by_hand(set: &DataSet, dir: &Path) -> Fault {
    let steps = if let Supply::ByHand(steps) = &set.supply { &steps[..] } else { &[] };
    let paths: Vec<String> = set.files.paths().map(|path| dir.join(path).display().to_string()).collect();
    Fault::usage("it is not published at an address and with a checksum that stay: get it by hand")
        .at(set.name.clone())
        .remedy(format!("{}; put it at {}", steps.join("; "), paths.join(", ")))
}
