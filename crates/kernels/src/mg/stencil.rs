//! The four operators (RNR-94-007, section 2.2, kernel MG): the residual A, the smoother S, the restriction P and the
//! prolongation Q. Each gives the 27 points of a cube four weights: one for its centre, its 6 faces, its 12 edges and
//! its 8 corners. So a row is first added up with its neighbours in y and z, then along x.

use super::grid::Grid;

/// Room for three rows.
#[derive(Debug)]
pub(super) struct Rows([Vec<f64>; 3]);

impl Rows {
    /// For rows of up to so many points.
    pub(super) fn new(points: usize) -> Self {
        Rows([0, 1, 2].map(|_| vec![0.0; points]))
    }

    #[inline(always)]
    fn of(&mut self, points: usize) -> [&mut [f64]; 3] {
        self.0.each_mut().map(|row| &mut row[..points])
    }
}

/// Points of a plane in a block: three times 128 KiB are half of a common second-level cache.
const BLOCK: usize = 1 << 14;

/// The weights of A: centre, edges and corners; faces have none.
const RESIDUAL: [f64; 3] = [-8.0 / 3.0, 1.0 / 6.0, 1.0 / 12.0];

/// The rows of all planes, in blocks of y: those of three planes stay in the cache until the next planes need them.
#[inline(always)]
fn for_each_row([nx, ny, nz]: [usize; 3], mut body: impl FnMut(usize, usize)) {
    let block = (BLOCK / nx).max(1);
    for first in (1..ny - 1).step_by(block) {
        for z in 1..nz - 1 {
            for y in first..(first + block).min(ny - 1) {
                body(y, z);
            }
        }
    }
}

/// Adds up, for each point of a row, its four neighbours in y or z, and the four in both.
#[inline(always)]
fn add_around(grid: &Grid, y: usize, z: usize, near: &mut [f64], far: &mut [f64]) {
    let points = near.len();
    let row = |y: usize, z: usize| &grid.row(y, z)[..points];
    let (below, above, behind, ahead) = (row(y - 1, z), row(y + 1, z), row(y, z - 1), row(y, z + 1));
    let corners = [row(y - 1, z - 1), row(y + 1, z - 1), row(y - 1, z + 1), row(y + 1, z + 1)];
    let [c0, c1, c2, c3] = corners;
    let far = &mut far[..points];
    for x in 0..points {
        near[x] = below[x] + above[x] + behind[x] + ahead[x];
        far[x] = c0[x] + c1[x] + c2[x] + c3[x];
    }
}

/// The residual: `r = v − A u`; `v` is what `r` has, if it is not given.
#[inline(always)]
pub(super) fn residual(u: &Grid, v: Option<&Grid>, r: &mut Grid, rows: &mut Rows) {
    let [near, far, own] = rows.of(u.extents[0]);
    for_each_row(u.extents, |y, z| {
        add_around(u, y, z, near, far);
        let right = match v {
            Some(v) => v.row(y, z),
            None => {
                own.copy_from_slice(r.row(y, z));
                &*own
            }
        };
        residual_row(right, u.row(y, z), near, far, r.row_mut(y, z));
    });
}

#[inline(always)]
fn residual_row(right: &[f64], centre: &[f64], near: &[f64], far: &[f64], out: &mut [f64]) {
    let [at_centre, at_edges, at_corners] = RESIDUAL;
    let points = out.len() - 2;
    let (right, centre, out) = (&right[1..][..points], &centre[1..][..points], &mut out[1..][..points]);
    let [near_before, near_after] = [&near[..points], &near[2..][..points]];
    let [far_before, far, far_after] = [&far[..points], &far[1..][..points], &far[2..][..points]];
    for x in 0..points {
        out[x] = right[x]
            - at_centre * centre[x]
            - at_edges * (far[x] + near_before[x] + near_after[x])
            - at_corners * (far_before[x] + far_after[x]);
    }
}

/// The smoother: `u = u + S r`, with weights at the centre, faces and edges; corners have none.
#[inline(always)]
pub(super) fn smooth(r: &Grid, u: &mut Grid, weights: [f64; 3], rows: &mut Rows) {
    let [near, far, _] = rows.of(r.extents[0]);
    for_each_row(r.extents, |y, z| {
        add_around(r, y, z, near, far);
        smooth_row(r.row(y, z), near, far, weights, u.row_mut(y, z));
    });
}

#[inline(always)]
fn smooth_row(centre: &[f64], near: &[f64], far: &[f64], weights: [f64; 3], out: &mut [f64]) {
    let [at_centre, at_faces, at_edges] = weights;
    let points = out.len() - 2;
    let out = &mut out[1..][..points];
    let [before, centre, after] = [&centre[..points], &centre[1..][..points], &centre[2..][..points]];
    let [near_before, near, near_after] = [&near[..points], &near[1..][..points], &near[2..][..points]];
    let far = &far[1..][..points];
    for x in 0..points {
        out[x] = out[x]
            + at_centre * centre[x]
            + at_faces * (before[x] + after[x] + near[x])
            + at_edges * (far[x] + near_before[x] + near_after[x]);
    }
}

/// Where the first of the coarse points lies. An axis with one point keeps it on the coarser level, if that has any;
/// else every other point is kept.
fn shift(fine: usize) -> usize {
    usize::from(fine == 3)
}

/// The restriction, by trilinear elements: centre 1/2, faces 1/4, edges 1/8, corners 1/16.
#[inline(always)]
pub(super) fn restrict(fine: &Grid, coarse: &mut Grid, rows: &mut Rows) {
    let [nx, _, _] = fine.extents;
    let [mx, my, mz] = coarse.extents;
    let [shift_x, shift_y, shift_z] = fine.extents.map(shift);
    let [near, far, _] = rows.of(nx);
    for z in 1..mz - 1 {
        for y in 1..my - 1 {
            let (fine_y, fine_z) = (2 * y - shift_y, 2 * z - shift_z);
            add_around(fine, fine_y, fine_z, near, far);
            // The weights are products of 1/2, 1 and 1/2 along x and those of the row.
            for ((near, far), centre) in near.iter_mut().zip(&*far).zip(fine.row(fine_y, fine_z)) {
                *near = 0.5 * centre + 0.25 * *near + 0.125 * far;
            }
            halve_row(&near[1 - shift_x..], &mut coarse.row_mut(y, z)[1..mx - 1]);
        }
    }
}

/// Of each pair, the second, and half of its neighbours.
#[inline(always)]
fn halve_row(row: &[f64], out: &mut [f64]) {
    let pairs = row.chunks_exact(2);
    let next = row.iter().skip(2).step_by(2);
    for ((out, pair), next) in out.iter_mut().zip(pairs).zip(next) {
        *out = pair[1] + 0.5 * (pair[0] + next);
    }
}

/// The prolongation, trilinear: `u = u + Q z`, ghosts included, or `u = Q z` if `SET`.
#[inline(always)]
pub(super) fn prolong<const SET: bool>(coarse: &Grid, fine: &mut Grid, rows: &mut Rows) {
    let [mx, _, _] = coarse.extents;
    let [nx, ny, nz] = fine.extents;
    let [shift_x, shift_y, shift_z] = fine.extents.map(shift);
    let [mean, _, _] = rows.of(mx);
    for z in 0..nz {
        let (z0, z1) = ((z + shift_z) / 2, (z + shift_z).div_ceil(2));
        for y in 0..ny {
            let (y0, y1) = ((y + shift_y) / 2, (y + shift_y).div_ceil(2));
            average(coarse, [y0, y1], [z0, z1], mean);
            let out = fine.row_mut(y, z);
            double_row::<SET>(mean, &mut out[..nx], shift_x);
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
            let [a, b, c, d] = [row(y0, z0), row(y1, z0), row(y0, z1), row(y1, z1)];
            for x in 0..points {
                mean[x] = 0.25 * (a[x] + b[x] + c[x] + d[x]);
            }
        }
        _ => {
            let [a, b] = [row(y0, z0), row(y1, z1)];
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

/// The sum of squares and the largest amount of all points that are no ghosts.
#[inline(always)]
pub(super) fn norms(r: &Grid) -> [f64; 2] {
    const LANES: usize = 8;
    let [nx, ny, nz] = r.extents;
    let (mut squares, mut largest) = ([0.0; LANES], [0.0f64; LANES]);
    let mut add = |lane: usize, point: f64| {
        squares[lane] += point * point;
        largest[lane] = if point.abs() > largest[lane] { point.abs() } else { largest[lane] };
    };
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            let mut chunks = r.row(y, z)[1..nx - 1].chunks_exact(LANES);
            chunks.by_ref().for_each(|chunk| (0..LANES).for_each(|lane| add(lane, chunk[lane])));
            chunks.remainder().iter().for_each(|point| add(0, *point));
        }
    }
    [squares.iter().sum(), largest.into_iter().fold(0.0, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of `points` along each axis, whose ghosts continue it periodically.
    fn periodic(points: usize, value: impl Fn([usize; 3]) -> f64) -> Grid {
        let mut grid = Grid::zeros([points + 2; 3]);
        let inner = |at: usize| (at + points - 1) % points;
        for z in 0..points + 2 {
            for y in 0..points + 2 {
                for x in 0..points + 2 {
                    grid.row_mut(y, z)[x] = value([inner(x), inner(y), inner(z)]);
                }
            }
        }
        grid
    }

    /// A plane wave with one period along each axis.
    fn wave(points: usize) -> Grid {
        let step = std::f64::consts::TAU / points as f64;
        periodic(points, |at| (step * at.iter().sum::<usize>() as f64).cos())
    }

    fn close(found: &Grid, expected: &Grid, factor: f64) {
        let [nx, ny, nz] = found.extents;
        for z in 1..nz - 1 {
            for y in 1..ny - 1 {
                for x in 1..nx - 1 {
                    let (found, expected) = (found.row(y, z)[x], factor * expected.row(y, z)[x]);
                    assert!((found - expected).abs() < 1e-13, "{x} {y} {z}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn operators_scale_a_plane_wave_by_their_symbols() {
        let points = 16;
        let (u, mut rows) = (wave(points), Rows::new(points + 2));
        let c = (std::f64::consts::TAU / points as f64).cos();
        let (faces, edges, corners) = (6.0 * c, 12.0 * c * c, 8.0 * c * c * c);
        let mut r = Grid::zeros(u.extents);
        residual(&u, None, &mut r, &mut rows);
        close(&r, &u, -(RESIDUAL[0] + RESIDUAL[1] * edges + RESIDUAL[2] * corners));
        let mut v = Grid::zeros(u.extents);
        residual(&u, Some(&u), &mut v, &mut rows);
        close(&v, &u, 1.0 - (RESIDUAL[0] + RESIDUAL[1] * edges + RESIDUAL[2] * corners));
        let mut smoothed = Grid::zeros(u.extents);
        smooth(&u, &mut smoothed, [0.5, 0.25, 0.125], &mut rows);
        close(&smoothed, &u, 0.5 + 0.25 * faces + 0.125 * edges);
        let mut coarse = Grid::zeros([points / 2 + 2; 3]);
        restrict(&u, &mut coarse, &mut rows);
        // The coarse points are every second of the fine ones: here the odd ones, by number from 0.
        let every_second = periodic(points / 2, |[x, y, z]| u.row(2 * y + 2, 2 * z + 2)[2 * x + 2]);
        close(&coarse, &every_second, 0.5 + 0.25 * faces + 0.125 * edges + 0.0625 * corners);
    }

    #[test]
    fn the_prolongation_keeps_what_is_constant_and_coarse_points() {
        let mut rows = Rows::new(18);
        let mut fine = periodic(16, |_| 1.0);
        prolong::<false>(&periodic(8, |_| 2.0), &mut fine, &mut rows);
        assert!(fine.points.iter().all(|point| *point == 3.0));
        let coarse = wave(8);
        prolong::<true>(&coarse, &mut fine, &mut rows);
        for at in 1..8 {
            assert_eq!(fine.row(2 * at, 2)[4], coarse.row(at, 1)[2]);
            assert_eq!(fine.row(2 * at + 1, 2)[4], 0.5 * (coarse.row(at, 1)[2] + coarse.row(at + 1, 1)[2]));
        }
    }

    #[test]
    fn a_single_point_is_kept_on_the_coarser_level() {
        let mut rows = Rows::new(3);
        let fine = periodic(1, |_| 3.0);
        let mut coarse = Grid::zeros([3; 3]);
        restrict(&fine, &mut coarse, &mut rows);
        assert_eq!(coarse.row(1, 1)[1], 3.0 * (0.5 + 6.0 / 4.0 + 12.0 / 8.0 + 8.0 / 16.0));
        let mut back = Grid::zeros([3; 3]);
        prolong::<true>(&periodic(1, |_| 3.0), &mut back, &mut rows);
        assert!(back.points.iter().all(|point| *point == 3.0));
    }

    #[test]
    fn norms_pass_over_ghosts() {
        let mut grid = periodic(12, |_| -2.0);
        grid.row_mut(0, 0)[0] = 100.0;
        assert_eq!(norms(&grid), [4.0 * 12f64.powi(3), 2.0]);
    }
}
