//! The changes that a ledger lists, and how each is undone.

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

use super::batch::Batch;
use super::{batch, driver, group, removal, setting, terminal};
use crate::process::kill_marked;

/// How long undoing one change may take.
pub(super) const UNDO_DEADLINE: Duration = Duration::from_secs(2);

/// A change that outlives its process. The serialised names are those of the ledger's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub(super) enum Change {
    /// Started processes, and everything that ends with them.
    Processes {
        /// The value of [`MARK`](crate::process::MARK) in their environment.
        mark: String,
        /// Their purpose, for people.
        what: String,
    },
    /// A file of the kernel that holds a setting.
    Knob {
        /// The file's path.
        path: PathBuf,
        /// The original value.
        #[serde(rename = "was")]
        original: String,
        /// The inode of the control group's directory, if it is a file of a control group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inode: Option<u64>,
        /// Whether it stays set only while its owner renews the lease.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        leased: bool,
        /// Its purpose, for people.
        what: String,
    },
    /// The driver of a PCI device.
    Driver {
        /// The device's address.
        address: String,
        /// The original driver, if there was one.
        #[serde(rename = "was")]
        original: Option<String>,
        /// The original driver override, if there was one.
        #[serde(rename = "told")]
        driver_override: Option<String>,
        /// The purpose, for people.
        what: String,
    },
    /// Created control groups, one in each hierarchy.
    Group {
        /// Their paths.
        paths: Vec<PathBuf>,
        /// The groups that processes are moved back to, by position in `paths`. Empty: the processes
        /// are ours, and are killed.
        back: Vec<PathBuf>,
        /// Their purpose, for people.
        what: String,
    },
    /// Control groups that are created together, until a registry lists them.
    Groups {
        /// Which groups, and the registry.
        #[serde(flatten)]
        batch: Batch,
        /// Their purpose, for people.
        what: String,
    },
    /// The modes of a terminal, and the alternate screen that it shows.
    Terminal {
        /// Its path.
        path: PathBuf,
        /// Its original local modes (`c_lflag`).
        #[serde(rename = "was")]
        original: u32,
        /// Those that were set.
        set: u32,
        /// Its purpose, for people.
        what: String,
    },
    /// A folder of temporary files, with its content.
    Folder {
        /// Its path.
        path: PathBuf,
        /// Its purpose, for people.
        what: String,
    },
}

impl Change {
    /// Undoes it. Returns false if nothing was to undo: the setting is gone, or is another owner's by now.
    ///
    /// # Errors
    /// If it cannot be undone within `deadline`.
    pub(super) fn undo(&self, deadline: Duration) -> Result<bool, Fault> {
        let done = match self {
            Change::Knob { path, original, inode, .. } => return setting::restore(path, original, *inode),
            Change::Terminal { path, original, set, .. } => return terminal::restore(path, *original, *set),
            Change::Processes { mark, .. } => kill_marked(mark, deadline),
            Change::Folder { path, .. } => removal::remove(path, deadline),
            Change::Group { paths, back, .. } => group::remove(paths, back, deadline),
            Change::Groups { batch, .. } => batch::remove_unlisted(batch, deadline),
            Change::Driver { address, original, driver_override, .. } => {
                driver::bind(address, original.as_deref(), driver_override.as_deref(), deadline)
            }
        };
        done.map(|()| true)
    }

    /// Its purpose, for people.
    pub(super) fn what(&self) -> &str {
        match self {
            Change::Processes { what, .. }
            | Change::Folder { what, .. }
            | Change::Terminal { what, .. }
            | Change::Group { what, .. }
            | Change::Groups { what, .. }
            | Change::Knob { what, .. }
            | Change::Driver { what, .. } => what,
        }
    }
}
