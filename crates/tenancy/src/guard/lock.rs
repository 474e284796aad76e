//! One guard for each group.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crosstalk_core::Fault;
use crosstalk_host::locks::lockers;

use crate::group::Group;

/// Two guards of one group would take each other's settings for the owner's. Anybody may lock a folder that
/// can be read: who could not set anything there is no guard.
pub(super) fn lock(group: &Group) -> Result<Option<File>, Fault> {
    let paths: Vec<PathBuf> = group.paths();
    let Some(path) = paths.first() else { return Ok(None) };
    let unusable = |e: std::io::Error| Fault::environment(e.to_string()).at(path.display().to_string());
    let dir = File::open(path).map_err(unusable)?;
    if let Err(TryLockError::WouldBlock) = dir.try_lock() {
        let found = dir.metadata().map_err(unusable)?;
        let holders = lockers(&found);
        // Who is not seen here (0) may be a guard.
        let user = |pid: u32| fs::metadata(format!("/proc/{pid}")).ok().map(|process| process.uid());
        let guards = |pid: u32| pid == 0 || user(pid).is_some_and(|user| [0, found.uid()].contains(&user));
        if holders.is_empty() || holders.iter().any(|pid| guards(*pid)) {
            let seen = holders.iter().find(|pid| guards(**pid) && **pid > 0);
            let (who, remedy) = match seen {
                Some(pid) => {
                    (format!(" (process {pid})"), format!("end that one first, or see what it is: ps {pid}"))
                }
                None => (String::new(), "end that one first".into()),
            };
            return Err(Fault::usage(format!("another guard{who} has this group"))
                .at(path.display().to_string())
                .remedy(remedy));
        }
    }
    // Where there are no locks, nobody else has one.
    Ok(Some(dir))
}
