//! The file that holds a client's password.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_host::regular;

/// The file's name in a client's data directory.
pub const PASSWORD: &str = "gui_rpc_auth.cfg";

/// The data directories of packaged clients.
pub const FOLDERS: [&str; 2] = ["/var/lib/boinc-client", "/var/lib/boinc"];

/// The longest password that a client takes, in bytes.
const LONGEST: u64 = 255;

/// Reads the password from a file. With a `user`, the file must belong to that user: the file was then
/// found through a process of theirs, and anybody can call a process `boinc` and put a link next to it.
///
/// # Errors
/// When it cannot be read, or belongs to another user.
pub fn password(path: &Path, user: Option<u32>) -> Result<String, Fault> {
    let place = || path.display().to_string();
    let unreadable = |e: Error| {
        let remedy = match e.kind() {
            ErrorKind::PermissionDenied => {
                "run as root, or become a member of the group `boinc` (`usermod -aG boinc $USER`)"
            }
            _ => "name the client's gui_rpc_auth.cfg: --boinc-password-file FILE",
        };
        Fault::environment(format!("cannot read the BOINC client's password: {e}")).at(place()).remedy(remedy)
    };
    let file = regular::open(path).map_err(unreadable)?;
    if user.is_some_and(|user| !belongs(&file, path, user)) {
        let why = "the BOINC client's password belongs to another user than its process";
        return Err(Fault::environment(why)
            .at(place())
            .remedy("if it is the right one, name it: --boinc-password-file FILE"));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_string())
}

/// Whether an open file is that user's, and no other user's link leads there. Packages let root own it,
/// in the data directory that they have made for the user.
fn belongs(file: &File, path: &Path, user: u32) -> bool {
    let packaged = || {
        let folder = path.parent().filter(|folder| FOLDERS.iter().any(|usual| Path::new(usual) == *folder));
        folder.is_some_and(|folder| fs::metadata(folder).is_ok_and(|status| status.uid() == user))
    };
    let entry = fs::symlink_metadata(path).is_ok_and(|status| [0, user].contains(&status.uid()));
    let owner = file.metadata().map(|status| status.uid());
    entry && owner.is_ok_and(|owner| owner == user || (owner == 0 && packaged()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_is_read_and_its_absence_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join(PASSWORD);
        let fault = password(&file, None).expect_err("is not there");
        assert!(fault.place.is_some_and(|place| place.ends_with(PASSWORD)) && fault.remedy.is_some());
        fs::write(&file, "secret\n").expect("writes");
        assert_eq!(password(&file, None).as_deref(), Ok("secret"));
    }
}
