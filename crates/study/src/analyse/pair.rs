//! The comparisons of an experiment: each other level against the base, at every combination of the other factors.

use crosstalk_core::record::Metric;
use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::verdict::Margin;

use super::contrast::Contrast;
use super::datum::{Datum, log_ratio};
use super::select::View;
use crate::level;
use crate::rules;

/// Two levels of a factor that a study compares, with the data of their cells.
pub struct Pair<'a> {
    /// The experiment.
    pub view: View<'a>,
    /// What is compared.
    pub metric: Metric,
    /// The metric as the study writes it (`latency p99`).
    pub query: String,
    /// The factor that differs.
    pub factor: String,
    /// Its level in the base cell.
    pub base: Value,
    /// Its level in the other cell.
    pub other: Value,
    /// The levels that both share.
    pub at: Levels,
    /// log (other / base), one number a block.
    pub datum: Datum,
}

/// Every comparison of the experiment, in plan order.
pub fn pairs<'a>(view: &View<'a>) -> Vec<Pair<'a>> {
    let (Some(compare), Some(metric)) = (&view.written.compare, view.deciding_metric()) else {
        return Vec::new();
    };
    let base = Levels::from([(compare.factor.clone(), compare.base.clone())]);
    let mut pairs = Vec::new();
    for combination in view.combinations(&base) {
        let mut at = combination.levels.clone();
        at.remove(&compare.factor);
        for other in view.levels_of(&compare.factor, &at) {
            if other == compare.base {
                continue;
            }
            let of = Levels::from([(compare.factor.clone(), other.clone())]);
            pairs.push(Pair {
                view: *view,
                metric: view.metric(metric),
                query: metric.to_string(),
                factor: compare.factor.clone(),
                base: compare.base.clone(),
                other,
                datum: log_ratio(view, metric, &at, &of, &base),
                at: at.clone(),
            });
        }
    }
    pairs
}

impl<'a> Pair<'a> {
    /// Whether all of its cells have data or can have them on this host.
    pub fn can_run(&self) -> bool {
        let contrast = self.contrast();
        contrast.of.iter().chain(&contrast.to).all(|cell| !cell.never_has_data())
    }

    /// The margins: beyond one it is a difference, within the other it is none.
    pub fn margin(&self) -> Margin {
        let stated = self.view.written.compare.as_ref().and_then(|compare| compare.margin.as_ref());
        match stated {
            Some(within) => rules::margins_within(within.value.0),
            None => rules::margins(),
        }
    }

    /// `time: kosmos-srio over microblade at slaves 6`.
    pub fn title(&self) -> String {
        let at = if self.at.is_empty() {
            String::new()
        } else {
            format!(" at {}", level::describe_levels(&self.at))
        };
        format!("{}: {} over {}{at}", self.query, self.other, self.base)
    }

    /// The two sides to compare: the other level's cells over the base's.
    pub fn contrast(&self) -> Contrast<'a> {
        let (of, to) = (self.level(&self.other), self.level(&self.base));
        Contrast::new(&self.view, &self.query, &self.at, &of, &to)
    }

    /// Whether every number is computed or replayed: the same in each block, so that there is no interval.
    pub fn is_computed(&self) -> bool {
        self.datum.origins.iter().all(|origin| origin.is_same_in_each_block())
            && !self.datum.origins.is_empty()
    }

    /// A level of the compared factor, as [`Levels`].
    pub fn level(&self, level: &Value) -> Levels {
        Levels::from([(self.factor.clone(), level.clone())])
    }
}
