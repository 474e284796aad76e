//! Transfers between a level and the next coarser one (RNR-94-007, section 2.2, kernel MG): the restriction P and the
//! prolongation Q, both by trilinear elements.

use crosstalk_host::vector::VectorKernel;

use super::grid::Grid;
use super::stencil::{Rows, Weights, weigh};

/// The weights of P.
const RESTRICTION: Weights = [1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0];

/// Where the first of the coarse points lies. An axis with one point keeps it on the coarser level, if that has any;
/// else every other point is kept.
fn shift(fine: usize) -> usize {
    usize::from(fine == 3)
}

/// The restriction: `coarse = P fine`.
pub(super) struct Restrict<'a> {
    pub(super) fine: &'a Grid,
    pub(super) coarse: &'a mut Grid,
    pub(super) rows: &'a mut Rows,
}

impl VectorKernel for Restrict<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Restrict { fine, coarse, rows } = self;
        let [mx, my, mz] = coarse.extents;
        let [shift_x, shift_y, shift_z] = fine.extents.map(shift);
        let [own, beside, _] = rows.of(fine.extents[0]);
        for z in 1..mz - 1 {
            for y in 1..my - 1 {
                weigh(fine, [2 * y - shift_y, 2 * z - shift_z], RESTRICTION, own, beside);
                let (own, beside) = (&own[2 - shift_x..], &beside[1 - shift_x..]);
                add_every_second(own, beside, &mut coarse.row_mut(y, z)[1..mx - 1]);
            }
        }
    }
}

/// The sums of every second point, added up along x.
#[inline(always)]
fn add_every_second(own: &[f64], beside: &[f64], out: &mut [f64]) {
    for (x, out) in out.iter_mut().enumerate() {
        *out = own[2 * x] + (beside[2 * x] + beside[2 * x + 2]);
    }
}

/// The prolongation: `fine = fine + Q coarse`, ghosts included, or `fine = Q coarse` if `SET`.
pub(super) struct Prolong<'a, const SET: bool> {
    pub(super) coarse: &'a Grid,
    pub(super) fine: &'a mut Grid,
    pub(super) rows: &'a mut Rows,
}

impl<const SET: bool> VectorKernel for Prolong<'_, SET> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Prolong { coarse, fine, rows } = self;
        let [_, ny, nz] = fine.extents;
        let [shift_x, shift_y, shift_z] = fine.extents.map(shift);
        let [mean, _, _] = rows.of(coarse.extents[0]);
        for z in 0..nz {
            let (z0, z1) = ((z + shift_z) / 2, (z + shift_z).div_ceil(2));
            for y in 0..ny {
                let (y0, y1) = ((y + shift_y) / 2, (y + shift_y).div_ceil(2));
                average(coarse, [y0, y1], [z0, z1], mean);
                double_row::<SET>(mean, fine.row_mut(y, z), shift_x);
            }
        }
    }
}

/// The mean of the coarse rows around a fine one: one, two or four.
#[inline(always)]
fn average(coarse: &Grid, [y0, y1]: [usize; 2], [z0, z1]: [usize; 2], mean: &mut [f64]) {
    let points = mean.len();
    let row = |y: usize, z: usize| &coarse.row(y, z)[..points];
    match (y0 == y1, z0 == z1) {
        (true, true) => mean.copy_from_slice(row(y0, z0)),
        (false, false) => {
            let (a, b, c, d) = (row(y0, z0), row(y1, z0), row(y0, z1), row(y1, z1));
            for x in 0..points {
                mean[x] = 0.25 * (a[x] + b[x] + c[x] + d[x]);
            }
        }
        _ => {
            let (a, b) = (row(y0, z0), row(y1, z1));
            for x in 0..points {
                mean[x] = 0.5 * (a[x] + b[x]);
            }
        }
    }
}

/// Each point of a coarse row, and the mean of it and the next. With a shift, one mean comes first.
#[inline(always)]
fn double_row<const SET: bool>(row: &[f64], out: &mut [f64], shift: usize) {
    let put = |point: &mut f64, value: f64| *point = if SET { value } else { *point + value };
    let (first, out) = out.split_at_mut(shift);
    if let ([point], [a, b, ..]) = (first, row) {
        put(point, 0.5 * (a + b));
    }
    let row = &row[shift..];
    let pairs = out.len() / 2;
    let (row, next) = (&row[..pairs], &row[1..][..pairs]);
    for ((pair, a), b) in out.chunks_exact_mut(2).zip(row).zip(next) {
        put(&mut pair[0], *a);
        put(&mut pair[1], 0.5 * (a + b));
    }
}
