//! Reading, writing and restoring a file of the kernel that holds a setting.

use crosstalk_core::Fault;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::tree::check_mounted;

/// The inode of the control group that a file belongs to. It identifies the group: in v1's trees a group may
/// be renamed, and another group get its old name.
pub(super) fn group_inode(path: &Path) -> Option<u64> {
    let dir = path.parent().filter(|dir| dir.join("cgroup.procs").exists())?;
    Some(fs::metadata(dir).ok()?.ino())
}

/// The current path of a file of the group with that inode: under the group's name, or under another name in
/// the same parent. v1 allows no other renaming.
fn current_path(path: &Path, inode: u64) -> Option<PathBuf> {
    let (dir, file) = (path.parent()?, path.file_name()?);
    if fs::metadata(dir).is_ok_and(|dir| dir.ino() == inode) {
        return Some(path.into());
    }
    let siblings = fs::read_dir(dir.parent()?).ok()?.flatten();
    let mut renamed = siblings.filter(|entry| entry.ino() == inode).map(|entry| entry.path().join(file));
    renamed.next()
}

/// The content of the file, without the line end.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    let content = fs::read_to_string(path);
    let content = content.map_err(|e| Fault::environment(e.to_string()).at(path.display().to_string()))?;
    Ok(content.trim_end_matches('\n').to_string())
}

/// Sets the file back to its original value. Returns false if nothing was to restore, as the file's group or
/// device is gone.
pub(super) fn restore(path: &Path, original: &str, inode: Option<u64>) -> Result<bool, Fault> {
    let now = inode.map_or_else(|| Some(path.to_path_buf()), |inode| current_path(path, inode));
    let Some(path) = now.as_deref() else { return check_mounted(path).map(|()| false) };
    if let Some(group) = depending_group(path) {
        // It stays listed, and is restored when the next ledger is opened.
        return Err(Fault::environment(format!("{original:?} would take it from {}", group.display()))
            .at(path.display().to_string())
            .remedy("wait until what runs in that group has ended, then: crosstalk clean"));
    }
    match write(path, original) {
        Err(e) if is_gone(&e) => check_mounted(path).map(|()| false),
        Err(e) if is_in_use(path, &e) => Ok(false),
        Err(e) => Err(Fault::environment(format!("cannot put back {original:?}: {e}"))
            .at(path.display().to_string())
            .remedy(format!("echo '{original}' > {}", path.display()))),
        Ok(()) => Ok(true),
    }
}

fn is_gone(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ENODEV)
}

/// Whether others use the controller below this group by now. Then it stays enabled.
fn is_in_use(path: &Path, e: &io::Error) -> bool {
    path.ends_with("cgroup.subtree_control") && e.raw_os_error() == Some(libc::EBUSY)
}

/// The prefix of the names of control groups that this program creates.
const OUR_PREFIX: &str = "crosstalk-";

/// A group of ours, perhaps of another owner, for which this file enables a controller. Disabling it would
/// remove all settings of that controller in the group.
fn depending_group(path: &Path) -> Option<PathBuf> {
    let above = path.parent().filter(|_| path.ends_with("cgroup.subtree_control"))?;
    let mut groups = fs::read_dir(above).ok()?.flatten().map(|entry| entry.path());
    groups.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OUR_PREFIX)))
}

/// Writes to an existing file in one call, as the kernel requires. An empty value is written as an empty line.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(if value.is_empty() { b"\n" } else { value.as_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_value_is_restored() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("knob");
        fs::write(&path, "100\n").expect("writes");
        assert_eq!(read(&path), Ok("100".to_string()));
        restore(&path, "100", None).expect("is there");
        assert!(fs::read_to_string(&path).expect("reads").starts_with("100"));
    }

    #[test]
    fn a_controller_stays_enabled_while_groups_of_ours_depend_on_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, group) = (folder.path().join("cgroup.subtree_control"), folder.path().join("crosstalk-x"));
        fs::write(&path, "+cpu").expect("writes");
        fs::create_dir(&group).expect("makes");
        let fault = restore(&path, "-cpu", None).expect_err("it has one");
        assert!(fault.message.contains("crosstalk-x") && fault.remedy.is_some(), "{fault}");
        assert_eq!(read(&path), Ok("+cpu".to_string()));
        fs::remove_dir(&group).expect("removes");
        restore(&path, "-cpu", None).expect("no group depends on it");
        assert_eq!(read(&path), Ok("-cpu".to_string()));
    }

    #[test]
    fn a_renamed_group_is_found_by_its_inode() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let make = |dir: &Path| {
            fs::create_dir(dir).expect("makes");
            fs::write(dir.join("cgroup.procs"), "").expect("writes");
            fs::write(dir.join("knob"), "ours").expect("writes");
        };
        make(&old);
        let path = old.join("knob");
        let inode = group_inode(&path);
        assert!(inode.is_some() && group_inode(&folder.path().join("knob")).is_none());
        fs::rename(&old, &new).expect("renames");
        make(&old);
        assert_eq!(restore(&path, "back", inode), Ok(true));
        assert_eq!(read(&new.join("knob")), Ok("back".to_string()));
        assert_eq!(read(&path), Ok("ours".to_string()), "that is another group");
        fs::remove_dir_all(&new).expect("removes");
        assert_eq!(restore(&path, "back", inode), Ok(false));
        assert_eq!(read(&path), Ok("ours".to_string()));
    }

    #[test]
    fn a_file_that_is_gone_needs_no_restoring() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("knob");
        assert_eq!(restore(&path, "1", None), Ok(false));
        assert!(!path.exists(), "no file is created");
        assert!(read(&path).is_err());
    }
}
