//! A file of the kernel that holds a setting, of a control group, a device or the system. Its original value is
//! listed in the ledger before it is set, and restored.

use crosstalk_core::Fault;
use std::path::{Path, PathBuf};

use super::change::Change;
use super::owner::{Entry, Ledger};
use super::setting::{group_inode, read, write};

/// A setting in a file of the kernel. Once it is set, the ledger lists it, and it is restored when this value is
/// dropped.
#[derive(Debug)]
pub struct Knob {
    ledger: Ledger,
    path: PathBuf,
    what: String,
    /// The value that undoes the setting.
    original: String,
    /// Whether `original` undoes the setting whatever the file says now.
    has_fixed_undo: bool,
    /// Whether it stays set only while the lease is renewed.
    leased: bool,
    /// The control group that it is a file of, from when it was first set.
    inode: Option<u64>,
    entry: Option<Entry>,
}

impl Ledger {
    /// A knob: a file of the kernel that holds a setting. It is neither set nor listed yet.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn knob(&self, path: &Path, what: &str) -> Result<Knob, Fault> {
        let original = read(path)?;
        Ok(Knob { has_fixed_undo: false, ..self.knob_with_undo(path, &original, what) })
    }

    /// A knob that is undone by writing `undo`, instead of its original value. For files such as
    /// `cgroup.subtree_control`, to which changes are written, not values.
    pub fn knob_with_undo(&self, path: &Path, undo: &str, what: &str) -> Knob {
        Knob {
            ledger: self.clone(),
            path: path.into(),
            what: what.into(),
            original: undo.into(),
            has_fixed_undo: true,
            leased: false,
            inode: None,
            entry: None,
        }
    }
}

impl Knob {
    /// The same knob, leased: it is restored if [`Ledger::renew`] is not called in time, and can be set again then.
    #[must_use]
    pub fn leased(self) -> Knob {
        Knob { leased: true, ..self }
    }

    /// The path of the setting's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value that it is restored to.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Lists the setting's current value, so that it is restored as if it had been set. For a knob that changes
    /// when another one is set.
    ///
    /// # Errors
    /// If it cannot be read, or the ledger cannot be written.
    pub fn record(&mut self) -> Result<(), Fault> {
        if self.entry.is_none() {
            if !self.has_fixed_undo {
                self.original = read(&self.path)?;
            }
            self.inode = group_inode(&self.path);
            let change = Change::Knob {
                path: self.path.clone(),
                original: self.original.clone(),
                inode: self.inode,
                leased: self.leased,
                what: self.what.clone(),
            };
            self.entry = Some(self.ledger.enter(change)?);
        }
        Ok(())
    }

    /// Writes a value to the setting's file, after listing the setting in the ledger.
    ///
    /// # Errors
    /// If the kernel refuses, with the file's name; or if the ledger cannot be written.
    pub fn set(&mut self, value: &str) -> Result<(), Fault> {
        self.record()?;
        if self.inode.is_some() && group_inode(&self.path) != self.inode {
            // Another group of the same name is not ours, and would not be restored.
            return Err(Fault::environment("its group is gone").at(self.path.display().to_string()));
        }
        write(&self.path, value).map_err(|e| {
            Fault::environment(format!("cannot set it to {value:?}: {e}")).at(self.path.display().to_string())
        })
    }

    /// Sets the setting to its original value, if it was set.
    ///
    /// # Errors
    /// If the kernel refuses, with the file's name.
    pub fn reset(&mut self) -> Result<(), Fault> {
        if self.entry.is_some() { self.set(&self.original.clone()) } else { Ok(()) }
    }

    /// The value that the setting has now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn current(&self) -> Result<String, Fault> {
        read(&self.path)
    }

    /// Removes the setting from the ledger, after the kernel has refused to set it.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn forget(self) -> Result<(), Fault> {
        self.entry.map_or(Ok(()), Entry::done)
    }

    /// Restores its original value.
    ///
    /// # Errors
    /// If the kernel refuses; it then stays listed.
    pub fn restore(self) -> Result<(), Fault> {
        self.entry.map_or(Ok(()), Entry::undo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Launcher;
    use std::fs;

    /// A knob in a control group of plain files, whose reaper leaves it to its owner.
    fn knob(group: &Path, says: &str) -> Knob {
        fs::create_dir(group).expect("makes");
        fs::write(group.join("cgroup.procs"), "").expect("writes");
        fs::write(group.join("memory.high"), says).expect("writes");
        let args = ["-c", "printf +; cat > /dev/null"].map(Into::into).to_vec();
        let ledger = Ledger::open(&Launcher { program: PathBuf::from("sh"), args }).expect("a ledger");
        ledger.knob(&group.join("memory.high"), "a limit").expect("is there")
    }

    #[test]
    fn until_it_is_set_its_owner_may_change_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut knob = knob(&folder.path().join("group"), "max");
        let path = knob.path().to_path_buf();
        fs::write(&path, "9000").expect("writes");
        knob.reset().expect("there is nothing to do");
        knob.set("5000").expect("is there");
        assert_eq!((knob.original(), read(&path)), ("9000", Ok("5000".into())));
        drop(knob);
        assert_eq!(read(&path), Ok("9000".into()));
    }

    #[test]
    fn what_is_made_anew_in_its_place_is_not_set() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (dir, beside) = (folder.path().join("group"), folder.path().join("beside"));
        let mut old = knob(&dir, "9000");
        old.set("5000").expect("is there");
        fs::rename(&dir, &beside).expect("renames");
        let _new = knob(&dir, "7000");
        let fault = old.set("60").expect_err("is another group");
        assert!(fault.message.contains("gone"), "{fault}");
        drop(old);
        assert_eq!(read(&dir.join("memory.high")), Ok("7000".into()), "it was never ours");
        assert_eq!(read(&beside.join("memory.high")), Ok("9000".into()), "it has its own again");
    }
}
