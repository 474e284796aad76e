//! A panel: a column of blocks, factored by the ranks that have it.
//!
//! Every one of them has the panel's square at the diagonal, `top`, while the rows below it stay where they are. A column
//! takes three steps: the largest entry below the diagonal is found, its row goes to all and into `top`, and the row that
//! was at the diagonal goes where that came from. Halves are factored one after the other, with a product between
//! (Gustavson, "Recursion leads to automatic variable blocking", IBM J. Res. Dev. 41(6), 1997).

use crosstalk_comm::{LocateOp, Located, Rank};
use crosstalk_core::Fault;
use crosstalk_host::pages::vec_in_huge_pages;
use crosstalk_host::vector::{VectorKernel, run_widest};

use super::dense::{Block, copy_rows, solve_lower, subtract_product};
use super::grid::Grid;
use super::matrix::Matrix;

/// The number of columns up to which they are factored one by one.
const NARROW: usize = 8;
/// The tag of a row that leaves the diagonal.
const DISPLACED: u32 = 1;

/// A factored panel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    /// Its first column, and the row of its diagonal.
    pub(super) first: usize,
    pub(super) width: usize,
    /// Pivots, the square and what is below, one after the other, as they are sent.
    pub(super) numbers: Vec<f64>,
}

impl Panel {
    /// By column: the row that was exchanged with that of the diagonal.
    pub(super) fn pivots(&self) -> impl Iterator<Item = usize> {
        self.numbers[..self.width].iter().map(|row| *row as usize)
    }

    /// The square at the diagonal: L below it, U above it and on it.
    pub(super) fn top(&self) -> &[f64] {
        &self.numbers[self.width..][..self.width * self.width]
    }

    /// L in this rank's rows below the square.
    pub(super) fn below(&self) -> &[f64] {
        &self.numbers[self.width * (1 + self.width)..]
    }
}

/// A panel that is being factored.
struct Work<'w> {
    grid: &'w Grid,
    first: usize,
    width: usize,
    /// This rank's rows from the diagonal on, all columns of the panel.
    rows: Vec<f64>,
    count: usize,
    /// The number of this rank's first row there.
    begin: usize,
    /// Whether it has the rows of the square at the diagonal, which are the first ones.
    has_top: bool,
    top: Vec<f64>,
    pivots: Vec<usize>,
}

/// Factors the panel of `width` columns from `first` on. Its ranks call it together.
pub(super) fn factor(
    matrix: &mut Matrix,
    grid: &Grid,
    first: usize,
    width: usize,
    rank: &mut Rank,
) -> Result<Panel, Fault> {
    let begin = grid.rows.below(first);
    let count = matrix.rows - begin;
    let column = grid.columns.local(first);
    let mut work = Work {
        grid,
        first,
        width,
        rows: copy_rows(&matrix.data[column * matrix.rows..], matrix.rows, begin..matrix.rows, width),
        count,
        begin,
        has_top: grid.rows.owner(first) == grid.rows.own,
        top: vec![0.0; width * width],
        pivots: Vec::with_capacity(width),
    };
    work.factor(0, width, rank)?;
    let hidden = if work.has_top { width } else { 0 };
    if work.has_top {
        for (at, column) in work.top.chunks(width).enumerate() {
            let from = (grid.columns.local(first) + at) * matrix.rows + begin;
            matrix.data[from..from + width].copy_from_slice(column);
        }
    }
    let mut numbers = vec_in_huge_pages(width * (1 + width + count - hidden));
    numbers.extend(work.pivots.iter().map(|row| *row as f64));
    numbers.extend_from_slice(&work.top);
    work.rows.chunks(count.max(1)).for_each(|column| numbers.extend_from_slice(&column[hidden..]));
    Ok(Panel { first, width, numbers })
}

impl Work<'_> {
    /// The first of this rank's rows that are below row `column` of the square.
    fn active(&self, column: usize) -> usize {
        if self.has_top { column } else { 0 }
    }

    fn factor(&mut self, from: usize, to: usize, rank: &mut Rank) -> Result<(), Fault> {
        if to - from <= NARROW {
            return (from..to).try_for_each(|column| self.factor_column(column, to, rank));
        }
        let middle = from + (to - from) / 2;
        self.factor(from, middle, rank)?;
        let (half, rest, active) = (middle - from, to - middle, self.active(middle));
        let (left, right) = self.top.split_at_mut(middle * self.width);
        let l = Block { data: &left[from * self.width + from..], ld: self.width };
        solve_lower(half, rest, l, &mut right[from..], self.width);
        let u = Block { data: &right[from..], ld: self.width };
        let (left, right) = self.rows.split_at_mut(middle * self.count);
        if active < self.count {
            let l = Block { data: &left[from * self.count + active..], ld: self.count };
            let shape = [self.count - active, half, rest];
            subtract_product(shape, l, u, &mut right[active..], self.count);
        }
        self.factor(middle, to, rank)
    }

    /// One column, whose product is subtracted from the columns up to `to`.
    fn factor_column(&mut self, column: usize, to: usize, rank: &mut Rank) -> Result<(), Fault> {
        let pivot = self.find_pivot(column, rank)?;
        self.exchange(column, pivot, rank)?;
        let (count, width) = (self.count, self.width);
        let active = self.active(column + 1).min(count);
        let (left, right) = self.rows.split_at_mut((column + 1) * count);
        let own = &mut left[column * count + active..];
        let scale = 1.0 / self.top[column * width + column];
        let factors: Vec<f64> = (column + 1..to).map(|ahead| self.top[ahead * width + column]).collect();
        run_widest(Eliminate { own, scale, right, count, active, factors: &factors });
        Ok(())
    }

    /// The row of the largest entry of a column.
    fn find_pivot(&mut self, column: usize, rank: &mut Rank) -> Result<usize, Fault> {
        let active = self.active(column).min(self.count);
        let entries = &self.rows[column * self.count..][active..self.count];
        let value = run_widest(Largest(entries));
        let at = run_widest(Position(entries, value));
        let mut best = match at {
            Some(at) => Located { value, at: self.grid.rows.global(self.begin + active + at) as i64 },
            None => Located { value: -1.0, at: i64::MAX },
        };
        if self.grid.rows.of > 1 {
            let mut all = [best];
            rank.within(&self.grid.column).allreduce(&mut all, LocateOp::Max)?;
            [best] = all;
        }
        pivot(best, self.first + column)
    }

    /// Brings a pivot's row into the square, and that of the diagonal where the pivot was.
    fn exchange(&mut self, column: usize, pivot: usize, rank: &mut Rank) -> Result<(), Fault> {
        self.pivots.push(pivot);
        let rows = self.grid.rows;
        let owner = rows.owner(pivot);
        let here = (owner == rows.own).then(|| rows.local(pivot) - self.begin);
        let mut row = here.map_or_else(|| vec![0.0; self.width], |at| self.row(at));
        if rows.of > 1 {
            rank.within(&self.grid.column).bcast(owner, &mut row)?;
        }
        row.iter().enumerate().for_each(|(at, entry)| self.top[at * self.width + column] = *entry);
        let displaced = self.displaced(column, owner, rank)?;
        if let Some(here) = here {
            let entries = self.rows.iter_mut().skip(here).step_by(self.count);
            entries.zip(displaced).for_each(|(entry, displaced)| *entry = displaced);
        }
        Ok(())
    }

    /// The row at the diagonal, where the pivot was; none elsewhere.
    fn displaced(&self, column: usize, owner: usize, rank: &mut Rank) -> Result<Vec<f64>, Fault> {
        let mut scope = rank.within(&self.grid.column);
        match (owner == self.grid.rows.own, self.has_top) {
            (true, true) => Ok(self.row(column)),
            (false, true) => scope.send(owner, DISPLACED, &self.row(column)).map(|()| Vec::new()),
            (true, false) => {
                let mut displaced = vec![0.0; self.width];
                scope.recv_into(self.grid.rows.owner(self.first), DISPLACED, &mut displaced)?;
                Ok(displaced)
            }
            (false, false) => Ok(Vec::new()),
        }
    }

    /// A row of this rank's.
    fn row(&self, at: usize) -> Vec<f64> {
        self.rows.iter().skip(at).step_by(self.count).copied().collect()
    }
}

/// The row of the largest entry of a column, which must not be zero.
fn pivot(largest: Located, column: usize) -> Result<usize, Fault> {
    // Not the other way round: no number is no pivot.
    match largest.value > 0.0 {
        true => Ok(largest.at as usize),
        false => Err(Fault::attempt(format!(
            "the matrix is singular: column {column} has no pivot other than zero"
        ))
        .remedy("report it: the matrices that are generated are not singular")),
    }
}

/// The largest magnitude of these numbers; −1 of none.
struct Largest<'n>(&'n [f64]);

impl VectorKernel for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let larger = |a: f64, b: f64| if b > a { b } else { a };
        let (chunks, rest) = self.0.as_chunks::<16>();
        let mut lanes = [-1.0; 16];
        for chunk in chunks {
            lanes.iter_mut().zip(chunk).for_each(|(lane, entry)| *lane = larger(*lane, entry.abs()));
        }
        lanes.into_iter().chain(rest.iter().map(|entry| entry.abs())).fold(-1.0, larger)
    }
}

/// Where the first of these numbers has this magnitude.
struct Position<'n>(&'n [f64], f64);

impl VectorKernel for Position<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<usize> {
        const AT_ONCE: usize = 64;
        let has = |entries: &[f64]| entries.iter().fold(false, |has, entry| has | (entry.abs() == self.1));
        let chunk = self.0.chunks(AT_ONCE).position(has)? * AT_ONCE;
        let within = self.0[chunk..].iter().position(|entry| entry.abs() == self.1)?;
        Some(chunk + within)
    }
}

/// A column is scaled, and its products with a row are subtracted from the columns that follow.
struct Eliminate<'a> {
    own: &'a mut [f64],
    /// By which it is scaled.
    scale: f64,
    /// The columns that follow, `count` entries apart, from entry `active` on.
    right: &'a mut [f64],
    count: usize,
    active: usize,
    /// By column that follows.
    factors: &'a [f64],
}

impl VectorKernel for Eliminate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.own.iter_mut().for_each(|entry| *entry *= self.scale);
        for (target, factor) in self.right.chunks_mut(self.count.max(1)).zip(self.factors) {
            for (target, own) in target[self.active..].iter_mut().zip(&*self.own) {
                *target = if FUSED { own.mul_add(-factor, *target) } else { *target - own * factor };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_a_pivot_is_singular() {
        let found = |value| pivot(Located { value, at: 7 }, 3);
        assert_eq!(found(1e-300), Ok(7));
        // Of rows that are all elsewhere the largest is −1.
        for value in [0.0, -1.0, f64::NAN] {
            let fault = found(value).expect_err("no pivot").to_string();
            assert!(fault.contains("singular: column 3"), "{fault}");
        }
    }
}
