//! A processor for each rank, as MPI libraries bind their ranks: two that are woken on one processor would begin one
//! after the other.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_host::cpu::{PinnedThread, allowed};

use super::clocks::identities;

/// Holds the calling thread on a processor of its own until the result is dropped, if all ranks of its host can have
/// one. All ranks call it at once.
///
/// # Errors
/// If ranks are gone.
pub fn hold(rank: &mut Rank) -> Result<Option<PinnedThread>, Fault> {
    let hosts = identities(rank)?;
    let own = &hosts[rank.id()];
    let before = hosts[..rank.id()].iter().filter(|host| *host == own).count();
    let all = hosts.iter().filter(|host| *host == own).count();
    let allowed = allowed();
    if own.is_empty() || all > allowed.len() {
        return Ok(None);
    }
    // A processor that has gone offline meanwhile is not worth an error.
    Ok(allowed.get(before).and_then(|cpu| PinnedThread::begin(*cpu).ok()))
}
