//! The ledger of the running process: it lists each change, and undoes it when its entry is dropped.

use crosstalk_core::Fault;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use super::batch::Batch;
use super::change::{Change, UNDO_DEADLINE};
use super::file::{self, File};
use super::folder::{folder, folders};
use super::reaper::Reapers;
use super::undo::{self, UndoTime};
use super::{driver, group};
use crate::launcher::Launcher;
use crate::process::{MARK, fresh_mark};

/// The undo ledger of the running process. Clones are the same ledger. When the last one is
/// dropped, its file is removed.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Mutex<File>,
    /// Faults of entries that could not be undone when they were dropped.
    undo_failures: Mutex<Vec<Fault>>,
    // Dropped last: a reaper then finds the ledger empty, and removes its file.
    reapers: Mutex<Reapers>,
}

impl Ledger {
    /// Undoes changes of dead owners, opens a ledger for this process, and starts its reaper with the
    /// verb `reap` of `launcher`.
    ///
    /// # Errors
    /// If no folder can be written to, or the reaper does not start.
    pub fn open(launcher: &Launcher) -> Result<Ledger, Fault> {
        let folder = folder()?;
        // Changes that cannot be undone stay listed. `crosstalk clean` reports them.
        let _ = undo::clean_all(&folders(), UndoTime::Short);
        let (path, owner) = file::name(&folder)?;
        // The reaper starts before the file exists, so that it can always remove the file.
        let reapers = Mutex::new(Reapers::start(launcher, &path)?);
        let file = Mutex::new(File::create(path, owner)?);
        Ok(Ledger { inner: Arc::new(Inner { file, undo_failures: Mutex::default(), reapers }) })
    }

    /// Lists processes that are about to be started. Start them with [`Entry::mark`]. They must
    /// change nothing before they receive a message from this process.
    ///
    /// # Errors
    /// If the ledger cannot be written. Then nothing may be started.
    pub fn processes(&self, what: &str) -> Result<Entry, Fault> {
        self.enter(Change::Processes { mark: fresh_mark()?, what: what.into() })
    }

    /// Renews all leases; to be called several times within each [`LEASE`](super::LEASE). A knob whose lease
    /// ended has been set back, and must be set again.
    ///
    /// # Errors
    /// If a reaper was killed and cannot be started again.
    pub fn renew(&self) -> Result<(), Fault> {
        self.inner.reapers.lock().unwrap_or_else(PoisonError::into_inner).renew()
    }

    /// Undoes changes of owners that have ended, as opening a ledger does. To be called before reading a setting that
    /// they may have changed.
    pub fn undo_abandoned() {
        // Changes that cannot be undone stay listed. `crosstalk clean` reports them.
        let _ = undo::clean_all(&folders(), UndoTime::Short);
    }

    /// Creates control groups, one in each hierarchy. Their names must contain a fresh mark, so that no
    /// other owner has them. When the entry is dropped, all their processes are killed and they are removed.
    ///
    /// # Errors
    /// If the ledger cannot be written, or the kernel refuses; then none is created.
    pub fn group(&self, paths: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        self.groups(paths, &[], what)
    }

    /// Creates control groups for processes that exist already. When the entry is dropped, the processes
    /// of each of `paths` are moved to the group at the same position in `back`.
    ///
    /// # Errors
    /// If the ledger cannot be written, or the kernel refuses; then none is created.
    pub fn group_of_existing(&self, paths: &[PathBuf], back: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        self.groups(paths, back, what)
    }

    fn groups(&self, paths: &[PathBuf], back: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        if let Some(taken) = paths.iter().find(|path| path.exists()) {
            return Err(Fault::usage("there is a control group of that name").at(taken.display().to_string()));
        }
        let (paths, back) = (paths.to_vec(), back.to_vec());
        let entry = self.enter(Change::Group { paths: paths.clone(), back, what: what.into() })?;
        group::create(&paths)?;
        Ok(entry)
    }

    /// Lists control groups that are about to be created, as one entry. When it is dropped, those that the registry
    /// does not list are removed with what is in them. The caller holds the registry's lock while it creates them,
    /// and releases it before the entry is dropped. When the registry lists them all: [`Entry::done`].
    ///
    /// # Errors
    /// If the ledger cannot be written. Then none may be created.
    pub fn batch(&self, batch: Batch, what: &str) -> Result<Entry, Fault> {
        self.enter(Change::Groups { batch, what: what.into() })
    }

    /// Binds the PCI device at `address` to `driver`, until the entry is dropped.
    ///
    /// # Errors
    /// If the ledger cannot be written, or the kernel refuses; the device then has its original driver.
    pub fn driver(&self, address: &str, driver: &str, what: &str) -> Result<Entry, Fault> {
        let (original, driver_override) = driver::current(address);
        let change = Change::Driver { address: address.into(), original, driver_override, what: what.into() };
        let entry = self.enter(change)?;
        driver::bind(address, Some(driver), Some(driver), UNDO_DEADLINE)?;
        Ok(entry)
    }

    /// Faults of changes that could not be undone when their entry was dropped. They stay listed.
    pub fn undo_failures(&self) -> Vec<Fault> {
        self.inner.undo_failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lists a change that is about to be made.
    pub(super) fn enter(&self, change: Change) -> Result<Entry, Fault> {
        let number = self.file().open(&change)?;
        Ok(Entry { ledger: self.clone(), number, change, open: true })
    }

    fn file(&self) -> std::sync::MutexGuard<'_, File> {
        self.inner.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change that the ledger lists. Dropping it undoes the change.
#[derive(Debug)]
pub struct Entry {
    ledger: Ledger,
    number: u64,
    change: Change,
    open: bool,
}

impl Entry {
    /// Puts this entry's mark into the environment of the process that `command` starts.
    pub fn mark<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.change {
            Change::Processes { mark, .. } => command.env(MARK, mark),
            _ => command,
        }
    }

    /// Undoes the change and crosses it out.
    ///
    /// # Errors
    /// If it cannot be undone; it then stays listed.
    pub fn undo(mut self) -> Result<(), Fault> {
        self.close()
    }

    /// Crosses out a change that the caller has undone, or handed over to a registry.
    ///
    /// # Errors
    /// If the ledger cannot be written; the change is then undone again at the end.
    pub fn done(mut self) -> Result<(), Fault> {
        self.open = false;
        self.ledger.file().close(self.number)
    }

    fn close(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.open) {
            self.change.undo(UNDO_DEADLINE)?;
            self.ledger.file().close(self.number)?;
        }
        Ok(())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // It stays listed: the reaper tries again.
        if let Err(fault) = self.close() {
            self.ledger.inner.undo_failures.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
        }
    }
}
