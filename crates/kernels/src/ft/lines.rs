//! Transforms of all lines of an array, along its last axis or along another. An array has complex numbers as pairs.

use super::transform::{Cell, LANES, Plan};

/// Cells of a row that are loaded together: lines of memory that follow each other.
const WIDTH: usize = 4;

/// Room for the lines of four cells, twice.
#[derive(Debug)]
pub(super) struct Workspace {
    cells: [Vec<Cell>; 2],
}

impl Workspace {
    /// For lines of up to so many points.
    pub(super) fn new(points: usize) -> Self {
        Workspace { cells: [0, 1].map(|_| vec![Cell::default(); WIDTH * points]) }
    }

    /// Transforms the lines of this cell of those that are in the first.
    #[inline(always)]
    fn transform<const FORWARD: bool>(&mut self, plan: &Plan, cell: usize) -> &[Cell] {
        let points = plan.points();
        plan.transform::<FORWARD>(self.cells.each_mut().map(|cells| &mut cells[cell * points..][..points]))
    }

    /// Transforms the lines of four cells, and says where the results are.
    #[inline(always)]
    fn transform_all<const FORWARD: bool>(&mut self, plan: &Plan) -> &[Cell] {
        for cell in 0..WIDTH {
            self.transform::<FORWARD>(plan, cell);
        }
        &self.cells[plan.passes() % 2][..WIDTH * plan.points()]
    }
}

/// Transforms lines that are consecutive.
#[inline(always)]
pub(super) fn transform_rows<const FORWARD: bool>(plan: &Plan, data: &mut [f64], work: &mut Workspace) {
    for lines in data.chunks_mut(2 * plan.points() * LANES) {
        load_rows(lines, plan.points(), &mut work.cells[0]);
        store_rows(work.transform::<FORWARD>(plan, 0), lines);
    }
}

/// Multiplies lines of `source` that are consecutive by real factors, and transforms them into `data` backwards. The
/// factor of a point is that of its line times `along`.
#[inline(always)]
pub(super) fn evolve_rows(
    plan: &Plan,
    source: &[f64],
    data: &mut [f64],
    factor: impl Fn(usize) -> f64,
    along: &[f64],
    work: &mut Workspace,
) {
    let block = 2 * plan.points() * LANES;
    for (number, (source, lines)) in source.chunks(block).zip(data.chunks_mut(block)).enumerate() {
        load_rows(source, plan.points(), &mut work.cells[0]);
        let factors: [f64; LANES] = std::array::from_fn(|lane| factor(number * LANES + lane));
        scale(&mut work.cells[0], &factors, along);
        store_rows(work.transform::<false>(plan, 0), lines);
    }
}

/// Transforms lines whose points are `2 * inner` numbers apart.
#[inline(always)]
pub(super) fn transform_columns<const FORWARD: bool>(
    plan: &Plan,
    data: &mut [f64],
    inner: usize,
    work: &mut Workspace,
) {
    for slab in data.chunks_exact_mut(2 * inner * plan.points()) {
        for first in (0..inner).step_by(WIDTH * LANES) {
            load_columns(slab, inner, first, &mut work.cells[0]);
            store_columns(work.transform_all::<FORWARD>(plan), slab, inner, first);
        }
    }
}

/// As [`evolve_rows`], for lines whose points are `2 * inner` numbers apart.
#[inline(always)]
pub(super) fn evolve_columns(
    plan: &Plan,
    source: &[f64],
    data: &mut [f64],
    factor: impl Fn(usize) -> f64,
    along: &[f64],
    work: &mut Workspace,
) {
    let inner = data.len() / (2 * plan.points());
    for first in (0..inner).step_by(WIDTH * LANES) {
        load_columns(source, inner, first, &mut work.cells[0]);
        for (cell, cells) in work.cells[0].chunks_exact_mut(plan.points()).take(WIDTH).enumerate() {
            let factors: [f64; LANES] = std::array::from_fn(|lane| factor(first + cell * LANES + lane));
            scale(cells, &factors, along);
        }
        store_columns(work.transform_all::<false>(plan), data, inner, first);
    }
}

#[inline(always)]
fn scale(cells: &mut [Cell], factors: &[f64; LANES], along: &[f64]) {
    for (cell, along) in cells.iter_mut().zip(along) {
        let factors = factors.map(|factor| factor * along);
        cell.re.iter_mut().zip(factors).for_each(|(re, factor)| *re *= factor);
        cell.im.iter_mut().zip(factors).for_each(|(im, factor)| *im *= factor);
    }
}

#[inline(always)]
fn load_rows(lines: &[f64], points: usize, cells: &mut [Cell]) {
    for (lane, line) in lines.chunks_exact(2 * points).enumerate() {
        for (cell, point) in cells.iter_mut().zip(line.as_chunks::<2>().0) {
            [cell.re[lane], cell.im[lane]] = *point;
        }
    }
}

#[inline(always)]
fn store_rows(cells: &[Cell], lines: &mut [f64]) {
    for (lane, line) in lines.chunks_exact_mut(2 * cells.len()).enumerate() {
        for (cell, point) in cells.iter().zip(line.as_chunks_mut::<2>().0) {
            *point = [cell.re[lane], cell.im[lane]];
        }
    }
}

#[inline(always)]
fn load_columns(slab: &[f64], inner: usize, first: usize, cells: &mut [Cell]) {
    let points = slab.len() / (2 * inner);
    for (point, row) in slab.chunks_exact(2 * inner).enumerate() {
        let row = row[2 * first..][..2 * LANES * WIDTH].as_chunks::<{ 2 * LANES }>().0;
        for (cell, numbers) in row.iter().enumerate() {
            let cell = &mut cells[cell * points + point];
            for lane in 0..LANES {
                (cell.re[lane], cell.im[lane]) = (numbers[2 * lane], numbers[2 * lane + 1]);
            }
        }
    }
}

#[inline(always)]
fn store_columns(cells: &[Cell], slab: &mut [f64], inner: usize, first: usize) {
    let points = slab.len() / (2 * inner);
    for (point, row) in slab.chunks_exact_mut(2 * inner).enumerate() {
        let row = row[2 * first..][..2 * LANES * WIDTH].as_chunks_mut::<{ 2 * LANES }>().0;
        for (cell, numbers) in row.iter_mut().enumerate() {
            let cell = &cells[cell * points + point];
            for lane in 0..LANES {
                (numbers[2 * lane], numbers[2 * lane + 1]) = (cell.re[lane], cell.im[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_rows_of_the_transposed() {
        let (points, inner) = (16, 96);
        let rows: Vec<f64> = (0..2 * points * inner).map(|at| (at * at % 101) as f64).collect();
        let index = |row: usize, point: usize, part: usize| 2 * (row * points + point) + part;
        let mut columns = vec![0.0; rows.len()];
        let transpose = |rows: &[f64], columns: &mut [f64]| {
            for (at, number) in columns.iter_mut().enumerate() {
                *number = rows[index(at / 2 % inner, at / (2 * inner), at % 2)];
            }
        };
        transpose(&rows, &mut columns);
        let (plan, mut work) = (Plan::new(points), Workspace::new(points));
        let along: Vec<f64> = (0..points).map(|at| 1.0 / (1 + at) as f64).collect();
        let factor = |line: usize| 0.5 + line as f64;
        let (mut of_rows, mut of_columns) = (rows.clone(), columns.clone());
        evolve_rows(&plan, &rows, &mut of_rows, factor, &along, &mut work);
        evolve_columns(&plan, &columns, &mut of_columns, factor, &along, &mut work);
        transform_rows::<true>(&plan, &mut of_rows, &mut work);
        transform_columns::<true>(&plan, &mut of_columns, inner, &mut work);
        let mut expected = vec![0.0; rows.len()];
        transpose(&of_rows, &mut expected);
        assert_eq!(of_columns, expected);
    }

    #[test]
    fn fewer_lines_than_lanes_are_transformed_alone() {
        let plan = Plan::new(4);
        let mut work = Workspace::new(4);
        let mut line = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        transform_rows::<true>(&plan, &mut line, &mut work);
        assert_eq!(line, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }
}
