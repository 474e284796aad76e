//! The folder of the ledgers. It is removed by a reboot, as the changes are, and only its
//! owner can enter it.

use crosstalk_core::Fault;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::process::fresh_mark;
use crate::user;

/// The folder of this user's ledgers: `$XDG_RUNTIME_DIR/crosstalk`, else `/run/crosstalk` for root, else
/// `/tmp/crosstalk-UID`. It is created if it is missing. Root does not use the runtime folder of a login, which
/// is removed at logout while its guard runs on. If another user has created the folder in `/tmp`, it is
/// `/tmp/crosstalk-UID-` and a random number.
///
/// # Errors
/// If none of them can be created.
pub fn folder() -> Result<PathBuf, Fault> {
    let user = user::id();
    first(&lasting(user), Path::new(TEMPORARY), user)
}

/// The folder that [`folder`] returns, if it exists already. Nothing is created.
pub fn existing_folder() -> Option<PathBuf> {
    let user = user::id();
    existing(&lasting(user), Path::new(TEMPORARY), user)
}

/// The candidates that outlast a logout of root's.
fn lasting(user: u32) -> Vec<PathBuf> {
    let mut candidates = candidates(user);
    candidates.retain(|path| user != 0 || !path.starts_with(LOGINS));
    candidates
}

fn existing(candidates: &[PathBuf], temporary: &Path, user: u32) -> Option<PathBuf> {
    for path in candidates.iter().chain(&numbered(temporary, user)) {
        let can_be_created =
            || path.parent().is_some_and(|above| access(above, Access::WRITE_OK | Access::EXEC_OK).is_ok());
        match check(path, user) {
            Ok(()) => return Some(path.clone()),
            // It would be created here.
            Err(_) if fs::symlink_metadata(path).is_err() && can_be_created() => return None,
            Err(_) => {}
        }
    }
    None
}

fn first(candidates: &[PathBuf], temporary: &Path, user: u32) -> Result<PathBuf, Fault> {
    let mut fault = None;
    let more = numbered(temporary, user);
    for path in candidates.iter().chain(&more) {
        match make(path, user) {
            Ok(()) => return Ok(path.clone()),
            Err(f) => fault = fault.or(Some(f)),
        }
    }
    let mark = fresh_mark()?;
    let path = temporary.join(format!("crosstalk-{user}-{}", &mark[..16]));
    // The fault of the usual folder is reported: it has a remedy.
    make(&path, user).map(|()| path).map_err(|last| fault.unwrap_or(last))
}

/// All folders that may have ledgers of this user, and of no one else. A ledger may have been created in another
/// environment.
pub(crate) fn folders() -> Vec<PathBuf> {
    let user = user::id();
    let mut found = candidates(user);
    found.push(format!("{LOGINS}/{user}/crosstalk").into());
    found.extend(numbered(Path::new(TEMPORARY), user));
    found.retain(|path| {
        fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == user && m.mode() & 0o022 == 0)
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// This user's folders in `temporary` whose names end in a number.
fn numbered(temporary: &Path, user: u32) -> Vec<PathBuf> {
    let prefix = format!("crosstalk-{user}-");
    let has_prefix =
        |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten().filter(has_prefix);
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == user));
    let mut found: Vec<PathBuf> = own.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

/// The folder in which every user may create folders.
const TEMPORARY: &str = "/tmp";
/// The parent of the runtime folders of logins.
const LOGINS: &str = "/run/user";

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
    check(path, user)
}

/// Whether it is a folder that only this user can enter.
fn check(path: &Path, user: u32) -> Result<(), Fault> {
    let at = |message: String| Fault::environment(message).at(path.display().to_string());
    // Links are not followed: in /tmp another user may have created the entry.
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
        make(&path, user).expect("exists already");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
        let fault = make(&path, user).expect_err("others could enter");
        assert!(fault.remedy.expect("a remedy").contains("chmod 700"));
    }

    #[test]
    fn looking_for_the_folder_creates_nothing() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let user = fs::metadata(root.path()).expect("is there").uid();
        let candidates = ["first", "second"].map(|name| root.path().join(name));
        let look = || existing(&candidates, root.path(), user);
        assert_eq!(look(), None);
        assert!(fs::read_dir(root.path()).expect("is there").next().is_none(), "nothing is created");
        make(&candidates[1], user).expect("is made");
        assert_eq!(look(), None, "the first one would be created");
        fs::write(&candidates[0], "").expect("is no folder");
        assert_eq!(look(), Some(candidates[1].clone()));
        fs::remove_file(&candidates[0]).expect("is ours");
        make(&candidates[0], user).expect("is made");
        assert_eq!(look(), first(&candidates, root.path(), user).ok());
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
    fn if_the_usual_folder_is_taken_another_is_used_and_found_again() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let user = fs::metadata(root.path()).expect("is there").uid();
        let usual = root.path().join(format!("crosstalk-{user}"));
        fs::write(&usual, "").expect("somebody's");
        // A link of a similar name, or a folder that others can enter, is not used.
        symlink(root.path(), root.path().join(format!("crosstalk-{user}-0"))).expect("links");
        fs::create_dir(root.path().join(format!("crosstalk-{user}-1"))).expect("makes");
        let found = first(std::slice::from_ref(&usual), root.path(), user).expect("another");
        assert_eq!(fs::metadata(&found).expect("is there").mode() & 0o777, 0o700);
        assert!(numbered(root.path(), user).contains(&found));
        assert_eq!(first(std::slice::from_ref(&usual), root.path(), user), Ok(found), "the same again");
        fs::remove_file(&usual).expect("it is ours after all");
        assert_eq!(first(std::slice::from_ref(&usual), root.path(), user), Ok(usual));
    }
}
