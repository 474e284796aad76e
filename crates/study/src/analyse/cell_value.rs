//! What cells showed of a metric, as one number for a figure or table.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use std::rc::Rc;

use super::cell::ByBlock;
use super::data::origins;
use super::datum::combine_by_block;
use super::select::View;
use crate::estimate;
use crate::findings::Estimate;
use crate::level;

/// The mean of the cells at `at`, and where it comes from. With `base` it is a ratio to the cells with the levels `base`
/// put in.
pub fn mean_at(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> Option<(Estimate, Origin)> {
    let (values, origin) = mean_at_by_block(view, metric, at, base)?;
    let found = estimate::estimate(values.values())?;
    // A computed or replayed number is the same in each block: a number of blocks and an interval would say nothing.
    let same = found.interval.is_none_or(|(low, high)| low == high);
    let exact = origin.is_same_in_each_block() && same;
    let n = if exact { 1 } else { found.n };
    let counted = !exact && base.is_none() && view.experiment.has_histograms(metric);
    let found = if counted { estimate::at_bucket_precision(found, &view.metric(metric).unit) } else { found };
    Some((Estimate { interval: found.interval.filter(|(low, high)| low < high), n, ..found }, origin))
}

/// As [`mean_at`], in each block.
pub fn mean_at_by_block(
    view: &View,
    metric: &str,
    at: &Levels,
    base: Option<&Levels>,
) -> Option<(ByBlock, Origin)> {
    let combinations = view.combinations(at);
    let mut values: Vec<Rc<ByBlock>> = Vec::new();
    for combination in &combinations {
        let value = view.values(combination, metric);
        values.push(match base {
            None => value,
            Some(base) => {
                let base_combinations = view.combinations(&level::overlaid(&combination.levels, base));
                let below = view.values(base_combinations.first()?, metric);
                let ratio = |v: &[f64]| if v[0] > 0.0 && v[1] > 0.0 { v[0] / v[1] } else { f64::NAN };
                Rc::new(combine_by_block(&[value.as_ref().clone(), below.as_ref().clone()], ratio))
            }
        });
    }
    let parts: Vec<ByBlock> = values.iter().map(|v| v.as_ref().clone()).collect();
    let cells = combinations.iter().flat_map(|combination| combination.cells.iter().copied());
    let origin = origins(cells, metric).last().copied()?;
    Some((combine_by_block(&parts, |v| v.iter().sum::<f64>() / v.len() as f64), origin))
}
