//! Products of matrices, with the widest instructions of this processor.

use gemm_common::Parallelism;

/// A matrix that is read: its columns follow each other, `ld` entries apart.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// The entries.
    pub data: &'a [f64],
    /// The distance of two columns.
    pub ld: usize,
}

/// C −= A · B, with A of `rows` × `inner`, B of `inner` × `columns`, and C, whose columns are `ld` apart, of `rows` ×
/// `columns`. One core does it.
///
/// # Panics
/// If a slice does not hold its matrix, or columns overlap.
pub fn subtract_product(
    [rows, inner, columns]: [usize; 3],
    a: Columns,
    b: Columns,
    c: &mut [f64],
    ld: usize,
) {
    if rows == 0 || inner == 0 || columns == 0 {
        return;
    }
    let holds = |length: usize, ld: usize, rows: usize, columns: usize| {
        let last = (columns - 1).checked_mul(ld).and_then(|begin| begin.checked_add(rows));
        ld >= rows && last.is_some_and(|last| last <= length)
    };
    assert!(holds(a.data.len(), a.ld, rows, inner), "A is in its slice");
    assert!(holds(b.data.len(), b.ld, inner, columns), "B is in its slice");
    assert!(holds(c.len(), ld, rows, columns), "C is in its slice");
    let multiply = gemm_f64::gemm::f64::get_gemm_fn();
    // SAFETY: each matrix is within its slice, as was just checked, and C is borrowed alone. Strides fit isize,
    // because slices do.
    unsafe {
        multiply(
            rows,
            columns,
            inner,
            c.as_mut_ptr(),
            ld as isize,
            1,
            true,
            a.data.as_ptr(),
            a.ld as isize,
            1,
            b.data.as_ptr(),
            b.ld as isize,
            1,
            1.0,
            -1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_that_of_its_definition() {
        for [rows, inner, columns] in
            [[1, 1, 1], [3, 5, 2], [40, 17, 33], [129, 64, 70], [0, 3, 2], [3, 0, 2]]
        {
            let (lda, ldb, ldc) = (rows + 2, inner + 1, rows + 3);
            let numbers = |count: usize, from: usize| -> Vec<f64> {
                (0..count).map(|at| ((at * 7 + from) % 19) as f64 - 9.0).collect()
            };
            let (a, b) = (numbers(lda * inner, 1), numbers(ldb * columns, 5));
            let before = numbers(ldc * columns, 3);
            let mut c = before.clone();
            let [of_a, of_b] = [(&a, lda), (&b, ldb)].map(|(data, ld)| Columns { data, ld });
            subtract_product([rows, inner, columns], of_a, of_b, &mut c, ldc);
            for (at, (after, before)) in c.iter().zip(&before).enumerate() {
                let (row, column) = (at % ldc, at / ldc);
                let sum: f64 =
                    (0..inner).map(|i| a.get(i * lda + row).map_or(0.0, |a| a * b[column * ldb + i])).sum();
                let expected = if row < rows { before - sum } else { *before };
                assert!((after - expected).abs() < 1e-9, "{rows} × {inner} × {columns} at {row}, {column}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "A is in its slice")]
    fn a_slice_that_is_too_short_is_refused() {
        let (short, mut c) = ([0.0; 5], [0.0; 4]);
        let b = Columns { data: &[0.0; 6], ld: 3 };
        subtract_product([2, 3, 2], Columns { data: &short, ld: 2 }, b, &mut c, 2);
    }
}
