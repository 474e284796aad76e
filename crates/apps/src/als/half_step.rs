//! One half of an iteration: every row's factor vector from the other side's,
//! by the row's regularised normal equations.

use crosstalk_core::Fault;
use crosstalk_host::vector::{self, VectorKernel};

use super::cholesky::{LANES, LaneSystems};
use super::factors::{BLOCK_NUMBERS, Factors};
use super::normal::{Accumulator, LargeAccumulator, SmallAccumulator};
use super::rows::Rows;

/// Computes the factors of one side from those of the other.
///
/// For every row, the x that minimises Σ (r − x·f)² + λ n |x|² over its n ratings r of columns with factor
/// vectors f (`from`, by slot). A fault names the first row without a unique x. `from` is freed here, so that its
/// time is accounted for with the computation.
pub fn half_step(rows: &Rows, from: Factors, lambda: f64) -> Result<Factors, Fault> {
    let mut into = Factors::zeros(rows.count(), from.rank());
    let singular = vector::run_widest(HalfStep { rows, from: &from, lambda, into: &mut into });
    match singular {
        None => Ok(into),
        Some(row) => Err(Fault::attempt(format!(
            "the equations of id {} are singular: {} ratings cannot determine rank {} with lambda {lambda}",
            rows.ids[row],
            rows.row(row).1.len(),
            from.rank()
        ))
        .remedy("use a lambda above 0, or a lower rank")),
    }
}

struct HalfStep<'a> {
    rows: &'a Rows,
    from: &'a Factors,
    lambda: f64,
    into: &'a mut Factors,
}

impl VectorKernel for HalfStep<'_> {
    /// The first row whose system is singular.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<usize> {
        let data = self.from.all_blocks();
        match self.from.blocks_per_vector() {
            1 => self.solve::<_, FUSED>(SmallAccumulator::<1>::new(data)),
            2 => self.solve::<_, FUSED>(SmallAccumulator::<2>::new(data)),
            3 => self.solve::<_, FUSED>(SmallAccumulator::<3>::new(data)),
            blocks => self.solve::<_, FUSED>(LargeAccumulator::new(blocks, data)),
        }
    }
}

impl HalfStep<'_> {
    #[inline(always)]
    fn solve<A: Accumulator, const FUSED: bool>(self, mut equations: A) -> Option<usize> {
        let rank = self.from.rank();
        let mut systems = LaneSystems::new(rank, self.from.blocks_per_vector() * BLOCK_NUMBERS);
        let mut vector = vec![0.0; rank];
        for first in (0..self.rows.count()).step_by(LANES) {
            let count = (self.rows.count() - first).min(LANES);
            for lane in 0..count {
                let (columns, ratings) = self.rows.row(first + lane);
                equations.accumulate::<FUSED>(columns, ratings, &mut systems, lane);
                systems.add_to_diagonal(lane, self.lambda * ratings.len() as f64);
            }
            (count..LANES).for_each(|lane| systems.fill_with_solvable(lane));
            let singular = systems.solve();
            if let Some(lane) = singular.iter().position(|singular| *singular) {
                return Some(first + lane);
            }
            for lane in 0..count {
                for (x, solution) in vector.iter_mut().zip(&systems.right) {
                    *x = solution[lane] as f32;
                }
                self.into.set_row(first + lane, &vector);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::als::reference;
    use proptest::prelude::*;

    #[test]
    fn one_rating_of_rank_one_by_hand() {
        // (f² + λ) x = r f: (4 + 0.5) x = 3 · 2.
        let mut from = Factors::zeros(1, 1);
        from.set_row(0, &[2.0]);
        let rows = Rows::new(vec![(9, 0, 3.0)]);
        assert_eq!(half_step(&rows, from, 0.5).expect("solved").row(0), [(6.0 / 4.5) as f32]);
    }

    #[test]
    fn too_few_ratings_without_regularisation_are_singular() {
        let from = Factors::random(&[0, 1], 3, 1);
        let rows = Rows::new(vec![(4, 0, 3.0), (7, 0, 3.0), (7, 1, 2.0)]);
        let fault = half_step(&rows, from.clone(), 0.0).expect_err("refused");
        assert!(fault.message.starts_with("the equations of id 4 are singular: 1 ratings"), "{fault}");
        assert!(half_step(&rows, from, 0.1).is_ok());
    }

    proptest! {
        #[test]
        fn rows_get_what_a_plain_solver_gives_them(rank in 1_usize..40, rows in 1_u32..20, seed: u64) {
            let columns = 30;
            let from = Factors::random(&(0..columns).collect::<Vec<_>>(), rank, seed);
            let ratings: Vec<_> = (0..rows)
                .flat_map(|row| (0..=row % columns).map(move |c| (row, c, ((row + c) % 10 + 1) as f32 / 2.0)))
                .collect();
            let rows = Rows::new(ratings);
            let found = half_step(&rows, from.clone(), 0.1).expect("solved");
            for row in 0..rows.count() {
                let expected = reference::solve_row(rows.row(row), |c| from.row(c as usize).to_vec(), 0.1);
                for (x, y) in found.row(row).iter().zip(&expected) {
                    prop_assert!((f64::from(*x) - y).abs() < 1e-6 * (1.0 + y.abs()), "{} for {}", x, y);
                }
            }
        }
    }
}
