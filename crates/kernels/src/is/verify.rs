//! Whether keys have the ranks that they must have.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::problem::{ITERATIONS, TESTED};
use super::sorter::Sorter;
use crate::class::Class;

/// The tag of the highest key of a rank's neighbour.
const TAG: u32 = 1000;

/// Keys whose ranks are known. As other keys change, their ranks move by one in each iteration.
pub(super) struct TestKeys {
    /// Their indices among the keys of all ranks.
    pub(super) indices: [usize; TESTED],
    /// The ranks of the keys that are there, in iteration `from`.
    ranks: [i64; TESTED],
    from: [i64; TESTED],
    /// How far a rank moves in an iteration.
    step: [i64; TESTED],
}

impl TestKeys {
    /// Those of a class.
    pub(super) fn of(class: Class) -> Self {
        let [indices, ranks] = class.of([
            [[48_427, 17_148, 23_627, 62_548, 4_431], [0, 18, 346, 64_917, 65_463]],
            [[357_773, 934_767, 875_723, 898_999, 404_505], [1_249, 11_698, 1_039_987, 1_043_896, 1_048_018]],
            [
                [2_112_377, 662_041, 5_336_171, 3_642_833, 4_250_760],
                [104, 17_523, 123_928, 8_288_932, 8_388_264],
            ],
            [
                [41_869, 812_306, 5_102_857, 18_232_239, 26_860_214],
                [33_422_937, 10_244, 59_149, 33_135_281, 99],
            ],
            [
                [44_172_927, 72_999_161, 74_326_391, 129_606_274, 21_736_814],
                [61_147, 882_988, 266_290, 133_997_595, 133_525_895],
            ],
        ]);
        let from = class.of([[0; TESTED], [2, 2, 0, 0, 0], [1; TESTED], [0; TESTED], [0; TESTED]]);
        // Low keys have a higher rank in each iteration, and high ones a lower.
        let low_first = [1, 1, 1, -1, -1];
        let step = class.of([low_first, [1, 1, -1, -1, -1], low_first, [-1, 1, 1, -1, 1], low_first]);
        TestKeys { indices: indices.map(|index| index as usize), ranks, from, step }
    }

    /// How many there are in all iterations.
    pub(super) fn count(&self) -> usize {
        TESTED * ITERATIONS
    }

    /// The rank that a test key must have in an iteration.
    fn rank(&self, number: usize, iteration: usize) -> i64 {
        self.ranks[number] + self.step[number] * (iteration as i64 - self.from[number])
    }

    /// How many test keys of an iteration are at this rank and have the rank that they must have.
    pub(super) fn count_ranked(&self, iteration: usize, sorter: &Sorter) -> usize {
        let ranked = |number: &usize| {
            let found = sorter.rank_of_test_key(*number);
            found.is_some_and(|found| i64::from(found) == self.rank(*number, iteration))
        };
        (0..TESTED).filter(ranked).count()
    }
}

/// A rank's keys in order, as their ranks say.
pub(super) struct Sorted {
    /// How many there are.
    pub(super) keys: i64,
    /// How many are lower than the one before, which may be at another rank.
    pub(super) out_of_order: i64,
}

impl Sorted {
    /// Moves each key to where its rank says, and compares neighbours.
    pub(super) fn of(sorter: &Sorter, rank: &mut Rank) -> Result<Self, Fault> {
        let sorted = sort(sorter);
        let (id, size) = (rank.id(), rank.size());
        let mut last = [0];
        if id > 0 {
            rank.world().recv_into(id - 1, TAG, &mut last)?;
        }
        let before = last[0];
        last[0] = sorted.last().copied().unwrap_or(before);
        if id + 1 < size {
            rank.world().send(id + 1, TAG, &last)?;
        }
        let all_before = std::iter::once(&before).chain(&sorted);
        let out_of_order = all_before.zip(&sorted).filter(|(before, key)| before > key).count();
        Ok(Sorted { keys: sorted.len() as i64, out_of_order: out_of_order as i64 })
    }
}

/// The keys of a rank at the indices that their ranks say.
fn sort(sorter: &Sorter) -> Vec<i32> {
    let mut up_to = sorter.up_to.clone();
    let mut sorted = vec![0; up_to.last().map_or(0, |count| *count as usize)];
    for key in sorter.keys_received() {
        let rank = &mut up_to[(key - sorter.lowest) as usize];
        *rank -= 1;
        sorted[*rank as usize] = key as i32;
    }
    sorted
}
