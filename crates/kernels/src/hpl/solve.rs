//! The triangular system at the end, and the residual by which HPL judges a solution.

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use super::grid::Grid;
use super::matrix::{Matrix, entry};

/// Solves U · x = y, with y in the last column. Returns all of x at each rank.
pub(super) fn solve(matrix: &Matrix, grid: &Grid, rank: &mut Rank) -> Result<Vec<f64>, Fault> {
    let (order, block, rows) = (matrix.order, grid.columns.block, matrix.rows);
    // What is still to be subtracted is spread over a row; the column of the right-hand side begins with y.
    let mut left = match grid.columns.owner(order) == grid.columns.own {
        true => matrix.data[grid.columns.local(order) * rows..][..rows].to_vec(),
        false => vec![0.0; rows],
    };
    let mut solution = vec![0.0; order];
    for first in (0..order).step_by(block).rev() {
        let width = block.min(order - first);
        let (has_row, has_column) =
            (grid.rows.owner(first) == grid.rows.own, grid.columns.owner(first) == grid.columns.own);
        let (begin, column) = (grid.rows.below(first), grid.columns.below(first));
        let mut part = vec![0.0; width];
        if has_row {
            part.copy_from_slice(&left[begin..begin + width]);
            rank.within(&grid.row).reduce(grid.columns.owner(first), &mut part, ReduceOp::Sum)?;
        }
        if !has_column {
            continue;
        }
        if has_row {
            for at in (0..width).rev() {
                let upper = &matrix.data[(column + at) * rows + begin..];
                part[at] /= upper[at];
                let (above, own) = part.split_at_mut(at);
                above.iter_mut().zip(upper).for_each(|(above, factor)| *above -= factor * own[0]);
            }
        }
        rank.within(&grid.column).bcast(grid.rows.owner(first), &mut part)?;
        for (at, value) in part.iter().enumerate() {
            let above = &matrix.data[(column + at) * rows..][..begin];
            left.iter_mut().zip(above).for_each(|(left, factor)| *left -= factor * value);
        }
        if grid.rows.own == 0 {
            solution[first..first + width].copy_from_slice(&part);
        }
    }
    rank.world().allreduce(&mut solution, ReduceOp::Sum)?;
    Ok(solution)
}

/// HPL's residual of a solution: ‖A·x − b‖ / (ε · (‖A‖·‖x‖ + ‖b‖) · n), by the maximum norm. Right is below 16.
pub(super) fn residual(order: usize, grid: &Grid, solution: &[f64], rank: &mut Rank) -> Result<f64, Fault> {
    let (rows, columns) = (grid.rows.below(order), grid.columns.below(order));
    // A·x, and the sum of each row's absolute values.
    let mut sums = vec![0.0; 2 * rows];
    let (products, sizes) = sums.split_at_mut(rows);
    for column in 0..columns {
        let column = grid.columns.global(column);
        for (row, (product, size)) in products.iter_mut().zip(&mut *sizes).enumerate() {
            let entry = entry(grid.rows.global(row), column);
            *product += entry * solution[column];
            *size += entry.abs();
        }
    }
    rank.within(&grid.row).allreduce(&mut sums, ReduceOp::Sum)?;
    let (products, sizes) = sums.split_at(rows);
    let right = |row: usize| entry(grid.rows.global(row), order);
    let largest = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(0.0_f64, |a, b| if a.total_cmp(&b).is_ge() { a } else { b })
    };
    let mut norms = [
        largest(&mut products.iter().enumerate().map(|(row, product)| (product - right(row)).abs())),
        largest(&mut sizes.iter().copied()),
        largest(&mut (0..rows).map(|row| right(row).abs())),
        largest(&mut solution.iter().map(|value| value.abs())),
    ];
    rank.world().allreduce(&mut norms, ReduceOp::Max)?;
    let [apart, of_matrix, of_right, of_solution] = norms;
    Ok(apart / (f64::EPSILON / 2.0 * (of_matrix * of_solution + of_right) * order as f64))
}
