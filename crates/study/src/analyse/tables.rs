//! Tables, ready to print.

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};

use super::data::Data;
use super::lookup::Lookup;
use super::select::View;
use super::shown::value;
use crate::catalogue::Catalogues;
use crate::file::{Study, TableSpec};
use crate::findings::{Table, TableCell};
use crate::words::named;
use crate::{estimate, level};

/// Every table that the study asks for and that has rows, in their order.
pub fn all(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Table> {
    let mut specs: Vec<_> = study.table.iter().collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let made = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(table(&view, name, spec, &Lookup(catalogues)))
    });
    made.filter(|table| !table.rows.is_empty()).collect()
}

/// The table that `spec` asks for: a row for each level of one factor, or combination of several, and either a column for
/// each of another with what was published beside it, or the columns that are listed.
fn table(view: &View, name: &str, spec: &TableSpec, published: &Lookup) -> Table {
    let columns = columns(view, spec);
    let factors = spec.rows.all();
    // Where no factor goes down, there still is a column for the name of the one row.
    let heads: Vec<String> = match factors {
        [] => vec![String::new()],
        factors => factors.iter().map(|factor| named(factor)).collect(),
    };
    let heads = heads.into_iter().chain(columns.iter().map(|column| column.head.clone()));
    let row = |row: &Vec<Value>| {
        let down: Levels = factors.iter().cloned().zip(row.iter().cloned()).collect();
        let cell = |column: &Column| {
            let at = level::with(&level::with(&spec.at, &column.at), &down);
            match &column.shows {
                Shows::Found(metric, base) => found(view, metric, &at, *base),
                Shows::Printed(template) => printed(view, spec, published, template, &at),
            }
        };
        let names = (0..factors.len().max(1)).map(|place| row.get(place));
        let names = names.map(|level| level.map_or(String::new(), ToString::to_string));
        names.map(TableCell::Text).chain(columns.iter().map(cell)).collect()
    };
    Table {
        name: name.to_string(),
        title: spec.title.clone(),
        caption: spec.caption.clone(),
        columns: heads.collect(),
        rows: rows(view, spec).iter().map(row).collect(),
    }
}

/// The levels down, the last factor's changing first; one row of none where there is no factor.
fn rows(view: &View, spec: &TableSpec) -> Vec<Vec<Value>> {
    let factors = spec.rows.all();
    factors.iter().enumerate().fold(vec![Vec::new()], |rows, (place, factor)| {
        let longer = |row: Vec<Value>| {
            let known = factors[..place].iter().cloned().zip(row.iter().cloned()).collect();
            let levels = view.levels_of(factor, &level::with(&spec.at, &known));
            levels.into_iter().map(move |level| row.iter().cloned().chain([level]).collect())
        };
        rows.into_iter().flat_map(longer).collect()
    })
}

/// A column.
struct Column<'a> {
    head: String,
    at: Levels,
    shows: Shows<'a>,
}

/// What stands in it.
enum Shows<'a> {
    /// What was found of a metric, over that at other levels where they are given.
    Found(&'a str, Option<&'a Levels>),
    /// What was published with the id that this makes.
    Printed(&'a str),
}

fn columns<'a>(view: &View, spec: &'a TableSpec) -> Vec<Column<'a>> {
    let listed = spec.column.iter().filter_map(|column| {
        let base = column.relative_to.as_ref().or(spec.relative_to.as_ref());
        let found = column.metric.as_deref().map(|metric| Shows::Found(metric, base));
        let shows = found.or(column.published.as_deref().map(Shows::Printed))?;
        Some(Column { head: column.title.clone(), at: Levels::new(), shows })
    });
    let levels = match spec.columns.as_str() {
        "" => Vec::new(),
        columns => view.levels_of(columns, &spec.at),
    };
    let across = levels.into_iter().flat_map(|level| {
        let head = format!("{} {level}", named(&spec.columns));
        let at = Levels::from([(spec.columns.clone(), level)]);
        let printed = spec.published.as_deref().map(|template| Column {
            head: format!("{head}, published"),
            at: at.clone(),
            shows: Shows::Printed(template),
        });
        std::iter::once(Column { head, at, shows: Shows::Found(&spec.metric, spec.relative_to.as_ref()) })
            .chain(printed)
    });
    listed.chain(across).collect()
}

fn found(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> TableCell {
    match value(view, metric, at, base) {
        Some((estimate, origin)) => TableCell::Number { estimate, unit: unit(view, metric, base), origin },
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
            unit: unit(view, &spec.metric, spec.relative_to.as_ref()),
            origin: Origin::Published,
        },
        None => TableCell::Text("–".into()),
    }
}

fn unit(view: &View, metric: &str, base: Option<&Levels>) -> String {
    if base.is_some() { "ratio".into() } else { view.metric(metric).unit }
}
