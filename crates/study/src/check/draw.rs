//! Checks figures, tables and the headline against their experiments.

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
    if !figure.kind.is_of_two_metrics() {
        across(study, experiment, figure, &figure.x, &format!("{path}.x"))?;
    }
    series(study, experiment, figure, &format!("{path}.series"))?;
    without_extras(figure).map_err(|(key, fault)| {
        fault.at(study.key_lines.location_of(&format!("{path}.{key}"))).remedy(format!("leave `{key}` out"))
    })?;
    if let Some(axis) = figure.log.iter().find(|axis| !["x", "y"].contains(&axis.as_str())) {
        return Err(unknown("axis", axis, ["x", "y"]).at(study.key_lines.location_of(&format!("{path}.log"))));
    }
    marks(figure)
        .map_err(|(name, fault)| fault.at(study.key_lines.location_of(&format!("{path}.marks.{name}"))))?;
    cells(study, experiment, &figure.at, figure.relative_to.as_ref(), path)?;
    template(study, experiment, figure.published.as_deref(), path)
}

/// Refuses a key that this kind of figure has no place for.
fn without_extras(figure: &FigureSpec) -> Result<(), (&'static str, Fault)> {
    if figure.kind.of_parts() && !figure.also.is_empty() {
        return Err(("also", Fault::usage("a figure of the parts of the time has no further metrics")));
    }
    let two = figure.kind.is_of_two_metrics();
    if two && !figure.also.is_empty() {
        return Err(("also", Fault::usage("a frontier or a fit is of two metrics")));
    }
    if two && figure.published.is_some() {
        return Err(("published", Fault::usage("published values have no place in a frontier or a fit")));
    }
    Ok(())
}

/// Checks a factor or label of a figure. Parts of the time take factors only: a cell has them once.
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

/// Checks what makes the series: a factor, the metrics, or the nodes.
fn series(study: &Study, experiment: &Experiment, figure: &FigureSpec, path: &str) -> Result<(), Fault> {
    match (figure.kind, figure.series.is_empty()) {
        (DrawAs::Nodes, true) => Ok(()),
        (DrawAs::Nodes, false) => Err(Fault::usage("the bars of a figure of nodes are the nodes")
            .at(study.key_lines.location_of(path))
            .remedy("leave `series` out")),
        (_, true) if !figure.also.is_empty() => Ok(()),
        (_, true) => Err(Fault::usage("missing `series`")
            .at(study.key_lines.location_of(path))
            .remedy("name the factor whose levels make the series")),
        (DrawAs::Frontier | DrawAs::Fit, false) => {
            figure.series.all().iter().try_for_each(|name| names::axis(study, experiment, name, path))
        }
        (_, false) => match figure.series.all() {
            [name] => across(study, experiment, figure, name, path),
            _ => Err(Fault::usage("several factors make the points of a frontier or a fit only")
                .at(study.key_lines.location_of(path))
                .remedy("name one factor, and levels of the others in `where`")),
        },
    }
}

fn table(study: &Study, path: &str, table: &TableSpec) -> Result<(), Fault> {
    let experiment = names::find(study, &table.experiment, &format!("{path}.experiment"))?;
    for rows in table.rows.all() {
        names::axis(study, experiment, rows, &format!("{path}.rows"))?;
    }
    let both = Fault::usage("expected `metric` and `columns`, or a list of `column`")
        .at(study.key_lines.location_of(path));
    match (table.metric.is_empty(), table.columns.is_empty(), table.column.is_empty()) {
        (false, false, true) => names::axis(study, experiment, &table.columns, &format!("{path}.columns"))?,
        (true, true, false) => {}
        _ => return Err(both.remedy("give a metric and the factor across, or each column by itself")),
    }
    for (index, column) in table.column.iter().enumerate() {
        let path = format!("{path}.column.{index}");
        if column.metric.is_some() == column.published.is_some() {
            return Err(Fault::usage(format!(
                "expected a metric or published values in column `{}`",
                column.title
            ))
            .at(study.key_lines.location_of(&path))
            .remedy("give one of: metric, published"));
        }
        template(study, experiment, column.published.as_deref(), &path)?;
        cells(study, experiment, &Levels::new(), column.relative_to.as_ref(), &path)?;
    }
    cells(study, experiment, &table.at, table.relative_to.as_ref(), path)?;
    template(study, experiment, table.published.as_deref(), path)
}

/// Refuses a mark without a place on a numeric axis.
fn marks(figure: &FigureSpec) -> Result<(), (&String, Fault)> {
    for (name, position) in &figure.marks {
        if figure.kind != DrawAs::Lines {
            return Err((name, Fault::usage("only figures of lines have marks across")));
        }
        if position.in_base_unit().is_none() {
            return Err((
                name,
                Fault::usage(format!("expected a number with the axis' unit, found `{position}`")),
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
        .at(study.key_lines.location_of("headline"))
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
    names::factor_levels(study, experiment, at, &format!("{path}.where"))?;
    relative_to.map_or(Ok(()), |levels| {
        names::factor_levels(study, experiment, levels, &format!("{path}.relative_to"))
    })
}

/// Refuses a template with a `{factor}` that is no factor.
fn template(study: &Study, experiment: &Experiment, text: Option<&str>, path: &str) -> Result<(), Fault> {
    placeholders(text.unwrap_or_default())
        .into_iter()
        .try_for_each(|name| names::factor(study, experiment, name, &format!("{path}.published")))
}
