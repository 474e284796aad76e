//! A file of the kernel's that holds a setting (of a cgroup, of a device, of the
//! system): what it said is written down, and put back.

use crosstalk_core::Fault;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::tree::is_mounted;
use super::{Change, Entry, Ledger};

/// The file, which we may set. It is written down when it is first set: until then it is its owner's to
/// change. Dropping it puts back what it said before that.
#[derive(Debug)]
pub struct Knob {
    pub(super) ledger: Ledger,
    pub(super) path: PathBuf,
    pub(super) what: String,
    pub(super) was: String,
    /// Whether `was` is what takes it back, whatever the file says.
    pub(super) takes_words: bool,
    /// Whether it stays set only while that is renewed.
    pub(super) leased: bool,
    /// The control group that it is a file of, since it was first set.
    pub(super) inode: Option<u64>,
    pub(super) entry: Option<Entry>,
}

impl Knob {
    /// The same, set only for as long as [`Ledger::renew`] is called: else it is put back, and can be set again.
    #[must_use]
    pub fn leased(self) -> Knob {
        Knob { leased: true, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it said before it was ours, as far as that is known by now.
    pub fn was(&self) -> &str {
        &self.was
    }

    /// Writes down what it says, which another knob's setting may change: it is put back as if it had been set.
    ///
    /// # Errors
    /// Where it cannot be read, or the ledger not be written.
    pub fn keep(&mut self) -> Result<(), Fault> {
        if self.entry.is_none() {
            if !self.takes_words {
                self.was = read(&self.path)?;
            }
            let (path, was, what) = (self.path.clone(), self.was.clone(), self.what.clone());
            self.inode = group(&self.path);
            let change = Change::Knob { path, was, inode: self.inode, leased: self.leased, what };
            self.entry = Some(self.ledger.enter(change)?);
        }
        Ok(())
    }

    /// Sets it.
    ///
    /// # Errors
    /// What the kernel refuses, with the file's name; or where the ledger cannot be written.
    pub fn set(&mut self, value: &str) -> Result<(), Fault> {
        self.keep()?;
        if self.inode.is_some() && group(&self.path) != self.inode {
            // What was made anew in its place is not ours, and would not be put back.
            return Err(Fault::environment("its group is gone").at(self.path.display().to_string()));
        }
        write(&self.path, value).map_err(|e| {
            Fault::environment(format!("cannot set it to {value:?}: {e}")).at(self.path.display().to_string())
        })
    }

    /// Sets it to what it said before, if it was set.
    ///
    /// # Errors
    /// What the kernel refuses, with the file's name.
    pub fn reset(&mut self) -> Result<(), Fault> {
        if self.entry.is_some() { self.set(&self.was.clone()) } else { Ok(()) }
    }

    /// What it says now.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn says(&self) -> Result<String, Fault> {
        read(&self.path)
    }

    /// Crosses it out, where setting it was refused.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn unused(self) -> Result<(), Fault> {
        self.entry.map_or(Ok(()), Entry::done)
    }

    /// Puts back what it said.
    ///
    /// # Errors
    /// When that is refused; it then stays in the ledger.
    pub fn restore(self) -> Result<(), Fault> {
        self.entry.map_or(Ok(()), Entry::undo)
    }
}

/// The control group that a file belongs to, by its directory's inode: it may be given another name (in v1's
/// trees), and another group its old one.
fn group(path: &Path) -> Option<u64> {
    let dir = path.parent().filter(|dir| dir.join("cgroup.procs").exists())?;
    Some(fs::metadata(dir).ok()?.ino())
}

/// Where the file of that group is by now: below its name, or one beside that, which is all that v1 lets it
/// have.
fn found(path: &Path, inode: u64) -> Option<PathBuf> {
    let (dir, file) = (path.parent()?, path.file_name()?);
    if fs::metadata(dir).is_ok_and(|dir| dir.ino() == inode) {
        return Some(path.into());
    }
    let beside = fs::read_dir(dir.parent()?).ok()?.flatten();
    let mut it = beside.filter(|entry| entry.ino() == inode).map(|entry| entry.path().join(file));
    it.next()
}

/// What the file says now, without the end of its line.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    let told = fs::read_to_string(path);
    let told = told.map_err(|e| Fault::environment(e.to_string()).at(path.display().to_string()))?;
    Ok(told.trim_end_matches('\n').to_string())
}

/// Puts back what it said. A file that is gone, as its group or device is, says nothing more: whether there
/// was something to put back.
pub(super) fn restore(path: &Path, was: &str, inode: Option<u64>) -> Result<bool, Fault> {
    let now = inode.map_or_else(|| Some(path.to_path_buf()), |inode| found(path, inode));
    let Some(path) = now.as_deref() else { return is_mounted(path).map(|()| false) };
    if let Some(group) = served(path) {
        // It stays written down, and goes when the next ledger is opened.
        return Err(Fault::environment(format!("{was:?} would take it from {}", group.display()))
            .at(path.display().to_string())
            .remedy("wait until what runs in that group has ended, then: crosstalk clean"));
    }
    match write(path, was) {
        Err(e) if is_gone(&e) => is_mounted(path).map(|()| false),
        Err(e) if is_taken_over(path, &e) => Ok(false),
        Err(e) => Err(Fault::environment(format!("cannot put back {was:?}: {e}"))
            .at(path.display().to_string())
            .remedy(format!("echo '{was}' > {}", path.display()))),
        Ok(()) => Ok(true),
    }
}

fn is_gone(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ENODEV)
}

/// A controller that others have come to use below meanwhile stays: it is theirs by now.
fn is_taken_over(path: &Path, e: &io::Error) -> bool {
    path.ends_with("cgroup.subtree_control") && e.raw_os_error() == Some(libc::EBUSY)
}

/// What names of control groups of ours begin with.
const OURS: &str = "crosstalk-";

/// A group of ours, another owner's perhaps, that a controller is enabled for by this file: the
/// kernel would take it away under the group, with all that is set there.
fn served(path: &Path) -> Option<PathBuf> {
    let above = path.parent().filter(|_| path.ends_with("cgroup.subtree_control"))?;
    let mut groups = fs::read_dir(above).ok()?.flatten().map(|entry| entry.path());
    groups.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OURS)))
}

/// Into a file that is there, in one write, as the kernel wants it; an empty value is a line.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(if value.is_empty() { b"\n" } else { value.as_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_put_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("knob");
        fs::write(&path, "100\n").expect("writes");
        assert_eq!(read(&path), Ok("100".to_string()));
        restore(&path, "100", None).expect("is there");
        assert!(fs::read_to_string(&path).expect("reads").starts_with("100"));
    }

    #[test]
    fn a_controller_is_left_to_groups_of_ours_that_stand_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, group) = (folder.path().join("cgroup.subtree_control"), folder.path().join("crosstalk-x"));
        fs::write(&path, "+cpu").expect("writes");
        fs::create_dir(&group).expect("makes");
        let fault = restore(&path, "-cpu", None).expect_err("it has one");
        assert!(fault.message.contains("crosstalk-x") && fault.remedy.is_some(), "{fault}");
        assert_eq!(read(&path), Ok("+cpu".to_string()));
        fs::remove_dir(&group).expect("goes");
        restore(&path, "-cpu", None).expect("nobody has it");
        assert_eq!(read(&path), Ok("-cpu".to_string()));
    }

    #[test]
    fn a_group_is_known_by_more_than_its_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let make = |dir: &Path| {
            fs::create_dir(dir).expect("makes");
            fs::write(dir.join("cgroup.procs"), "").expect("writes");
            fs::write(dir.join("knob"), "ours").expect("writes");
        };
        make(&old);
        let path = old.join("knob");
        let inode = group(&path);
        assert!(inode.is_some() && group(&folder.path().join("knob")).is_none());
        fs::rename(&old, &new).expect("renames");
        make(&old);
        assert_eq!(restore(&path, "back", inode), Ok(true));
        assert_eq!(read(&new.join("knob")), Ok("back".to_string()));
        assert_eq!(read(&path), Ok("ours".to_string()), "that is another group");
        fs::remove_dir_all(&new).expect("goes");
        assert_eq!(restore(&path, "back", inode), Ok(false));
        assert_eq!(read(&path), Ok("ours".to_string()));
    }

    #[test]
    fn what_is_gone_is_as_it_was() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("knob");
        assert_eq!(restore(&path, "1", None), Ok(false));
        assert!(!path.exists(), "nothing is made");
        assert!(read(&path).is_err());
    }
}
