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
