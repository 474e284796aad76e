//! The undo ledger: `kill -9` leaves nothing behind.
//!
//! Every change that outlives its process is written to a ledger, and synced to disk, *before* it is
//! made. It is crossed out when it is undone. A reaper, a process that is started first, reads a pipe
//! from the owner of the ledger. When the owner ends, however it ends, the pipe closes, and the reaper
//! undoes all open changes. If the reaper is killed too, [`undo_all_abandoned`] or the next owner undoes them.
//!
//! A change that must not last that long, such as a frozen group, is leased ([`Knob::leased`],
//! [`Ledger::renew`]). Two reapers, the second outside of its owner's control groups, undo it when its
//! owner ends. They also undo it when the owner has not renewed the lease for [`LEASE`], since it may be
//! stopped. So nothing stays frozen, whichever two of the three processes are killed or stopped.
//!
//! Control groups that are to outlive their maker ([`Ledger::batch`]) are listed until a registry, a file, names
//! them. From then on no ledger removes them.
//!
//! Changes that end with their processes, such as namespaces, need no ledger. Processes are found by a
//! mark in their environment, which their descendants inherit. It is known before the process exists,
//! and no other process with a reused id has it. One process at a time undoes a ledger: the reaper,
//! [`undo_all_abandoned`] and the next owner wait for each other, so that none undoes a later change. Knobs,
//! drivers and terminals are set back to their original values; control groups are emptied and removed.

mod batch;
mod change;
mod driver;
mod file;
mod folder;
mod group;
mod keys;
mod knob;
mod owner;
mod reaper;
mod removal;
mod setting;
mod temporary;
mod terminal;
mod tree;
mod undo;

pub use batch::{Batch, RegistryLock};
pub(crate) use folder::folders;
pub use folder::{existing_folder, folder};
pub use keys::Keys;
pub use knob::Knob;
pub use owner::{Entry, Ledger};
pub use reaper::{LEASE, REAP, REAPER, reaper_main};
pub use temporary::{TemporaryFolder, temporary_root};
pub use tree::move_to_roots;
pub use undo::{CleanReport, undo_all_abandoned};
