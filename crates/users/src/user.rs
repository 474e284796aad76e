//! A simulated user, whose jobs run one after another.

use std::cell::Cell;
use std::path::PathBuf;

use crosstalk_core::units::Bytes;
use crosstalk_stats::rng::Rng;

use crate::block;
use crate::common::CommonFiles;

/// What the jobs of one user work with.
#[derive(Debug)]
pub struct User {
    /// The folder in which jobs make their files; they remove them again.
    pub folder: PathBuf,
    /// Files that jobs only read, which users may share.
    pub common: CommonFiles,
    /// How much work a job does, relative to AIM7's: 1 is all, 0.001 a thousandth.
    pub work: f64,
    /// The size of the files of the disk tests, if `work` is 1.
    pub file_size: Bytes,
    /// This user's random numbers.
    pub random: Rng,
    /// The user's number; users of one folder have different ones.
    number: u64,
    /// Files that were named so far.
    named: Cell<u64>,
}

impl User {
    /// The user of this number, whose random numbers are those of `seed` and the number. Users who share a folder,
    /// the common one included, have different numbers, so that their files have different names.
    pub fn new(
        folder: PathBuf,
        common: CommonFiles,
        work: f64,
        file_size: Bytes,
        (seed, number): (u64, u64),
    ) -> Self {
        User { folder, common, work, file_size, random: random(seed, number), number, named: Cell::new(0) }
    }

    /// A number of repetitions, scaled by `work`: at least 1.
    pub fn scaled(&self, count: usize) -> usize {
        ((count as f64 * self.work).round() as usize).max(1)
    }

    /// The number of blocks of a file of the disk tests: at least 1.
    pub fn blocks(&self) -> usize {
        block::count(self.file_size, self.work)
    }

    /// A new name in the user's folder, which no other user of the folder gets.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(self.own(name))
    }

    /// A new name that no other user of the same folders gets.
    pub fn own(&self, name: &str) -> String {
        self.named.set(self.named.get() + 1);
        format!("{name}.{}.{}", self.number, self.named.get())
    }
}

/// The random numbers of a user.
pub fn random(seed: u64, number: u64) -> Rng {
    // A seeded generator spreads both, so that neighbours differ in all.
    Rng::seeded(Rng::seeded(seed).bits() ^ Rng::seeded(!number).bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_seeds_have_random_numbers_of_their_own() {
        let first = |seed, number| random(seed, number).bits();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(2, 1));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(0, 0), first(1, 1));
    }
}
