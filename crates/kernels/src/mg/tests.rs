//! The operators, by what they do to plane waves and to constants.

use crosstalk_host::vector::{VectorKernel, run_widest};

use super::grid::Grid;
use super::stencil::{AddCubes, RESIDUAL, Rows, norms};
use super::transfer::{Prolong, Restrict};

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
    let rows = &mut rows;
    let c = (std::f64::consts::TAU / points as f64).cos();
    let symbol = |[centre, faces, edges, corners]: [f64; 4]| {
        centre + 6.0 * faces * c + 12.0 * edges * c * c + 8.0 * corners * c * c * c
    };
    let mut residual = Grid::zeros(u.extents);
    run_widest(AddCubes { weights: RESIDUAL, of: &u, base: Some(&u), out: &mut residual, rows });
    close(&residual, &u, 1.0 + symbol(RESIDUAL));
    let (mut smoothed, weights) = (u.clone(), [0.5, 0.25, 0.125, -0.5]);
    run_widest(AddCubes { weights, of: &u, base: None, out: &mut smoothed, rows });
    close(&smoothed, &u, 1.0 + symbol(weights));
    let mut coarse = Grid::zeros([points / 2 + 2; 3]);
    run_widest(Restrict { fine: &u, coarse: &mut coarse, rows });
    // The coarse points are every second of the fine ones: here the odd ones, by number from 0.
    let every_second = periodic(points / 2, |[x, y, z]| u.row(2 * y + 2, 2 * z + 2)[2 * x + 2]);
    close(&coarse, &every_second, symbol([1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0]));
}

#[test]
fn any_instructions_have_the_same_results() {
    let (u, mut rows) = (wave(16), Rows::new(18));
    let [mut widest, mut oldest] = [0, 1].map(|_| u.clone());
    run_widest(AddCubes { weights: RESIDUAL, of: &u, base: None, out: &mut widest, rows: &mut rows });
    AddCubes { weights: RESIDUAL, of: &u, base: None, out: &mut oldest, rows: &mut rows }.run::<false>();
    assert_eq!(widest, oldest);
}

#[test]
fn the_prolongation_keeps_what_is_constant_and_coarse_points() {
    let mut rows = Rows::new(18);
    let rows = &mut rows;
    let mut fine = periodic(16, |_| 1.0);
    run_widest(Prolong::<false> { coarse: &periodic(8, |_| 2.0), fine: &mut fine, rows });
    assert!(fine.points.iter().all(|point| *point == 3.0));
    let coarse = wave(8);
    run_widest(Prolong::<true> { coarse: &coarse, fine: &mut fine, rows });
    for at in 1..8 {
        assert_eq!(fine.row(2 * at, 2)[4], coarse.row(at, 1)[2]);
        assert_eq!(fine.row(2 * at + 1, 2)[4], 0.5 * (coarse.row(at, 1)[2] + coarse.row(at + 1, 1)[2]));
    }
}

#[test]
fn a_single_point_is_kept_on_the_coarser_level() {
    let mut rows = Rows::new(3);
    let rows = &mut rows;
    let mut coarse = Grid::zeros([3; 3]);
    run_widest(Restrict { fine: &periodic(1, |_| 3.0), coarse: &mut coarse, rows });
    assert_eq!(coarse.row(1, 1)[1], 3.0 * (0.5 + 6.0 / 4.0 + 12.0 / 8.0 + 8.0 / 16.0));
    let mut back = Grid::zeros([3; 3]);
    run_widest(Prolong::<true> { coarse: &periodic(1, |_| 3.0), fine: &mut back, rows });
    assert!(back.points.iter().all(|point| *point == 3.0));
}

#[test]
fn norms_pass_over_ghosts() {
    let mut grid = periodic(12, |_| -2.0);
    grid.row_mut(0, 0)[0] = 100.0;
    assert_eq!(norms(&grid), [4.0 * 12f64.powi(3), 2.0]);
}
