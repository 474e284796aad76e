//! Where ledgers are kept: a folder that is gone after a restart, as the
//! changes are, and that only its owner can enter.

use crosstalk_core::Fault;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `$XDG_RUNTIME_DIR/crosstalk`, else `/run/crosstalk` for root, else
/// `/tmp/crosstalk-UID`; made where it is missing. What a login gave root goes with the login, and root's
/// guard may not: that one is passed over.
///
/// # Errors
/// When none of them can be made, or somebody else's stands in its place.
pub fn folder() -> Result<PathBuf, Fault> {
    let user = user();
    let mut fault = None;
    for path in candidates(user).into_iter().filter(|path| user != 0 || !path.starts_with(LOGINS)) {
        match make(&path, user) {
            Ok(()) => return Ok(path),
            Err(f) => fault = Some(f),
        }
    }
    Err(fault.unwrap_or_else(|| Fault::environment("no folder for the undo ledger")))
}

/// All folders in which this user's ledgers may be, and nobody else's: a ledger may have been begun where
/// the environment said something else.
pub(crate) fn folders() -> Vec<PathBuf> {
    let user = user();
    let mut found = candidates(user);
    found.push(format!("{LOGINS}/{user}/crosstalk").into());
    found.retain(|path| {
        fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == user && m.mode() & 0o022 == 0)
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// Where logins have their folders.
const LOGINS: &str = "/run/user";

fn user() -> u32 {
    // SAFETY: only reads this process's credentials.
    unsafe { libc::geteuid() }
}

fn candidates(user: u32) -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let own = runtime.filter(|path| fs::metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == user));
    let mut candidates: Vec<_> = own.into_iter().map(|path| path.join("crosstalk")).collect();
    if user == 0 {
        candidates.push("/run/crosstalk".into());
    }
    candidates.push(format!("/tmp/crosstalk-{user}").into());
    candidates
}

fn make(path: &Path, user: u32) -> Result<(), Fault> {
    let at = |message: String| Fault::environment(message).at(path.display().to_string());
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(at(format!("cannot keep the undo ledger here: {e}"))
                .remedy("set XDG_RUNTIME_DIR to a folder of yours that can be written to"));
        }
        _ => {}
    }
    // Not following links: in /tmp anybody may have put something there first.
    let found = fs::symlink_metadata(path).map_err(|e| at(e.to_string()))?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let fault = at("expected a folder that only you can enter".into());
    if found.is_dir() && found.uid() == user {
        return Err(fault.remedy(format!("chmod 700 {}", path.display())));
    }
    Err(fault.remedy("remove it, or set XDG_RUNTIME_DIR to a folder of yours that only you can enter"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let user = fs::metadata(root.path()).expect("is there").uid();
        let path = root.path().join("ledgers");
        make(&path, user).expect("is made");
        make(&path, user).expect("stands already");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
        let fault = make(&path, user).expect_err("others could enter");
        assert!(fault.remedy.expect("a remedy").contains("chmod 700"));
    }

    #[test]
    fn a_link_or_another_s_folder_is_refused() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let user = fs::metadata(root.path()).expect("is there").uid();
        make(&root.path().join("real"), user).expect("is made");
        symlink(root.path().join("real"), root.path().join("link")).expect("links");
        assert!(make(&root.path().join("link"), user).is_err());
        assert!(make(&root.path().join("real"), user + 1).is_err());
    }
}
