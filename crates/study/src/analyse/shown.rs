//! What cells showed of a metric, as one number to look at.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use std::rc::Rc;

use super::cell::ByBlock;
use super::data::origins;
use super::datum::combine;
use super::select::View;
use crate::estimate;
use crate::findings::Estimate;
use crate::level;

/// What the cells at `at` showed, over those with the levels `base` put in
/// where that is asked, and where it comes from.
pub fn value(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> Option<(Estimate, Origin)> {
    let (values, origin) = by_block(view, metric, at, base)?;
    let found = estimate::of(values.values())?;
    // What is computed is always the same: repetitions and an interval would say nothing.
    let same = found.interval.is_none_or(|(low, high)| low == high);
    let exact = origin == Origin::Computed && same;
    let n = if exact { 1 } else { found.n };
    let counted = !exact && base.is_none() && view.experiment.has_histograms(metric);
    let found = if counted { estimate::as_counted(found, &view.metric(metric).unit) } else { found };
    Some((Estimate { interval: found.interval.filter(|(low, high)| low < high), n, ..found }, origin))
}

/// The same block by block.
pub fn by_block(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> Option<(ByBlock, Origin)> {
    let units = view.units(at);
    let mut values: Vec<Rc<ByBlock>> = Vec::new();
    for unit in &units {
        let own = view.values(unit, metric);
        values.push(match base {
            None => own,
            Some(base) => {
                let beside = view.units(&level::with(&unit.levels, base));
                let below = view.values(beside.first()?, metric);
                let ratio = |v: &[f64]| if v[0] > 0.0 && v[1] > 0.0 { v[0] / v[1] } else { f64::NAN };
                Rc::new(combine(&[own.as_ref().clone(), below.as_ref().clone()], ratio))
            }
        });
    }
    let parts: Vec<ByBlock> = values.iter().map(|v| v.as_ref().clone()).collect();
    let cells = units.iter().flat_map(|unit| unit.cells.iter().copied());
    let origin = origins(cells, metric).last().copied()?;
    Some((combine(&parts, |v| v.iter().sum::<f64>() / v.len() as f64), origin))
}
