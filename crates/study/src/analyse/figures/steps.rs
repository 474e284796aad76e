//! Waterfalls: the steps of each series one after the other, and their sum.
//!
//! Estimates of steps do not add up to the estimate of their sum, and the bars of a waterfall must. So a step is its mean
//! over the middle half of the blocks by that sum: outliers do not count, and it has no interval.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Value;

use super::Drawing;
use crate::analyse::cell::ByBlock;
use crate::analyse::cell_value::mean_at_by_block;
use crate::analyse::datum::combine_by_block;
use crate::findings::{Estimate, Point, Series};

/// The name of the last bar.
const ALL: &str = "in all";

impl Drawing<'_> {
    /// A series for each level, with a point for each step and a last one for their sum.
    pub(super) fn steps(&self) -> Vec<Series> {
        let levels = self.series_levels();
        levels.iter().filter_map(|level| self.waterfall(level.as_ref())).collect()
    }

    fn waterfall(&self, level: Option<&Value>) -> Option<Series> {
        let metric = &self.spec.metric;
        let steps = self.across(level, |at| {
            let (values, origin) = mean_at_by_block(self.view, metric, at, None)?;
            (!values.is_empty()).then(|| (at.clone(), values, origin))
        });
        let origin: Origin = steps.iter().map(|(.., origin)| *origin).max()?;
        let parts: Vec<ByBlock> = steps.iter().map(|(_, values, _)| values.clone()).collect();
        let sums = combine_by_block(&parts, |v| v.iter().sum());
        let typical = middle_half(&sums);
        let mean = |values: &ByBlock| {
            let sum: f64 = typical.iter().filter_map(|block| values.get(block)).sum();
            let n = typical.len();
            (n > 0).then(|| Estimate { value: sum / n as f64, interval: None, n })
        };
        let mut points: Vec<Point> =
            steps.iter().filter_map(|(at, values, _)| self.point_at(at, mean(values)?)).collect();
        points.push(Point { x: None, x_interval: None, label: ALL.into(), y: mean(&sums)? });
        Some(Series { name: self.name(level, metric), group: String::new(), origin, points })
    }
}

/// The blocks with the middle half of the values.
fn middle_half(values: &ByBlock) -> Vec<usize> {
    let mut order: Vec<(usize, f64)> = values.iter().map(|(block, value)| (*block, *value)).collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let cut = order.len() / 4;
    order[cut..order.len() - cut].iter().map(|(block, _)| *block).collect()
}
