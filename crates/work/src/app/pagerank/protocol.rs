//! What master and slaves say to each other, as 64-bit words, little-endian.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::exchange::Exchange;
use super::mass::Mass;
use super::ranks::Balance;
use super::source::Extent;

/// The rank that coordinates; slave `p` is rank `p + 1`.
pub const MASTER: usize = 0;

/// The slaves' ends of an all-to-all exchange in which the master has nothing
/// to give or take.
pub struct Slaves<'a, 'c>(pub &'a mut Rank<'c>);

impl Exchange for Slaves<'_, '_> {
    fn part(&self) -> usize {
        self.0.id() - 1
    }

    fn parts(&self) -> usize {
        self.0.size() - 1
    }

    fn exchange(&mut self, mut outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        outgoing.insert(MASTER, Vec::new());
        let mut arrived = self.0.alltoallv(outgoing)?;
        arrived.remove(MASTER);
        Ok(arrived)
    }
}

/// The master's part in one [`Slaves::exchange`].
pub fn look_on(rank: &mut Rank) -> Result<(), Fault> {
    rank.alltoallv(vec![Vec::new(); rank.size()]).map(|_| ())
}

/// The master tells all slaves; every rank returns what was told.
pub fn tell<const N: usize>(rank: &mut Rank, words: [u64; N]) -> Result<[u64; N], Fault> {
    let mut bytes = to_bytes(&words);
    rank.bcast(MASTER, &mut bytes)?;
    fixed(&bytes)
}

/// A slave tells the master.
pub fn report(rank: &mut Rank, words: &[u64]) -> Result<(), Fault> {
    rank.gather(MASTER, &to_bytes(words)).map(|_| ())
}

/// The master hears every slave's [`report`].
pub fn hear(rank: &mut Rank) -> Result<Vec<Vec<u64>>, Fault> {
    let heard = rank.gather(MASTER, &[])?.unwrap_or_default();
    Ok(heard.iter().skip(MASTER + 1).map(|bytes| to_words(bytes)).collect())
}

/// The words as an array of a known length.
pub fn exactly<const N: usize>(words: &[u64]) -> Result<[u64; N], Fault> {
    words
        .try_into()
        .map_err(|_| Fault::attempt(format!("expected a message of {N} words, found {}", words.len())))
}

impl Extent {
    /// As words.
    pub fn to_words(self) -> [u64; 3] {
        [self.chunks, self.edges, u64::from(self.labels)]
    }

    /// What [`Extent::to_words`] wrote.
    pub fn from_words([chunks, edges, labels]: [u64; 3]) -> Self {
        Extent { chunks, edges, labels: labels as u32 }
    }
}

impl Balance {
    /// As words.
    pub fn to_words(self) -> [u64; 4] {
        let [a, b] = halves(self.all);
        let [c, d] = halves(self.flowing);
        [a, b, c, d]
    }

    /// What [`Balance::to_words`] wrote.
    pub fn from_words([a, b, c, d]: [u64; 4]) -> Self {
        Balance { all: joined(a, b), flowing: joined(c, d) }
    }
}

fn halves(mass: Mass) -> [u64; 2] {
    let units = mass.units();
    [units as u64, (units >> 64) as u64]
}

fn joined(low: u64, high: u64) -> Mass {
    Mass::from_units(u128::from(high) << 64 | u128::from(low))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u64; N], Fault> {
    exactly(&to_words(bytes))
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
        fn messages_survive(all in 0.0..1e8_f64, flowing in 0.0..1e8_f64, chunks: u64, edges: u64, labels: u32) {
            let mut all = Mass::of(all);
            (0..40).for_each(|_| all += all);
            let balance = Balance { all, flowing: Mass::of(flowing) };
            let words: [u64; 4] = fixed(&to_bytes(&balance.to_words())).expect("four words");
            prop_assert_eq!(Balance::from_words(words), balance);
            let extent = Extent { chunks, edges, labels };
            prop_assert_eq!(Extent::from_words(extent.to_words()), extent);
        }
    }

    #[test]
    fn a_message_of_another_length_is_a_fault() {
        assert!(fixed::<2>(&[0; 8]).is_err());
    }
}
