//! The cells of a ratio.

use crosstalk_core::value::Levels;

use super::cell::{Cell, in_plan_order};
use super::select::View;
use crate::{label, level};

/// Two sides to compare: a metric of some cells over the same metric of others.
#[derive(Clone, PartialEq)]
pub struct Contrast<'a> {
    /// The metric, as the study writes it.
    pub metric: String,
    /// The numerator's cells, in plan order.
    pub of: Vec<&'a Cell<'a>>,
    /// The denominator's cells, likewise.
    pub to: Vec<&'a Cell<'a>>,
    /// The labels that readings must have, in the numerator and in the denominator.
    labels: [Levels; 2],
}

impl<'a> Contrast<'a> {
    /// The cells of a log ratio ([`super::datum::log_ratio`]).
    pub fn new(view: &View<'a>, metric: &str, at: &Levels, of: &Levels, to: &Levels) -> Self {
        let cells = |levels: &Levels| {
            let combinations = view.combinations(&level::overlaid(at, levels));
            in_plan_order(combinations.into_iter().flat_map(|combination| combination.cells))
        };
        let labels = [of, to].map(|levels| label::split(&level::overlaid(at, levels)).1);
        Contrast { metric: metric.to_string(), of: cells(of), to: cells(to), labels }
    }

    /// The numerator's and the denominator's cell; `None` where either is several cells, or some of their readings.
    pub fn cells(&self) -> Option<(&'a Cell<'a>, &'a Cell<'a>)> {
        let whole = self.labels.iter().all(Levels::is_empty);
        let only = |cells: &[&'a Cell<'a>]| cells.first().copied().filter(|_| whole && cells.len() == 1);
        Some((only(&self.of)?, only(&self.to)?))
    }

    /// 1 where `other` is the same ratio, −1 where it is the inverse, else `None`.
    pub fn sign_against(&self, other: &Contrast) -> Option<f64> {
        let same = |of: &[&Cell], to: &[&Cell], labels: [&Levels; 2]| {
            self.of == *of && self.to == *to && self.labels.each_ref() == labels
        };
        let [above, below] = other.labels.each_ref();
        match self.metric == other.metric {
            true if same(&other.of, &other.to, [above, below]) => Some(1.0),
            true if same(&other.to, &other.of, [below, above]) => Some(-1.0),
            _ => None,
        }
    }
}
