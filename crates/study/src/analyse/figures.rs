//! Figures, ready to draw.

mod frontier;
mod parts;
mod steps;

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};

use super::data::Data;
use super::lookup::Lookup;
use super::select::View;
use super::shown::value;
use crate::catalogue::Catalogues;
use crate::file::{DrawAs, FigureSpec, Study};
use crate::findings::{Axis, Estimate, Figure, FigureKind, Mark, Point, Scale, Series};
use crate::query::MetricQuery;
use crate::words::named;
use crate::{estimate, level};

/// Seconds, for the axis of stacked parts.
const SECONDS: &str = "s";

/// Every figure that the study asks for and that shows anything found, in their order.
pub fn all(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Figure> {
    let mut specs: Vec<_> = study.figure.iter().collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let drawn = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(figure(&view, name, spec, &Lookup(catalogues)))
    });
    // What was published alone is no finding.
    let found = |figure: &Figure| figure.series.iter().any(|series| series.origin != Origin::Published);
    drawn.filter(found).collect()
}

/// The figure that `spec` asks for. Points that were not run are left out.
fn figure(view: &View, name: &str, spec: &FigureSpec, published: &Lookup) -> Figure {
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
            DrawAs::Heat => named(spec.by()),
            DrawAs::Frontier => {
                spec.series.all().iter().map(|name| named(name)).collect::<Vec<_>>().join(", ")
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
        let quantile = metric.rsplit_once(' ').map_or_else(|| named(metric), |(_, quantile)| quantile.into());
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
            Ok(_) if !said => format!("{} {word}", named(spec.by())),
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
        let x = (self.scale() != Scale::Category).then(|| level.in_base_unit().map(|(n, _)| n)).flatten();
        Some(Point { x, x_interval: None, label: level.to_string(), y })
    }

    fn scale(&self) -> Scale {
        let wanted = if self.logarithmic("x") { Scale::Log } else { Scale::Linear };
        if self.spec.kind == DrawAs::Frontier {
            return wanted;
        }
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let numbers = levels.iter().map(|l| l.in_base_unit().map(|(n, _)| n));
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
        let mark = |(name, x): (&String, &Value)| Some(Mark { name: name.clone(), x: x.in_base_unit()?.0 });
        let mut marks: Vec<Mark> = self.spec.marks.iter().filter_map(mark).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        marks
    }

    fn logarithmic(&self, axis: &str) -> bool {
        self.spec.log.iter().any(|a| a == axis)
    }

    fn x_axis(&self) -> Axis {
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let unit = match levels.first().and_then(Value::in_base_unit) {
            _ if self.spec.kind == DrawAs::Frontier => self.view.metric(&self.spec.x).unit,
            Some((_, unit)) if self.scale() != Scale::Category => unit.to_string(),
            _ => String::new(),
        };
        Axis { label: named(&self.spec.x), unit, scale: self.scale() }
    }

    /// What is drawn, without the labels that it has throughout.
    fn quantity(&self) -> String {
        let metric = &self.spec.metric;
        match metric.split_once('[') {
            _ if !self.spec.also.is_empty() => named(MetricQuery::new(metric).metric),
            Some((name, rest)) => named(name) + rest.rsplit_once(']').map_or("", |(_, quantile)| quantile),
            None => named(metric),
        }
    }

    fn y_axis(&self) -> Axis {
        let metric = self.view.metric(&self.spec.metric);
        let (label, unit) = match (&self.spec.relative_to, self.spec.kind) {
            (_, kind) if kind.of_parts() => (named(&self.spec.metric), SECONDS.to_string()),
            (Some(base), _) => (
                format!("{} over that of {}", named(&self.spec.metric), level::describe(base)),
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
