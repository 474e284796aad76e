//! Figures, tables and the headline against the experiments they show.

use super::names;
use crate::file::{DrawAs, Experiment, FigureSpec, Study, TableSpec};
use crate::published::placeholders;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::value::Levels;

pub(super) fn check(study: &Study) -> Result<(), Fault> {
    headline(study)?;
    study.figure.iter().try_for_each(|(name, spec)| figure(study, &format!("figure.{name}"), spec))?;
    study.table.iter().try_for_each(|(name, spec)| table(study, &format!("table.{name}"), spec))
}

fn figure(study: &Study, path: &str, figure: &FigureSpec) -> Result<(), Fault> {
    let experiment = names::find(study, &figure.experiment, &format!("{path}.experiment"))?;
    if figure.kind != DrawAs::Frontier {
        across(study, experiment, figure, &figure.x, &format!("{path}.x"))?;
    }
    series(study, experiment, figure, &format!("{path}.series"))?;
    alone(figure).map_err(|(key, fault)| {
        fault.at(study.written.at(&format!("{path}.{key}"))).remedy(format!("leave `{key}` out"))
    })?;
    if let Some(axis) = figure.log.iter().find(|axis| !["x", "y"].contains(&axis.as_str())) {
        return Err(unknown("axis", axis, ["x", "y"]).at(study.written.at(&format!("{path}.log"))));
    }
    marks(figure).map_err(|(name, fault)| fault.at(study.written.at(&format!("{path}.marks.{name}"))))?;
    cells(study, experiment, &figure.at, figure.relative_to.as_ref(), path)?;
    template(study, experiment, figure.published.as_deref(), path)
}

/// Nothing stands beside what has no place for it; else the key that is too much.
fn alone(figure: &FigureSpec) -> Result<(), (&'static str, Fault)> {
    if figure.kind.of_parts() && !figure.also.is_empty() {
        return Err(("also", Fault::usage("the parts of the time stand alone")));
    }
    let frontier = figure.kind == DrawAs::Frontier;
    if frontier && !figure.also.is_empty() {
        return Err(("also", Fault::usage("a frontier is of two metrics")));
    }
    if frontier && figure.published.is_some() {
        return Err(("published", Fault::usage("published values have no place beside a frontier")));
    }
    Ok(())
}

/// What parts of the time are drawn along is a factor: a cell has them once.
fn across(
    study: &Study,
    experiment: &Experiment,
    figure: &FigureSpec,
    name: &str,
    path: &str,
) -> Result<(), Fault> {
    match figure.kind.of_parts() {
        true => names::factor(study, experiment, name, path),
        false => names::axis(study, experiment, name, path),
    }
}

/// What tells bars and lines apart: a factor, the metrics, or the nodes themselves.
fn series(study: &Study, experiment: &Experiment, figure: &FigureSpec, path: &str) -> Result<(), Fault> {
    match (figure.kind, figure.series.is_empty()) {
        (DrawAs::Nodes, true) => Ok(()),
        (DrawAs::Nodes, false) => Err(Fault::usage("the bars of a figure of nodes are the nodes")
            .at(study.written.at(path))
            .remedy("leave `series` out")),
        (_, true) if !figure.also.is_empty() => Ok(()),
        (_, true) => Err(Fault::usage("missing `series`")
            .at(study.written.at(path))
            .remedy("name the factor whose levels are told apart")),
        (DrawAs::Frontier, false) => {
            figure.series.all().iter().try_for_each(|name| names::axis(study, experiment, name, path))
        }
        (_, false) => match figure.series.all() {
            [name] => across(study, experiment, figure, name, path),
            _ => Err(Fault::usage("several factors make the points of a frontier only")
                .at(study.written.at(path))
                .remedy("name one factor, and levels of the others in `where`")),
        },
    }
}

fn table(study: &Study, path: &str, table: &TableSpec) -> Result<(), Fault> {
    let experiment = names::find(study, &table.experiment, &format!("{path}.experiment"))?;
    for rows in table.rows.all() {
        names::axis(study, experiment, rows, &format!("{path}.rows"))?;
    }
    let both =
        Fault::usage("expected `metric` and `columns`, or a list of `column`").at(study.written.at(path));
    match (table.metric.is_empty(), table.columns.is_empty(), table.column.is_empty()) {
        (false, false, true) => names::axis(study, experiment, &table.columns, &format!("{path}.columns"))?,
        (true, true, false) => {}
        _ => return Err(both.remedy("give a metric and the factor across, or each column by itself")),
    }
    for (place, column) in table.column.iter().enumerate() {
        let path = format!("{path}.column.{place}");
        if column.metric.is_some() == column.published.is_some() {
            return Err(Fault::usage(format!(
                "expected a metric or published values in column `{}`",
                column.title
            ))
            .at(study.written.at(&path))
            .remedy("give one of: metric, published"));
        }
        template(study, experiment, column.published.as_deref(), &path)?;
        cells(study, experiment, &Levels::new(), column.relative_to.as_ref(), &path)?;
    }
    cells(study, experiment, &table.at, table.relative_to.as_ref(), path)?;
    template(study, experiment, table.published.as_deref(), path)
}

/// Every mark has a place on a numeric axis.
fn marks(figure: &FigureSpec) -> Result<(), (&String, Fault)> {
    for (name, place) in &figure.marks {
        if figure.kind != DrawAs::Lines {
            return Err((name, Fault::usage("only figures of lines have marks across")));
        }
        if place.in_base_unit().is_none() {
            return Err((
                name,
                Fault::usage(format!("expected a number with the axis' unit, found `{place}`")),
            ));
        }
    }
    Ok(())
}

fn headline(study: &Study) -> Result<(), Fault> {
    let Some(headline) = &study.headline else { return Ok(()) };
    let experiment = names::find(study, &headline.experiment, "headline.experiment")?;
    let Some(compare) = &experiment.compare else {
        return Err(Fault::usage(format!(
            "the headline is about experiment `{}`, which compares nothing",
            headline.experiment
        ))
        .at(study.written.at("headline"))
        .remedy("give the experiment compare = { factor = \"…\", base = … }"));
    };
    names::level(study, experiment, &compare.factor, &headline.level, "headline.level")?;
    names::levels(study, experiment, &headline.at, "headline.at")
}

fn cells(
    study: &Study,
    experiment: &Experiment,
    at: &Levels,
    relative_to: Option<&Levels>,
    path: &str,
) -> Result<(), Fault> {
    names::places(study, experiment, at, &format!("{path}.where"))?;
    relative_to
        .map_or(Ok(()), |levels| names::places(study, experiment, levels, &format!("{path}.relative_to")))
}

/// Every `{factor}` of a template is a factor.
fn template(study: &Study, experiment: &Experiment, text: Option<&str>, path: &str) -> Result<(), Fault> {
    placeholders(text.unwrap_or_default())
        .into_iter()
        .try_for_each(|name| names::factor(study, experiment, name, &format!("{path}.published")))
}
