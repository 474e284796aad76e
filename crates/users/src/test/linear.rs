//! Linear algebra: points that are transformed, and systems of equations that are solved.

use std::array;
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::LazyLock;

use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;

use super::table::{NUMBERS, number};
use crate::user::User;

/// Points have homogeneous coordinates.
const SIZE: usize = 4;

/// Transforms points by matrices, both of numbers of the table one after another. One transformation is checked.
pub fn matrix_rtns(user: &mut User) -> Result<(), Fault> {
    let times = user.scaled(100);
    let checked = user.random.below(times);
    // The index is counted in memory, as in AIM7.
    let mut at = user.random.below(NUMBERS);
    let table = &*TABLE;
    let mut next = || {
        at = black_box((at + 1) % NUMBERS);
        black_box(table[at])
    };
    for time in 0..times {
        let point: [f64; SIZE] = array::from_fn(|_| next());
        let matrix: [f64; SIZE * SIZE] = array::from_fn(|_| next());
        let mut moved = [0.0; SIZE];
        for (row, to) in matrix.chunks_exact(SIZE).zip(&mut moved) {
            for (factor, number) in row.iter().zip(&point) {
                *to = black_box(*to + black_box(factor * number));
            }
        }
        black_box((moved.map(|number| (number * 1024.0) as i64), moved.iter().product::<f64>()));
        if time == checked {
            // Summed from the other end, which rounds otherwise.
            let sum = |row: &[f64]| {
                row.iter().zip(&point).rev().map(|(factor, number)| factor * number).sum::<f64>()
            };
            let off = matrix
                .chunks_exact(SIZE)
                .zip(&moved)
                .map(|(row, to)| (to - sum(row)).abs())
                .fold(0.0, f64::max);
            within("a point is off", off, 1e-12)?;
        }
    }
    Ok(())
}

/// The table, once: its numbers are read and not computed.
static TABLE: LazyLock<[f64; NUMBERS]> = LazyLock::new(|| array::from_fn(number));

/// The smallest system has so many equations; each further one has so many more.
const STEP: usize = 5;

/// The number of sizes, and of systems.
const SYSTEMS: usize = 20;

thread_local! {
    /// A system as it was, and as it is solved: made once, as the memory of one would go back to the kernel each time.
    static MEMORY: RefCell<[System; 2]> = RefCell::default();
}

pub fn array_rtns(user: &mut User) -> Result<(), Fault> {
    let systems = user.scaled(SYSTEMS);
    // Where less is due than the number of systems says, they are smaller: solving takes the cube of the size.
    let smaller = (user.work * SYSTEMS as f64 / systems as f64).cbrt().min(1.0);
    MEMORY.with_borrow_mut(|[original, solved]| {
        for system in 1..=systems {
            let size = ((STEP * system * SYSTEMS / systems) as f64 * smaller).ceil() as usize;
            original.fill(size, &mut user.random);
            solved.clone_from(original);
            solved.solve()?;
            within("a solution misses its equations", original.residual(&solved.solution()), 1e-6)?;
        }
        Ok(())
    })
}

/// As many equations as unknowns: a row has the coefficients of an equation, then its right-hand side.
#[derive(Debug, Default)]
struct System {
    size: usize,
    cells: Vec<f64>,
}

impl System {
    /// Makes it a random system with a solution: each equation's own unknown outweighs the others.
    fn fill(&mut self, size: usize, random: &mut Rng) {
        let width = size + 1;
        self.size = size;
        self.cells.clear();
        self.cells.extend((0..size * width).map(|_| random.uniform() - 0.5));
        (0..size).for_each(|row| self.cells[row * width + row] += size as f64);
    }

    /// Makes it the same as another, in the memory that it has.
    fn clone_from(&mut self, other: &System) {
        self.size = other.size;
        self.cells.clone_from(&other.cells);
    }

    /// Solves it by elimination above and below the diagonal (Gauss and Jordan), always of whole rows.
    fn solve(&mut self) -> Result<(), Fault> {
        let width = self.size + 1;
        for pivot in 0..self.size {
            let (before, rest) = self.cells.split_at_mut(pivot * width);
            let (row, after) = rest.split_at_mut(width);
            let scale = row[pivot];
            if scale == 0.0 {
                return Err(Fault::attempt("a system of equations has no unique solution"));
            }
            row.iter_mut().for_each(|cell| *cell /= scale);
            for other in before.chunks_exact_mut(width).chain(after.chunks_exact_mut(width)) {
                subtract(other, row, other[pivot]);
            }
        }
        Ok(())
    }

    /// The solution, once it is solved.
    fn solution(&self) -> Vec<f64> {
        self.cells.chunks_exact(self.size + 1).map(|row| row[self.size]).collect()
    }

    /// The largest difference between the sides of an equation.
    fn residual(&self, solution: &[f64]) -> f64 {
        let difference = |row: &[f64]| {
            let left: f64 = row.iter().zip(solution).map(|(factor, unknown)| factor * unknown).sum();
            (left - row[self.size]).abs()
        };
        self.cells.chunks_exact(self.size + 1).map(difference).fold(0.0, f64::max)
    }
}

/// `from -= factor * row`, one number after another and each by way of memory, as in AIM7.
fn subtract(from: &mut [f64], row: &[f64], factor: f64) {
    for (cell, other) in from.iter_mut().zip(row) {
        let product = black_box(black_box(factor) * black_box(*other));
        *cell = black_box(*cell - product);
    }
}

/// Passes if `found` is at most `limit`.
fn within(what: &str, found: f64, limit: f64) -> Result<(), Fault> {
    if found <= limit {
        return Ok(());
    }
    Err(Fault::attempt(format!("{what} by {found}, expected at most {limit}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_has_its_solution_by_hand() {
        // x + 2y = 5 and 3x − y = 1.
        let system = System { size: 2, cells: vec![1.0, 2.0, 5.0, 3.0, -1.0, 1.0] };
        let mut solved = System::default();
        solved.clone_from(&system);
        solved.solve().expect("is regular");
        let solution = solved.solution();
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 2.0).abs() < 1e-12, "{solution:?}");
        assert!(system.residual(&solution) < 1e-12);
        assert!(system.residual(&[1.0, 2.1]) > 0.01, "a wrong solution is noticed");
    }

    #[test]
    fn equations_that_contradict_each_other_are_a_fault() {
        assert!(System { size: 2, cells: vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.0] }.solve().is_err());
    }

    #[test]
    fn what_is_not_a_number_is_not_within_a_limit() {
        assert!(within("x", f64::NAN, 1.0).is_err());
        assert!(within("x", 1.0, 1.0).is_ok());
    }
}
