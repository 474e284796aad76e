//! HPL on grids of every kind.

use crate::common::{Clock, ranks};
use crosstalk_core::value::Params;
use crosstalk_kernels::hpl::{Spec, solved};

/// The residual of a system of `order` in blocks of `block`, on `rows` × `columns` ranks.
fn residual(order: i64, block: i64, rows: i64, columns: i64, clock: Clock) -> f64 {
    let params = Params::default().with("n", order).with("nb", block).with("p", rows).with("q", columns);
    let spec = Spec::from_params(&params).expect("reads");
    let all = ranks((rows * columns) as usize, clock, |rank| solved(&spec, rank).expect("is solved").1);
    assert!(all.iter().all(|residual| residual.to_bits() == all[0].to_bits()), "all ranks have it");
    all[0]
}

#[test]
fn every_shape_of_grid_and_block_solves_the_system() {
    for (rows, columns) in [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 2)] {
        for (order, block) in [(1, 4), (7, 8), (64, 16), (100, 16), (129, 32), (130, 7)] {
            let residual = residual(order, block, rows, columns, Clock::Real);
            assert!(residual < 1.0, "{order} by {block} on {rows} × {columns}: {residual}");
        }
    }
}

#[test]
fn both_clocks_find_the_same_solution() {
    let [real, emulated] = [Clock::Real, Clock::Virtual].map(|clock| residual(150, 16, 2, 2, clock));
    assert_eq!(real.to_bits(), emulated.to_bits());
}
