//! Tables, ready to print.

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};

use super::figures::{value, words};
use super::lookup::Lookup;
use super::select::View;
use super::{estimate, level};
use crate::file::TableSpec;
use crate::findings::{Table, TableCell};

/// The table that `spec` asks for: a row for each level of one factor, and either a column for
/// each of another with what was published beside it, or the columns that are listed.
pub fn table(view: &View, name: &str, spec: &TableSpec, published: &Lookup) -> Table {
    let columns = columns(view, spec);
    let heads = std::iter::once(words(&spec.rows)).chain(columns.iter().map(|column| column.head.clone()));
    let row = |level: &Option<Value>| {
        let down: Levels = level.iter().map(|level| (spec.rows.clone(), level.clone())).collect();
        let cell = |column: &Column| {
            let at = level::with(&level::with(&spec.at, &column.at), &down);
            match &column.shows {
                Shows::Found(metric) => found(view, spec, metric, &at),
                Shows::Printed(template) => printed(view, spec, published, template, &at),
            }
        };
        let name = level.as_ref().map_or(String::new(), ToString::to_string);
        std::iter::once(TableCell::Text(name)).chain(columns.iter().map(cell)).collect()
    };
    Table {
        name: name.to_string(),
        title: spec.title.clone(),
        caption: spec.caption.clone(),
        columns: heads.collect(),
        rows: rows(view, spec).iter().map(row).collect(),
    }
}

/// The levels down; one that is none where there is no factor.
fn rows(view: &View, spec: &TableSpec) -> Vec<Option<Value>> {
    match spec.rows.as_str() {
        "" => vec![None],
        rows => view.levels_of(rows, &spec.at).into_iter().map(Some).collect(),
    }
}

/// A column.
struct Column<'a> {
    head: String,
    at: Levels,
    shows: Shows<'a>,
}

/// What stands in it.
enum Shows<'a> {
    /// What was found of a metric.
    Found(&'a str),
    /// What was published with the id that this makes.
    Printed(&'a str),
}

fn columns<'a>(view: &View, spec: &'a TableSpec) -> Vec<Column<'a>> {
    let listed = spec.column.iter().filter_map(|column| {
        let found = column.metric.as_deref().map(Shows::Found);
        let shows = found.or(column.published.as_deref().map(Shows::Printed))?;
        Some(Column { head: column.title.clone(), at: Levels::new(), shows })
    });
    let levels = match spec.columns.as_str() {
        "" => Vec::new(),
        columns => view.levels_of(columns, &spec.at),
    };
    let across = levels.into_iter().flat_map(|level| {
        let head = format!("{} {level}", words(&spec.columns));
        let at = Levels::from([(spec.columns.clone(), level)]);
        let printed = spec.published.as_deref().map(|template| Column {
            head: format!("{head}, published"),
            at: at.clone(),
            shows: Shows::Printed(template),
        });
        std::iter::once(Column { head, at, shows: Shows::Found(&spec.metric) }).chain(printed)
    });
    listed.chain(across).collect()
}

fn found(view: &View, spec: &TableSpec, metric: &str, at: &Levels) -> TableCell {
    match value(view, metric, at, spec.relative_to.as_ref()) {
        Some((estimate, origin)) => TableCell::Number { estimate, unit: unit(view, spec, metric), origin },
        None => TableCell::Text(if view.units(at).is_empty() { "not run" } else { "no data" }.into()),
    }
}

fn printed(view: &View, spec: &TableSpec, published: &Lookup, template: &str, at: &Levels) -> TableCell {
    // Beside a metric it is of that metric's unit; in a column of its own, of its own, or in words.
    if !spec.column.is_empty() {
        return published.as_printed(template, at, &spec.published_as);
    }
    match published.at(template, at, &spec.published_as, spec.relative_to.as_ref()) {
        Some(value) => TableCell::Number {
            estimate: estimate::published(value),
            unit: unit(view, spec, &spec.metric),
            origin: Origin::Published,
        },
        None => TableCell::Text("–".into()),
    }
}

fn unit(view: &View, spec: &TableSpec, metric: &str) -> String {
    if spec.relative_to.is_some() { "ratio".into() } else { view.metric(metric).unit }
}
