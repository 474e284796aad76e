//! Where ledgers are kept: a folder that is gone after a restart, as the
//! changes are, and that only its owner can enter.

use crosstalk_core::Fault;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::process::fresh_mark;

/// `$XDG_RUNTIME_DIR/crosstalk`, else `/run/crosstalk` for root, else
/// `/tmp/crosstalk-UID`; made where it is missing. What a login gave root goes with the login, and root's
/// guard may not: that one is passed over. In `/tmp` anybody may have put something there first: then it is
/// `/tmp/crosstalk-UID-` and a number that nobody can guess.
///
/// # Errors
/// When none of them can be made.
pub fn folder() -> Result<PathBuf, Fault> {
    let user = user();
    let mut candidates = candidates(user);
    candidates.retain(|path| user != 0 || !path.starts_with(LOGINS));
    first(&candidates, Path::new(TEMPORARY), user)
}

fn first(candidates: &[PathBuf], temporary: &Path, user: u32) -> Result<PathBuf, Fault> {
    let mut fault = None;
    let more = others(temporary, user);
    for path in candidates.iter().chain(&more) {
        match make(path, user) {
            Ok(()) => return Ok(path.clone()),
            Err(f) => fault = fault.or(Some(f)),
        }
    }
    let mark = fresh_mark()?;
    let path = temporary.join(format!("crosstalk-{user}-{}", &mark[..16]));
    // What is in the way of the usual place is what there is something to do about.
    make(&path, user).map(|()| path).map_err(|last| fault.unwrap_or(last))
}

/// All folders in which this user's ledgers may be, and nobody else's: a ledger may have been begun where
/// the environment said something else.
pub(crate) fn folders() -> Vec<PathBuf> {
    let user = user();
    let mut found = candidates(user);
    found.push(format!("{LOGINS}/{user}/crosstalk").into());
    found.extend(others(Path::new(TEMPORARY), user));
    found.retain(|path| {
        fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == user && m.mode() & 0o022 == 0)
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// This user's own folders of that kind, but for the usual one.
fn others(temporary: &Path, user: u32) -> Vec<PathBuf> {
    let begins = format!("crosstalk-{user}-");
    let its = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(begins.as_bytes());
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten().filter(its);
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == user));
    let mut found: Vec<PathBuf> = own.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

/// Where anybody may make a folder.
const TEMPORARY: &str = "/tmp";
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
    candidates.push(format!("{TEMPORARY}/crosstalk-{user}").into());
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

    #[test]
    fn where_the_usual_place_is_taken_there_is_another_that_is_found_again() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let user = fs::metadata(root.path()).expect("is there").uid();
        let usual = root.path().join(format!("crosstalk-{user}"));
        fs::write(&usual, "").expect("somebody's");
        // Nor is one that only looks like it, or that another can enter.
        symlink(root.path(), root.path().join(format!("crosstalk-{user}-0"))).expect("links");
        fs::create_dir(root.path().join(format!("crosstalk-{user}-1"))).expect("makes");
        let found = first(std::slice::from_ref(&usual), root.path(), user).expect("another");
        assert_eq!(fs::metadata(&found).expect("is there").mode() & 0o777, 0o700);
        assert!(others(root.path(), user).contains(&found));
        assert_eq!(first(std::slice::from_ref(&usual), root.path(), user), Ok(found), "the same again");
        fs::remove_file(&usual).expect("it is ours after all");
        assert_eq!(first(std::slice::from_ref(&usual), root.path(), user), Ok(usual));
    }
}
