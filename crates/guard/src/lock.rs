//! One guard for each group: two would take each other's settings for the owner's.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::lockers::lockers;
use crosstalk_host::locks::NumberLock;
use crosstalk_host::process::is_there;

use crosstalk_cgroup::group::Group;

/// How often one that others let go of just now is tried.
const TRIES: usize = 3;
/// Between two tries.
const GLANCE: Duration = Duration::from_millis(10);

/// The right to set a group.
#[derive(Debug)]
pub(super) struct Lock {
    /// Its first directory as it was found. Others can see that it is locked, whoever they are.
    dir: File,
    /// Held against others of this user. Anybody may lock a directory that can be read, and who could not set
    /// anything there is no guard: such a lock is passed over, and this one holds.
    _hold: NumberLock,
}

impl Lock {
    /// Takes it; `None` for a group that is nowhere. People know the group by `name`.
    ///
    /// # Errors
    /// Where another guard has it.
    pub(super) fn take(name: &str, group: &Group) -> Result<Option<Self>, Fault> {
        let Some(path) = group.paths().into_iter().next() else { return Ok(None) };
        let unusable = |e: std::io::Error| Fault::environment(e.to_string()).at(path.display().to_string());
        let dir = File::open(&path).map_err(unusable)?;
        let found = dir.metadata().map_err(unusable)?;
        // Inodes of control groups are small; devices tell their trees apart.
        let number = found.dev().rotate_right(16) ^ found.ino();
        let guard = |holders: &[u32]| holders.iter().copied().find(|pid| may_be_guard(*pid, found.uid()));
        let Some(hold) = NumberLock::take(number)? else {
            return Err(another(name, &path, guard(&lockers(&found))));
        };
        for _ in 0..TRIES {
            // Where there are no locks, nobody else has one.
            let Err(TryLockError::WouldBlock) = dir.try_lock() else {
                return Ok(Some(Lock { dir, _hold: hold }));
            };
            let holders = lockers(&found);
            if let Some(pid) = guard(&holders) {
                return Err(another(name, &path, Some(pid)));
            }
            if !holders.is_empty() {
                return Ok(Some(Lock { dir, _hold: hold }));
            }
            // It is not listed, or was let go of just now.
            thread::sleep(GLANCE);
        }
        Err(another(name, &path, None))
    }

    /// The inode of the directory that was found.
    pub(super) fn inode(&self) -> Option<u64> {
        Some(self.dir.metadata().ok()?.ino())
    }
}

/// Whether who holds a lock may be a guard: it is root's or the owner's, or nobody can tell.
fn may_be_guard(pid: u32, owner: u32) -> bool {
    let process = fs::metadata(format!("/proc/{pid}"));
    pid == 0 || process.map_or_else(|_| is_there(pid), |process| [0, owner].contains(&process.uid()))
}

fn another(name: &str, path: &Path, pid: Option<u32>) -> Fault {
    let (who, remedy) = match pid.filter(|pid| *pid > 0) {
        Some(pid) => {
            (format!(" (process {pid})"), format!("end that one first, or see what it is: ps {pid}"))
        }
        None => (String::new(), "end that one first: pgrep -a crosstalk".into()),
    };
    Fault::usage(format!("another guard{who} has the group of {name}"))
        .at(path.display().to_string())
        .remedy(remedy)
}
