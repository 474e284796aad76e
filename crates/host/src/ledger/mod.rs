//! The undo ledger: `kill -9` leaves nothing behind.
//!
//! Every lasting change is written down, and on disk, *before* it is made, and
//! crossed out when it is undone. A reaper, a process of its own that is started
//! first, holds a pipe whose other end only the owner has: when the owner ends,
//! however it ends, the pipe closes and the reaper undoes what is still open.
//! Should the reaper be killed too, [`clean`] or the next owner undoes what the
//! ledger of a dead owner still says.
//!
//! What must not even last that long is leased ([`Knob::leased`], [`Ledger::renew`]): frozen groups. Two reapers,
//! the second outside its owner's control groups, put it back when its owner ends, and when it has not been renewed
//! for [`LEASE`], since its owner may be stopped. So nothing stays frozen whatever two of the three are killed or
//! stopped.
//!
//! The best change is one that does not last: namespaces here are held by
//! processes alone. Processes are found by a mark in their environment, which their
//! descendants inherit: it can be written down before the process exists, and no reused
//! process number carries it. One process at a time undoes a ledger: the reaper, [`clean`] and the
//! next owner wait for each other, so that none puts back what has been set anew. Knobs and drivers are put back to what they were; control groups
//! are emptied and go.

mod driver;
mod file;
mod folder;
mod group;
mod knob;
mod reaper;
mod scratch;
mod tree;
mod undo;

pub use folder::folder;
pub(crate) use folder::folders;
pub use knob::Knob;
pub use reaper::{LEASE, REAP, REAPER, reaper_main};
pub use scratch::{Scratch, temporary};
pub use undo::{Cleaned, clean};

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::launcher::Launcher;
use crate::process::{MARK, fresh_mark, kill_marked};
use file::File;
use reaper::Reapers;
use undo::Patience;

/// How long undoing one change may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// The same for one that has resisted before, while somebody else waits to begin.
const BRIEFLY: Duration = Duration::from_millis(250);
/// How long somebody else who finishes the same ledger is waited for: what that takes, but for many
/// changes that all resist.
const TURN: Duration = Duration::from_secs(12);

/// A lasting change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// Processes that carry this mark, with everything that lives by them.
    Processes {
        /// The value of their environment variable [`MARK`].
        mark: String,
        /// What they are for, for people.
        what: String,
    },
    /// A file of the kernel's that holds a setting.
    Knob {
        /// Where it is.
        path: PathBuf,
        /// What it said.
        was: String,
        /// The inode of the control group's directory that it stands in, if it is a group's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inode: Option<u64>,
        /// Whether it stays set only while its owner renews that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        leased: bool,
        /// What it is set for, for people.
        what: String,
    },
    /// The driver that has a PCI device.
    Driver {
        /// The device's address.
        address: String,
        /// Which driver had it, if one did.
        was: Option<String>,
        /// Which driver it was told to take, if it was.
        told: Option<String>,
        /// What it is taken for, for people.
        what: String,
    },
    /// Control groups of ours, one in each hierarchy.
    Group {
        /// Where they are.
        paths: Vec<PathBuf>,
        /// Where processes in them go, each from the one at the same place: those were there
        /// before. Without any, what is in them is ours, too, and is killed.
        back: Vec<PathBuf>,
        /// What they are for, for people.
        what: String,
    },
    /// A folder of temporary files, with all that is in it.
    Folder {
        /// Where it is.
        path: PathBuf,
        /// What it is for, for people.
        what: String,
    },
}

impl Change {
    /// Makes it as if it had never been. No where a setting is gone by itself, or is somebody else's by now:
    /// then nothing was touched.
    ///
    /// # Errors
    /// When it could not be undone in time.
    fn undo(&self, deadline: Duration) -> Result<bool, Fault> {
        let done = match self {
            Change::Knob { path, was, inode, .. } => return knob::restore(path, was, *inode),
            Change::Processes { mark, .. } => kill_marked(mark, deadline),
            Change::Folder { path, .. } => scratch::remove(path, deadline),
            Change::Group { paths, back, .. } => group::remove(paths, back, deadline),
            Change::Driver { address, was, told, .. } => {
                driver::give(address, was.as_deref(), told.as_deref(), deadline)
            }
        };
        done.map(|()| true)
    }

    /// What it is, for people.
    fn what(&self) -> &str {
        match self {
            Change::Processes { what, .. }
            | Change::Folder { what, .. }
            | Change::Group { what, .. }
            | Change::Knob { what, .. }
            | Change::Driver { what, .. } => what,
        }
    }
}

/// The running process's ledger. Clones are the same ledger; when the last is
/// dropped, the file goes.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Mutex<File>,
    resisting: Mutex<Vec<Fault>>,
    // Dropped with the ledger: a reaper then finds it empty and takes it away.
    reapers: Mutex<Reapers>,
}

impl Ledger {
    /// Undoes what dead owners left, opens a ledger for this process and starts
    /// its reaper with the verb `reap` of `launcher`.
    ///
    /// # Errors
    /// When no folder can be written to, or the reaper does not start.
    pub fn open(launcher: &Launcher) -> Result<Ledger, Fault> {
        let folder = folder()?;
        // What resists stays written down, for `crosstalk clean` to tell about.
        let _ = undo::clean_all(&folders(), Patience::Brief);
        let (path, owner) = file::name(&folder)?;
        // Before the file is there, so that no moment leaves one behind.
        let reapers = Mutex::new(Reapers::start(launcher, &path)?);
        let file = File::create(path, owner)?;
        Ok(Ledger { inner: Arc::new(Inner { file: Mutex::new(file), resisting: Mutex::default(), reapers }) })
    }

    /// Writes down that processes are about to be started. Start them with
    /// [`Entry::mark`]; they must do nothing lasting before they hear from us.
    ///
    /// # Errors
    /// When the ledger cannot be written: then nothing may be started.
    pub fn processes(&self, what: &str) -> Result<Entry, Fault> {
        self.enter(Change::Processes { mark: fresh_mark()?, what: what.into() })
    }

    /// Makes a folder for temporary files that only this user can enter.
    ///
    /// # Errors
    /// When the ledger cannot be written, or the folder not be made.
    pub fn scratch(&self, what: &str) -> Result<Scratch, Fault> {
        let path = temporary()?.join(format!("crosstalk-{}", fresh_mark()?));
        let entry = self.enter(Change::Folder { path: path.clone(), what: what.into() })?;
        scratch::make(&path)?;
        Ok(Scratch { path, _entry: entry })
    }

    /// Takes a knob: a file of the kernel's that holds a setting. It is not set yet, and not written down.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn knob(&self, path: &Path, what: &str) -> Result<Knob, Fault> {
        let (ledger, was) = (self.clone(), knob::read(path)?);
        Ok(Knob {
            ledger,
            path: path.into(),
            what: what.into(),
            was,
            takes_words: false,
            leased: false,
            inode: None,
            entry: None,
        })
    }

    /// Takes a knob that is put back by saying `back`, not what it says now: the file takes words
    /// that change it, as `cgroup.subtree_control` does.
    pub fn knob_back(&self, path: &Path, back: &str, what: &str) -> Knob {
        let (path, what, was) = (path.into(), what.into(), back.into());
        let ledger = self.clone();
        Knob { ledger, path, what, was, takes_words: true, leased: false, inode: None, entry: None }
    }

    /// Renews what is leased; to be called several times within each [`LEASE`]. What was put back since nobody
    /// renewed it in time has to be set again.
    ///
    /// # Errors
    /// Where one who watches over it was killed and cannot be started again.
    pub fn renew(&self) -> Result<(), Fault> {
        self.inner.reapers.lock().unwrap_or_else(PoisonError::into_inner).renew()
    }

    /// Undoes what owners that have ended left meanwhile, as opening a ledger does: before something is read
    /// that they may have set.
    pub fn undo_left(&self) {
        // What resists stays written down, for `crosstalk clean` to tell about.
        let _ = undo::clean_all(&folders(), Patience::Brief);
    }

    /// Makes control groups, one in each hierarchy, at paths that nobody else has: their names
    /// carry a fresh mark. When the entry is dropped, all that is in them is killed and they go.
    ///
    /// # Errors
    /// When the ledger cannot be written, or the kernel refuses; none is made then.
    pub fn group(&self, paths: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        self.groups(paths, &[], what)
    }

    /// The same for processes that are there already: when the entry is dropped, those in each of
    /// `paths` go to that of `back` at the same place.
    ///
    /// # Errors
    /// When the ledger cannot be written, or the kernel refuses; none is made then.
    pub fn guests(&self, paths: &[PathBuf], back: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        self.groups(paths, back, what)
    }

    fn groups(&self, paths: &[PathBuf], back: &[PathBuf], what: &str) -> Result<Entry, Fault> {
        if let Some(taken) = paths.iter().find(|path| path.exists()) {
            return Err(Fault::usage("there is a control group of that name").at(taken.display().to_string()));
        }
        let (paths, back) = (paths.to_vec(), back.to_vec());
        let entry = self.enter(Change::Group { paths: paths.clone(), back, what: what.into() })?;
        group::make(&paths)?;
        Ok(entry)
    }

    /// Gives the PCI device at `address` to `driver`, until the entry is dropped.
    ///
    /// # Errors
    /// When the ledger cannot be written, or the kernel refuses; the device is then given back.
    pub fn driver(&self, address: &str, driver: &str, what: &str) -> Result<Entry, Fault> {
        let (was, told) = driver::held(address);
        let change = Change::Driver { address: address.into(), was, told, what: what.into() };
        let entry = self.enter(change)?;
        driver::give(address, Some(driver), Some(driver), DEADLINE)?;
        Ok(entry)
    }

    /// Why what was to be undone by a drop is not, if it is not: it stays written down.
    pub fn resisting(&self) -> Vec<Fault> {
        self.inner.resisting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn resists(&self, fault: Fault) {
        self.inner.resisting.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    fn enter(&self, change: Change) -> Result<Entry, Fault> {
        let number = self.file().open(&change)?;
        Ok(Entry { ledger: self.clone(), number, change, open: true })
    }

    fn file(&self) -> std::sync::MutexGuard<'_, File> {
        self.inner.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One change that is written down. Dropping it undoes the change.
#[derive(Debug)]
pub struct Entry {
    ledger: Ledger,
    number: u64,
    change: Change,
    open: bool,
}

impl Entry {
    /// Has the process that `command` starts carry this entry's mark.
    pub fn mark<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.change {
            Change::Processes { mark, .. } => command.env(MARK, mark),
            _ => command,
        }
    }

    /// Undoes the change and crosses it out.
    ///
    /// # Errors
    /// When it could not be undone; it then stays in the ledger.
    pub fn undo(mut self) -> Result<(), Fault> {
        self.close()
    }

    /// Crosses the change out, which whoever made it has undone.
    ///
    /// # Errors
    /// When the ledger cannot be written; it is then undone again, at the end.
    pub fn done(mut self) -> Result<(), Fault> {
        self.open = false;
        self.ledger.file().close(self.number)
    }

    fn close(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.open) {
            self.change.undo(DEADLINE)?;
            self.ledger.file().close(self.number)?;
        }
        Ok(())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // What cannot be undone now stays written down: the reaper tries again.
        if let Err(fault) = self.close() {
            self.ledger.resists(fault);
        }
    }
}
