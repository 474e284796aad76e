//! Transposes: what is sent to each rank is put together, all ranks exchange their parts, and what came is put in
//! order.

/// Complex numbers.
type Points<'a> = &'a [[f64; 2]];
type PointsMut<'a> = &'a mut [[f64; 2]];

/// The numbers as pairs.
fn pairs(numbers: &[f64]) -> Points<'_> {
    numbers.as_chunks().0
}

fn pairs_mut(numbers: &mut [f64]) -> PointsMut<'_> {
    numbers.as_chunks_mut().0
}

/// Of each of `rows` rows, one of `parts` parts to each rank: from `[row][part]` to `[part][row]`.
pub(super) fn split(from: &[f64], to: &mut [f64], rows: usize, parts: usize) {
    let part = from.len() / (rows * parts);
    for (row, from) in from.chunks_exact(part * parts).enumerate() {
        for (to, from) in to.chunks_exact_mut(part * rows).zip(from.chunks_exact(part)) {
            to[row * part..][..part].copy_from_slice(from);
        }
    }
}

/// The contrary: from `[part][row]` to `[row][part]`.
pub(super) fn join(from: &[f64], to: &mut [f64], rows: usize, parts: usize) {
    split(from, to, parts, rows);
}

/// Transposes planes, and gives each rank its rows of all of them: from `[plane][row][part][column]` to
/// `[part][plane][column][row]`.
pub(super) fn split_transposed(from: &[f64], to: &mut [f64], planes: usize, rows: usize, parts: usize) {
    let columns = from.len() / (2 * planes * rows * parts);
    let (from, to) = (pairs(from), pairs_mut(to));
    for (plane, from) in from.chunks_exact(rows * parts * columns).enumerate() {
        for (to, part) in to.chunks_exact_mut(planes * columns * rows).zip(0..parts) {
            let to = &mut to[plane * columns * rows..][..columns * rows];
            for (column, to) in to.chunks_exact_mut(rows).enumerate() {
                for (to, row) in to.iter_mut().zip(from.chunks_exact(parts * columns)) {
                    *to = row[part * columns + column];
                }
            }
        }
    }
}

/// Reverses the order of axes: from `[plane][row][column]` to `[column][row][plane]`. A rank's part are some columns.
pub(super) fn reverse(from: &[f64], to: &mut [f64], planes: usize, rows: usize) {
    let columns = from.len() / (2 * planes * rows);
    let (from, to) = (pairs(from), pairs_mut(to));
    for (column, to) in to.chunks_exact_mut(rows * planes).enumerate() {
        for (row, to) in to.chunks_exact_mut(planes).enumerate() {
            for (to, plane) in to.iter_mut().zip(from.chunks_exact(rows * columns)) {
                *to = plane[row * columns + column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|at| at as f64).collect()
    }

    #[test]
    fn parts_are_split_and_joined_again() {
        let (from, mut to, mut back) = (numbers(24), vec![0.0; 24], vec![0.0; 24]);
        split(&from, &mut to, 2, 3);
        assert_eq!(to[..8], [0.0, 1.0, 2.0, 3.0, 12.0, 13.0, 14.0, 15.0]);
        join(&to, &mut back, 2, 3);
        assert_eq!(back, from);
    }

    #[test]
    fn a_reversal_and_a_transpose_undo_themselves() {
        let (from, mut to, mut back) = (numbers(2 * 60), vec![0.0; 120], vec![0.0; 120]);
        reverse(&from, &mut to, 3, 4);
        // The column 2, row 1, plane 1 of five columns.
        assert_eq!(to[2 * ((2 * 4 + 1) * 3 + 1)], from[2 * ((4 + 1) * 5 + 2)]);
        reverse(&to, &mut back, 5, 4);
        assert_eq!(back, from);
        // Two parts: the second has the columns 5 to 9 of all planes.
        split_transposed(&from, &mut to, 2, 3, 2);
        assert_eq!(to[2 * ((2 + 1) * 5 * 3 + 2 * 3 + 1)], from[2 * ((3 + 1) * 10 + 5 + 2)]);
    }
}
