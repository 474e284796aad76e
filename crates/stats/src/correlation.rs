//! Do two quantities rise together? Spearman's rank correlation.
//!
//! Over the cells of a study, each block has one coefficient ([`by_block`]). Their
//! median over blocks is compared with a number ([`crate::threshold::Threshold`]).
//! That assumes no distribution, and no independence of cells in a block.

/// Spearman's coefficient of each block: `x[c][b]` and `y[c][b]` are the two
/// quantities of cell c in block b. A block without a value for each cell has none.
pub fn by_block(x: &[Vec<Option<f64>>], y: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let blocks = x.iter().chain(y).map(Vec::len).min().unwrap_or(0);
    let row = |of: &[Vec<Option<f64>>], block: usize| -> Option<Vec<f64>> {
        of.iter().map(|cell| cell[block]).collect()
    };
    (0..blocks).map(|block| spearman(&row(x, block)?, &row(y, block)?)).collect()
}

/// Spearman's coefficient; tied values get their mean rank. `None`: fewer than
/// three pairs, unequal lengths, a value that is not finite, or a constant
/// quantity.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 3 || !x.iter().chain(y).all(|v| v.is_finite()) {
        return None;
    }
    let centre = (x.len() as f64 + 1.0) / 2.0;
    let (x, y) = (ranks(x), ranks(y));
    let joint = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>();
    let scale = (joint(&x, &x) * joint(&y, &y)).sqrt();
    (scale > 0.0).then(|| (joint(&x, &y) / scale).clamp(-1.0, 1.0))
}

/// Ranks from 1; tied values get their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|other| **other < v).count() as f64;
    let equal = |v: f64| values.iter().filter(|other| **other == v).count() as f64;
    values.iter().map(|v| below(*v) + (equal(*v) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_reversed_orders_have_the_extreme_coefficients() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&x, &[1.0, 8.0, 27.0, 64.0]), Some(1.0));
        assert_eq!(spearman(&x, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(spearman(&x, &[5.0; 4]), None);
        assert_eq!(spearman(&x, &[1.0, 2.0]), None);
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn without_ties_the_formula_of_rank_differences_holds() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 5.0]);
        let expected = 1.0 - 6.0 * 4.0 / (5.0 * 24.0);
        assert!((spearman(&x, &y).expect("five pairs") - expected).abs() < 1e-12);
    }

    #[test]
    fn each_complete_block_has_one_coefficient() {
        let x = [vec![Some(1.0), Some(1.0)], vec![Some(2.0), None], vec![Some(3.0), Some(3.0)]];
        assert_eq!(by_block(&x, &x), [Some(1.0), None]);
    }
}
