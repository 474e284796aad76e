//! What the ranks' clocks differ by. Ranks of one host share its clock. Others compare theirs with that of rank 0 by
//! round trips, of which the fastest bounds the error by half its time (F. Cristian, "Probabilistic clock
//! synchronization", Distributed Computing 3, 1989).

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::clock::{clock_identity, now};

/// Round trips, of which the fastest counts.
const EXCHANGES: usize = 50;
const TAG: u32 = 0;
const REFERENCE: usize = 0;

/// This rank's clock against that of rank 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// Nanoseconds by which rank 0's clock is ahead.
    ahead: i64,
    /// Bound on that number's error, in nanoseconds.
    pub error: i64,
}

impl Clock {
    /// The time of rank 0's clock, in nanoseconds.
    pub fn now(self) -> i64 {
        now() as i64 + self.ahead
    }
}

/// Compares the clocks of all ranks. All call it at once.
///
/// # Errors
/// If ranks are gone.
pub fn compare(rank: &mut Rank) -> Result<Clock, Fault> {
    if share_one(rank)? {
        return Ok(Clock { ahead: 0, error: 0 });
    }
    let id = rank.id();
    if id != REFERENCE {
        return ask(rank);
    }
    for peer in 1..rank.size() {
        for _ in 0..EXCHANGES {
            rank.world().recv_into::<u8>(peer, TAG, &mut [])?;
            rank.world().send(peer, TAG, &[now() as i64])?;
        }
    }
    Ok(Clock { ahead: 0, error: 0 })
}

/// The name of each rank's clock, by rank; empty where it is unknown. Ranks of one host have the same.
///
/// # Errors
/// If ranks are gone.
pub fn identities(rank: &mut Rank) -> Result<Vec<Vec<u8>>, Fault> {
    rank.world().allgatherv(clock_identity().unwrap_or_default().as_bytes())
}

/// Whether all ranks read the same clock.
fn share_one(rank: &mut Rank) -> Result<bool, Fault> {
    let all = identities(rank)?;
    Ok(all.iter().all(|clock| !clock.is_empty() && *clock == all[0]))
}

fn ask(rank: &mut Rank) -> Result<Clock, Fault> {
    let mut exchanges = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let sent = now() as i64;
        rank.world().send::<u8>(REFERENCE, TAG, &[])?;
        let mut theirs = [0_i64];
        rank.world().recv_into(REFERENCE, TAG, &mut theirs)?;
        exchanges.push([sent, theirs[0], now() as i64]);
    }
    let fastest = exchanges.into_iter().min_by_key(|[sent, _, back]| back - sent);
    let fastest = fastest.ok_or_else(|| Fault::attempt("no clocks were compared"))?;
    Ok(Clock { ahead: ahead(fastest), error: bound(fastest) })
}

/// By how much their clock is ahead, if the reply took as long as the request.
fn ahead([sent, theirs, back]: [i64; 3]) -> i64 {
    theirs - (sent + (back - sent) / 2)
}

fn bound([sent, _, back]: [i64; 3]) -> i64 {
    (back - sent + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_difference_is_within_the_bound(
            truth in -1_000_000_i64..1_000_000,
            there in 0_i64..100_000,
            back in 0_i64..100_000,
        ) {
            let sent = 5_000_000;
            let exchange = [sent, sent + there + truth, sent + there + back];
            prop_assert!((ahead(exchange) - truth).abs() <= bound(exchange));
        }
    }
}
