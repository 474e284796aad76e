//! Does a quantity rise or fall over an ordered factor? One slope per block.
//!
//! It is the least-squares slope of the (log) metric over the factor's positions. A
//! position is ln of the level, so that slopes are exponents, or the level's place
//! in the order. Effects that are common to a block's cells, such as drift, cancel.
//! Slopes are judged like log ratios ([`crate::question::Comparison`]). They are
//! symmetric about the truth if positions are evenly spaced (levels 1, 2, 4 on the
//! log scale) or the noise is symmetric.

/// The slope of each block. `cells[c][b]` is the (log) metric at position
/// `positions[c]` in block b. A block without a value for each cell has no slope.
/// Empty if there are not as many positions as cells.
pub fn slope_of_each_block(positions: &[f64], cells: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    if positions.len() != cells.len() {
        return Vec::new();
    }
    let blocks = cells.iter().map(Vec::len).min().unwrap_or(0);
    (0..blocks)
        .map(|block| {
            let values: Option<Vec<f64>> = cells.iter().map(|cell| cell[block]).collect();
            slope(positions, &values?)
        })
        .collect()
}

/// The least-squares slope of `y` over `x`. `None` unless they have the same length
/// and `x` has at least two different values.
pub fn slope(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() {
        return None;
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let spread: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
    let joint: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
    (spread > 0.0).then(|| joint / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looks::Looks;
    use crate::question::Comparison;
    use crate::verdict::Side;
    use crate::{family, rng::Rng};

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        let sizes = [1.0_f64, 2.0, 4.0, 6.0];
        let x: Vec<f64> = sizes.iter().map(|s| s.ln()).collect();
        let y: Vec<f64> = sizes.iter().map(|s| (5.0 * s.powf(-0.8)).ln()).collect();
        assert!((slope(&x, &y).expect("four levels") + 0.8).abs() < 1e-12);
        assert_eq!(slope(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(slope(&[], &[]), None);
    }

    #[test]
    fn a_block_that_lacks_a_cell_has_no_slope() {
        let cells = [vec![Some(0.0), Some(0.0)], vec![Some(1.0), None]];
        assert_eq!(slope_of_each_block(&[0.0, 2.0], &cells), [Some(0.5), None]);
        assert_eq!(slope_of_each_block(&[0.0], &cells), []);
    }

    #[test]
    fn a_falling_metric_is_found_to_fall_despite_drift() {
        let mut rng = Rng::seeded(41);
        let drift: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
        let cells: Vec<Vec<Option<f64>>> = (0..4)
            .map(|c| drift.iter().map(|d| Some(d - 0.1 * f64::from(c) + 0.02 * rng.normal())).collect())
            .collect();
        let slopes = slope_of_each_block(&[0.0, 1.0, 2.0, 3.0], &cells);
        let looks = Looks::new(&[12], 0.05).expect("valid");
        let found = family::conclude(&looks, 12, &[&Comparison::new(&slopes, 0.01)]);
        assert_eq!(found.by_question[0].answer.side, Some(Side::Below));
    }
}
