//! Figures, ready to draw.

mod fit;
mod frontier;
mod parts;
mod steps;

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::{Levels, Value};

use super::cell_value::mean_at;
use super::data::Data;
use super::lookup::PublishedNumbers;
use super::select::View;
use crate::catalogue::Catalogues;
use crate::file::{DrawAs, FigureSpec, Study};
use crate::findings::{Axis, Estimate, Figure, FigureKind, Mark, Point, Scale, Series};
use crate::part::PARTS_ADD_UP;
use crate::query::MetricQuery;
use crate::words::readable_name;
use crate::{estimate, level};

/// The unit of stacked parts: seconds.
const SECONDS: &str = "s";

/// Every figure of the study that shows anything found, in their order.
pub fn all_figures(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Figure> {
    let mut specs: Vec<_> = study.figure.iter().collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let drawn = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(figure(&view, name, spec, &PublishedNumbers(catalogues)))
    });
    // Published values alone are no finding.
    let found = |figure: &Figure| figure.series.iter().any(|series| series.origin != Origin::Published);
    drawn.filter(found).collect()
}

/// The figure that `spec` describes. Points that were not run are left out.
fn figure(view: &View, name: &str, spec: &FigureSpec, published: &PublishedNumbers) -> Figure {
    let drawing = Drawing { view, spec, published };
    let mut caption = spec.caption.clone();
    let (kind, series) = match spec.kind {
        DrawAs::Lines if drawing.has_one_position() => (FigureKind::Bars, drawing.series()),
        DrawAs::Lines => (FigureKind::Lines, drawing.series()),
        DrawAs::Bars => (FigureKind::Bars, drawing.series()),
        DrawAs::Heat => (FigureKind::Heat, drawing.series()),
        DrawAs::Frontier => (FigureKind::Frontier, drawing.frontier()),
        DrawAs::Fit => {
            let (series, line) = drawing.fit();
            caption = format!("{caption} {line}").trim().to_string();
            (FigureKind::Fit, series)
        }
        DrawAs::Waterfall => (FigureKind::Waterfall, drawing.steps()),
        DrawAs::Split => {
            let (series, node) = drawing.busiest();
            caption.insert_str(0, &node);
            (FigureKind::Stacked, series)
        }
        DrawAs::Nodes => (FigureKind::Stacked, drawing.nodes()),
    };
    if spec.kind.of_parts() {
        caption = format!("{caption} {PARTS_ADD_UP}").trim_start().to_string();
    }
    Figure {
        name: name.to_string(),
        title: spec.title.clone(),
        caption,
        kind,
        x: drawing.x_axis(),
        y: drawing.y_axis(),
        by: match spec.kind {
            DrawAs::Heat => readable_name(spec.series_factor()),
            DrawAs::Frontier | DrawAs::Fit => {
                spec.series.all().iter().map(|name| readable_name(name)).collect::<Vec<_>>().join(", ")
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
    published: &'a PublishedNumbers<'a>,
}

impl Drawing<'_> {
    /// A series for each level of the series' factor and each metric, and one with the published values.
    fn series(&self) -> Vec<Series> {
        let mut all = Vec::new();
        for level in self.series_levels() {
            for metric in self.spec.metrics() {
                let name = self.name(level.as_ref(), metric);
                let points: Vec<_> = self.across(level.as_ref(), |at| self.point(metric, at));
                let origin = points.iter().map(|(_, origin)| *origin).max().unwrap_or(Origin::Measured);
                let points: Vec<Point> = points.into_iter().map(|(point, _)| point).collect();
                all.push(Series { name, group: String::new(), origin, points });
            }
            let published_points = self.across(level.as_ref(), |at| self.published_point(at));
            let name = self.name(level.as_ref(), &self.spec.metric);
            all.push(Series {
                name,
                group: String::new(),
                origin: Origin::Published,
                points: published_points,
            });
        }
        all.retain(|series| !series.points.is_empty());
        all
    }

    /// The levels that make the series; a single `None` where only the metrics do.
    fn series_levels(&self) -> Vec<Option<Value>> {
        match self.spec.series_factor() {
            "" => vec![None],
            series => self.view.levels_of(series, &self.spec.at).into_iter().map(Some).collect(),
        }
    }

    /// The name of a series: its level, and its quantile where there are several metrics.
    fn name(&self, level: Option<&Value>, metric: &str) -> String {
        let quantile =
            metric.rsplit_once(' ').map_or_else(|| readable_name(metric), |(_, quantile)| quantile.into());
        match level {
            Some(level) if self.spec.also.is_empty() => self.level_name(level),
            Some(level) => format!("{} {quantile}", self.level_name(level)),
            None => quantile,
        }
    }

    /// The name of a level that makes a series. A number has its factor's name, `slaves 6`, where the figure does not show
    /// that name.
    fn level_name(&self, level: &Value) -> String {
        let spec = self.spec;
        let factor_is_shown = spec.kind == DrawAs::Heat || spec.x == spec.series_factor();
        let word = level.to_string();
        match word.parse::<f64>() {
            Ok(_) if !factor_is_shown => format!("{} {word}", readable_name(spec.series_factor())),
            _ => word,
        }
    }

    /// What `make` gives at every level across, in order.
    fn across<T>(&self, series: Option<&Value>, make: impl Fn(&Levels) -> Option<T>) -> Vec<T> {
        let levels: Levels =
            series.map(|level| (self.spec.series_factor().into(), level.clone())).into_iter().collect();
        // Where the factor across makes the series as well, each level is a series of one point.
        let both = self.spec.x == self.spec.series_factor();
        let here =
            self.positions_across(&levels).into_iter().filter(|at| !both || at.get(&self.spec.x) == series);
        here.filter_map(|at| make(&at)).collect()
    }

    /// The levels at every position across, in order, with `levels` put in.
    fn positions_across(&self, levels: &Levels) -> Vec<Levels> {
        let at = level::overlaid(&self.spec.at, levels);
        let x = |level: Value| Levels::from([(self.spec.x.clone(), level)]);
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        levels.into_iter().map(|level| level::overlaid(&at, &x(level))).collect()
    }

    fn point(&self, metric: &str, at: &Levels) -> Option<(Point, Origin)> {
        let (y, origin) = mean_at(self.view, metric, at, self.spec.relative_to.as_ref())?;
        Some((self.point_at(at, y)?, origin))
    }

    fn published_point(&self, at: &Levels) -> Option<Point> {
        let template = self.spec.published.as_deref()?;
        let y = self.published.number_at(
            template,
            at,
            &self.spec.published_as,
            self.spec.relative_to.as_ref(),
        )?;
        self.point_at(at, estimate::published_estimate(y))
    }

    fn point_at(&self, at: &Levels, y: Estimate) -> Option<Point> {
        let level = at.get(&self.spec.x)?;
        let x = (self.scale() != Scale::Category).then(|| level.in_base_unit().map(|(n, _)| n)).flatten();
        Some(Point { x, x_interval: None, label: level.to_string(), y })
    }

    /// Whether all points of lines have one position across, so that there is no line: they are drawn as bars.
    fn has_one_position(&self) -> bool {
        self.spec.kind == DrawAs::Lines && self.view.levels_of(&self.spec.x, &self.spec.at).len() == 1
    }

    fn scale(&self) -> Scale {
        let wanted = if self.is_logarithmic("x") { Scale::Log } else { Scale::Linear };
        if self.spec.kind.is_of_two_metrics() {
            return wanted;
        }
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let numbers = levels.iter().map(|l| l.in_base_unit().map(|(n, _)| n));
        let fits = |n: Option<f64>| n.is_some_and(|n| wanted == Scale::Linear || n > 0.0);
        if self.spec.kind == DrawAs::Lines && !self.has_one_position() && numbers.into_iter().all(fits) {
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

    fn is_logarithmic(&self, axis: &str) -> bool {
        self.spec.log.iter().any(|a| a == axis)
    }

    fn x_axis(&self) -> Axis {
        let levels = self.view.levels_of(&self.spec.x, &self.spec.at);
        let unit = match levels.first().and_then(Value::in_base_unit) {
            _ if self.spec.kind.is_of_two_metrics() => self.view.metric(&self.spec.x).unit,
            Some((_, unit)) if self.scale() != Scale::Category => unit.to_string(),
            _ => String::new(),
        };
        Axis { label: readable_name(&self.spec.x), unit, scale: self.scale() }
    }

    /// The quantity that is drawn, without the labels that all readings share.
    fn quantity(&self) -> String {
        let metric = &self.spec.metric;
        match metric.split_once('[') {
            _ if !self.spec.also.is_empty() => readable_name(MetricQuery::new(metric).metric),
            Some((name, rest)) => {
                readable_name(name) + rest.rsplit_once(']').map_or("", |(_, quantile)| quantile)
            }
            None => readable_name(metric),
        }
    }

    /// Whether the title calls the ratio a gain. The axis then does, too.
    fn titled_gain(&self) -> bool {
        self.spec.title.to_lowercase().contains("gain")
    }

    fn y_axis(&self) -> Axis {
        let metric = self.view.metric(&self.spec.metric);
        let (label, unit) = match (&self.spec.relative_to, self.spec.kind) {
            (_, kind) if kind.of_parts() => (readable_name(&self.spec.metric), SECONDS.to_string()),
            (Some(base), _) if metric.better == Better::Higher && self.titled_gain() => {
                (format!("gain over {}", level::describe_levels(base)), "ratio".into())
            }
            (Some(base), _) => (
                format!("{} over that of {}", readable_name(&self.spec.metric), level::describe_levels(base)),
                "ratio".into(),
            ),
            (None, _) => (self.quantity(), metric.unit),
        };
        // A heat map of ratios shades both directions alike: its scale is logarithmic.
        let relative = self.spec.kind == DrawAs::Heat && self.spec.relative_to.is_some();
        let log = self.is_logarithmic("y") && !self.has_one_position();
        let scale = if log || relative { Scale::Log } else { Scale::Linear };
        Axis { label, unit, scale }
    }
}
