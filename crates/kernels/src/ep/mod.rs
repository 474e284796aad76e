//! EP, "embarrassingly parallel" (RNR-94-007, section 2.2.1): pairs of normally distributed random numbers, and how many of
//! them are in each square ring. Ranks talk only at the end, to add up.
//!
//! Pairs are made in batches of 2^16, which begin at known places of one sequence. So any rank makes any batch, and the
//! sums differ by rounding alone.

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use crate::check::Check;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use crate::random::Random;
use crate::share::share;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "ep",
    ranks: Ranks::Any,
    operations: |class| 2f64.powi(exponent(class) as i32 + 1),
    memory: |_| (BATCH * 16) as f64,
    run,
};

/// Pairs in a batch.
const BATCH: usize = 1 << 16;
/// Square rings.
const RINGS: usize = 10;
const SEED: u64 = 271_828_183;
/// How far sums may be from the official ones.
const TOLERANCE: f64 = 1e-8;

/// There are two to this power of pairs.
fn exponent(class: Class) -> u32 {
    class.of([24, 25, 28, 30, 32])
}

/// The official sums of both coordinates.
fn sums(class: Class) -> [f64; 2] {
    class.of([
        [-3.247_834_652_034_740e3, -6.958_407_078_382_297e3],
        [-2.863_319_731_645_753e3, -6.320_053_679_109_499e3],
        [-4.295_875_165_629_892e3, -1.580_732_573_678_431e4],
        [4.033_815_542_441_498e4, -2.660_669_192_809_235e4],
        [4.764_367_927_995_374e4, -8.084_072_988_043_731e4],
    ])
}

/// What a batch adds.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Sums {
    x: f64,
    y: f64,
    rings: [u64; RINGS],
}

impl Sums {
    /// Adds batch `number`. `pairs` has room for it.
    fn add_batch(&mut self, number: u64, pairs: &mut [[f64; 2]]) {
        let mut random = Random::new(SEED);
        random.skip(2 * BATCH as u64 * number);
        random.fill(pairs.as_flattened_mut());
        let kept = keep_within_circle(pairs);
        for [x, y] in &pairs[..kept] {
            let square = x * x + y * y;
            let factor = (-2.0 * square.ln() / square).sqrt();
            let (x, y) = (x * factor, y * factor);
            self.rings[x.abs().max(y.abs()) as usize] += 1;
            self.x += x;
            self.y += y;
        }
    }
}

/// Makes points of a square around zero of pairs, and moves those within the unit circle to the front. Returns how many
/// there are. Processors cannot predict which: so all are moved, and each to where the next one goes.
fn keep_within_circle(pairs: &mut [[f64; 2]]) -> usize {
    let mut kept = 0;
    for number in 0..pairs.len() {
        let [x, y] = pairs[number];
        let (x, y) = (2.0 * x - 1.0, 2.0 * y - 1.0);
        pairs[kept] = [x, y];
        kept += usize::from(x * x + y * y <= 1.0);
    }
    kept
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let batches = 1 << (exponent(class) - BATCH.trailing_zeros());
    let mut pairs = vec![[0.0; 2]; BATCH];
    // Before time counts, as in the reports: functions and memory are touched once.
    Sums::default().add_batch(0, &mut pairs);
    rank.restart_clock()?;
    let mut own = Sums::default();
    share(batches, rank.size(), rank.id()).for_each(|batch| own.add_batch(batch as u64, &mut pairs));
    let mut sums_of_all = [own.x, own.y];
    rank.world().allreduce(&mut sums_of_all, ReduceOp::Sum)?;
    rank.world().allreduce(&mut own.rings.map(|count| count as f64), ReduceOp::Sum)?;
    let timed = Timed::end(rank)?;
    let [x, y] = sums(class);
    Ok(timed.with(vec![
        Check::new("the sum of X", sums_of_all[0], x, TOLERANCE),
        Check::new("the sum of Y", sums_of_all[1], y, TOLERANCE),
    ]))
}
