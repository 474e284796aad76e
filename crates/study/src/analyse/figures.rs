//! Figures, ready to draw.

mod frontier;
mod parts;
mod steps;

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};
use std::rc::Rc;

use super::data::ByBlock;
use super::datum::combine;
use super::lookup::Lookup;
use super::select::View;
use super::summary::Asked;
use super::{estimate, level};
use crate::file::{DrawAs, FigureSpec};
use crate::findings::{Axis, Estimate, Figure, FigureKind, Mark, Point, Scale, Series};
use crate::label;

/// Seconds, for the axis of stacked parts.
const SECONDS: &str = "s";

/// The figure that `spec` asks for. Points that were not run are left out.
pub fn figure(view: &View, name: &str, spec: &FigureSpec, published: &Lookup) -> Figure {
    let drawing = Drawing { view, spec, published };
    let mut caption = spec.caption.clone();
    let (kind, series) = match spec.kind {
        DrawAs::Lines => (FigureKind::Lines, drawing.series()),
        DrawAs::Bars => (FigureKind::Bars, drawing.series()),
        DrawAs::Heat => (FigureKind::Heat, drawing.series()),
        DrawAs::Frontier => (FigureKind::Frontier, drawing.frontier()),
        DrawAs::Waterfall => (FigureKind::Waterfall, drawing.steps()),
        DrawAs::Split => {
            let (series, node) = drawing.busiest();
            caption.insert_str(0, &node);
            (FigureKind::Stacked, series)
        }
        DrawAs::Nodes => (FigureKind::Stacked, drawing.nodes()),
    };
    Figure {
        name: name.to_string(),
        title: spec.title.clone(),
        caption,
        kind,
        x: drawing.x_axis(),
        y: drawing.y_axis(),
        by: match spec.kind {
            DrawAs::Heat => words(spec.by()),
            DrawAs::Frontier => {
                spec.series.all().iter().map(|name| words(name)).collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        },
        series,
        marks: drawing.marks(),
    }
}

struct Drawing<'a> {
    view: &'a View<'a>,
    spec: &'a FigureSpec,
    published: &'a Lookup<'a>,
}

impl Drawing<'_> {
    /// Each level of the series' factor as ran, of each metric, with what was published beside it.
    fn series(&self) -> Vec<Series> {
        let mut all = Vec::new();
        for level in self.told_apart() {
            for metric in self.spec.metrics() {
                let name = self.name(level.as_ref(), metric);
                let points: Vec<_> = self.across(level.as_ref(), |at| self.point(metric, at));
                let origin = points.iter().map(|(_, origin)| *origin).max().unwrap_or(Origin::Measured);
                let points: Vec<Point> = points.into_iter().map(|(point, _)| point).collect();
                all.push(Series { name, group: String::new(), origin, points });
            }
            let printed = self.across(level.as_ref(), |at| self.printed(at));
            let name = self.name(level.as_ref(), &self.spec.metric);
            all.push(Series { name, group: String::new(), origin: Origin::Published, points: printed });
        }
        all.retain(|series| !series.points.is_empty());
        all
    }

    /// The levels that make the series; one that is none where only the metrics do.
    fn told_apart(&self) -> Vec<Option<Value>> {
        match self.spec.by() {
            "" => vec![None],
            series => self.view.levels_of(series, &self.spec.at).into_iter().map(Some).collect(),
        }
    }

    /// What a series is called: its level, and where there are several metrics which.
    fn name(&self, level: Option<&Value>, metric: &str) -> String {
        let quantile = metric.rsplit_once(' ').map_or_else(|| words(metric), |(_, quantile)| quantile.into());
        match level {
            Some(level) if self.spec.also.is_empty() => self.level(level),
            Some(level) => format!("{} {quantile}", self.level(level)),
            None => quantile,
        }
    }

    /// What people call a level that makes a series: a bare number with what it counts, `external 50`,
    /// where nothing else says so.
    fn level(&self, level: &Value) -> String {
        let spec = self.spec;
        let said = spec.kind == DrawAs::Heat || spec.x == spec.by();
        let word = level.to_string();
        match word.parse::<f64>() {
            Ok(_) if !said => format!("{} {word}", words(spec.by())),
            _ => word,
        }
    }

    /// `make` at every level across, in order.
    fn across<T>(&self, series: Option<&Value>, make: impl Fn(&Levels) -> Option<T>) -> Vec<T> {
        let own: Levels = series.map(|level| (self.spec.by().into(), level.clone())).into_iter().collect();
        // Where one factor makes both, each of its levels is a series of one point.
        let both = self.spec.x == self.spec.by();
        let here = self.places(&own).into_iter().filter(|at| !both || at.get(&self.spec.x) == series);
        here.filter_map(|at| make(&at)).collect()
    }

    /// The levels of every place across, in order, with `own` put in.
    fn places(&self, own: &Levels) -> Vec<Levels> {
        let at = level::with(&self.spec.at, own);
        let x = |level: Value| Levels::from([(self.spec.x.clone(), level)]);
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        levels.into_iter().map(|level| level::with(&at, &x(level))).collect()
    }

    fn point(&self, metric: &str, at: &Levels) -> Option<(Point, Origin)> {
        let (y, origin) = value(self.view, metric, at, self.spec.relative_to.as_ref())?;
        Some((self.placed(at, y)?, origin))
    }

    fn printed(&self, at: &Levels) -> Option<Point> {
        let template = self.spec.published.as_deref()?;
        let y = self.published.at(template, at, &self.spec.published_as, self.spec.relative_to.as_ref())?;
        self.placed(at, estimate::published(y))
    }

    fn placed(&self, at: &Levels, y: Estimate) -> Option<Point> {
        let level = at.get(&self.spec.x)?;
        let x = (self.scale() != Scale::Category).then(|| level::number(level).map(|(n, _)| n)).flatten();
        Some(Point { x, x_interval: None, label: level.to_string(), y })
    }

    fn scale(&self) -> Scale {
        let wanted = if self.logarithmic("x") { Scale::Log } else { Scale::Linear };
        if self.spec.kind == DrawAs::Frontier {
            return wanted;
        }
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let numbers = levels.iter().map(|l| level::number(l).map(|(n, _)| n));
        let fits = |n: Option<f64>| n.is_some_and(|n| wanted == Scale::Linear || n > 0.0);
        if self.spec.kind == DrawAs::Lines && numbers.into_iter().all(fits) {
            wanted
        } else {
            Scale::Category
        }
    }

    fn marks(&self) -> Vec<Mark> {
        if self.scale() == Scale::Category {
            return Vec::new();
        }
        let mark = |(name, x): (&String, &Value)| Some(Mark { name: name.clone(), x: level::number(x)?.0 });
        let mut marks: Vec<Mark> = self.spec.marks.iter().filter_map(mark).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        marks
    }

    fn logarithmic(&self, axis: &str) -> bool {
        self.spec.log.iter().any(|a| a == axis)
    }

    fn x_axis(&self) -> Axis {
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let unit = match levels.first().and_then(level::number) {
            _ if self.spec.kind == DrawAs::Frontier => self.view.metric(&self.spec.x).unit,
            Some((_, unit)) if self.scale() != Scale::Category => unit.to_string(),
            _ => String::new(),
        };
        Axis { label: words(&self.spec.x), unit, scale: self.scale() }
    }

    /// What is drawn, without the labels that it has throughout.
    fn quantity(&self) -> String {
        let metric = &self.spec.metric;
        match metric.split_once('[') {
            _ if !self.spec.also.is_empty() => words(Asked::new(metric).metric),
            Some((name, rest)) => words(name) + rest.rsplit_once(']').map_or("", |(_, quantile)| quantile),
            None => words(metric),
        }
    }

    fn y_axis(&self) -> Axis {
        let metric = self.view.metric(&self.spec.metric);
        let (label, unit) = match (&self.spec.relative_to, self.spec.kind) {
            (_, kind) if kind.of_parts() => (words(&self.spec.metric), SECONDS.to_string()),
            (Some(base), _) => (
                format!("{} over that of {}", words(&self.spec.metric), level::describe(base)),
                "ratio".into(),
            ),
            (None, _) => (self.quantity(), metric.unit),
        };
        // The fields of a map are as dark as they are far from what they are relative to, either way.
        let relative = self.spec.kind == DrawAs::Heat && self.spec.relative_to.is_some();
        let scale = if self.logarithmic("y") || relative { Scale::Log } else { Scale::Linear };
        Axis { label, unit, scale }
    }
}

/// What the cells at `at` showed, over those with the levels `base` put in
/// where that is asked, and where it comes from.
pub fn value(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> Option<(Estimate, Origin)> {
    let (values, origin) = by_block(view, metric, at, base)?;
    let found = estimate::of(values.values())?;
    // What is computed is always the same: repetitions and an interval would say nothing.
    let same = found.interval.is_none_or(|(low, high)| low == high);
    let exact = origin == Origin::Computed && same;
    let n = if exact { 1 } else { found.n };
    let counted = !exact && base.is_none() && view.data.has_histograms(view.index, metric);
    let found = if counted { estimate::as_counted(found, &view.metric(metric).unit) } else { found };
    Some((Estimate { interval: found.interval.filter(|(low, high)| low < high), n, ..found }, origin))
}

/// The same block by block.
fn by_block(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> Option<(ByBlock, Origin)> {
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
    let cells: Vec<usize> = units.iter().flat_map(|unit| unit.cells.iter().copied()).collect();
    let origin = view.data.origins(view.index, &cells, metric).last().copied()?;
    Some((combine(&parts, |v| v.iter().sum::<f64>() / v.len() as f64), origin))
}

/// `run_time` as people read it; of a label in the place of a factor its name.
pub fn words(name: &str) -> String {
    label::called(name).replace('_', " ")
}
