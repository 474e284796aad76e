//! Cells over cells.

use crosstalk_core::value::Levels;

use super::cell::{Cell, in_order};
use super::select::View;
use crate::{label, level};

/// What a ratio is of: a metric of some cells over that of others.
#[derive(Clone, PartialEq)]
pub struct Contrast<'a> {
    /// What is asked of them.
    pub metric: String,
    /// The cells above, in plan order.
    pub of: Vec<&'a Cell<'a>>,
    /// The cells below, likewise.
    pub to: Vec<&'a Cell<'a>>,
    /// Which of their readings, above and below, where labels stand in the place of factors.
    labels: [Levels; 2],
}

impl<'a> Contrast<'a> {
    /// The cells of a log ratio (see [`super::datum::log_ratio`]).
    pub fn new(view: &View<'a>, metric: &str, at: &Levels, of: &Levels, to: &Levels) -> Self {
        let cells = |levels: &Levels| {
            let units = view.units(&level::with(at, levels));
            in_order(units.into_iter().flat_map(|unit| unit.cells))
        };
        let labels = [of, to].map(|levels| label::split(&level::with(at, levels)).1);
        Contrast { metric: metric.to_string(), of: cells(of), to: cells(to), labels }
    }

    /// The cell above and the cell below, where each is one and whole.
    pub fn cells(&self) -> Option<(&'a Cell<'a>, &'a Cell<'a>)> {
        let whole = self.labels.iter().all(Levels::is_empty);
        let only = |cells: &[&'a Cell<'a>]| cells.first().copied().filter(|_| whole && cells.len() == 1);
        Some((only(&self.of)?, only(&self.to)?))
    }

    /// 1 where `other` is the same, −1 where it is the inverse.
    pub fn sign(&self, other: &Contrast) -> Option<f64> {
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
