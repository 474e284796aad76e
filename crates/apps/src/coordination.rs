//! The messages between master and slaves: 64-bit words, little-endian.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::exchange::Exchange;

/// The rank that coordinates; slave `p` is rank `p + 1`.
pub const MASTER: usize = 0;

/// The slaves' side of an all-to-all exchange to which the master contributes nothing.
pub struct SlaveExchange<'a, 'c>(pub &'a mut Rank<'c>);

impl Exchange for SlaveExchange<'_, '_> {
    fn part(&self) -> usize {
        self.0.id() - 1
    }

    fn parts(&self) -> usize {
        self.0.size() - 1
    }

    fn exchange(&mut self, mut outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        outgoing.insert(MASTER, Vec::new());
        let mut arrived = self.0.world().alltoallv(outgoing)?;
        arrived.remove(MASTER);
        Ok(arrived)
    }
}

/// The master's side of one [`SlaveExchange::exchange`]: it sends and receives nothing.
#[track_caller]
pub fn join_exchange_empty(rank: &mut Rank) -> Result<(), Fault> {
    let nothing = vec![Vec::new(); rank.size()];
    rank.world().alltoallv(nothing).map(drop)
}

/// Sends words from the master to all slaves; every rank returns them.
#[track_caller]
pub fn broadcast_words<const N: usize>(rank: &mut Rank, words: [u64; N]) -> Result<[u64; N], Fault> {
    let mut bytes = to_bytes(&words);
    rank.world().bcast_vec(MASTER, &mut bytes)?;
    exactly(&to_words(&bytes))
}

/// Sends words from a slave to the master.
#[track_caller]
pub fn send_to_master(rank: &mut Rank, words: &[u64]) -> Result<(), Fault> {
    rank.world().gatherv(MASTER, &to_bytes(words)).map(drop)
}

/// Collects every slave's [`send_to_master`] at the master.
#[track_caller]
pub fn collect_from_slaves(rank: &mut Rank) -> Result<Vec<Vec<u64>>, Fault> {
    let gathered = rank.world().gatherv(MASTER, &[])?.unwrap_or_default();
    Ok(gathered.iter().skip(MASTER + 1).map(|bytes| to_words(bytes)).collect())
}

/// Collects every slave's [`send_to_master`] of `N` words at the master.
#[track_caller]
pub fn collect_exactly_from_slaves<const N: usize>(rank: &mut Rank) -> Result<Vec<[u64; N]>, Fault> {
    collect_from_slaves(rank)?.iter().map(|words| exactly(words)).collect()
}

/// Converts words to an array of known length.
fn exactly<const N: usize>(words: &[u64]) -> Result<[u64; N], Fault> {
    words
        .try_into()
        .map_err(|_| Fault::attempt(format!("expected a message of {N} words, found {}", words.len())))
}

fn to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn to_words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_survive(words: Vec<u64>) {
            prop_assert_eq!(to_words(&to_bytes(&words)), words);
        }
    }

    #[test]
    fn a_message_of_another_length_is_a_fault() {
        assert_eq!(exactly(&[1, 2]), Ok([1, 2]));
        assert!(exactly::<2>(&[1]).is_err());
    }
}
