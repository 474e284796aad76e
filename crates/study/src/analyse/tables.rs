//! Tables, ready to print.

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};

use super::figures::{value, words};
use super::lookup::Lookup;
use super::select::View;
use super::{estimate, level};
use crate::file::TableSpec;
use crate::findings::{Table, TableCell};

/// The table that `spec` asks for: a row for each level of one factor, a
/// column for each of the other, and beside it one for what was published.
pub fn table(view: &View, name: &str, spec: &TableSpec, published: &Lookup) -> Table {
    let across = view.levels_of(&spec.columns, &spec.at);
    let mut columns = vec![words(&spec.rows)];
    for level in &across {
        columns.push(format!("{} {level}", words(&spec.columns)));
        if spec.published.is_some() {
            columns.push(format!("{} {level}, published", words(&spec.columns)));
        }
    }
    let rows = view.levels_of(&spec.rows, &spec.at);
    let row = |level: &Value| {
        let mut cells = vec![TableCell::Text(level.to_string())];
        for column in &across {
            let own = [(spec.rows.clone(), level.clone()), (spec.columns.clone(), column.clone())];
            let at = level::with(&spec.at, &Levels::from(own));
            cells.push(found(view, spec, &at));
            if let Some(template) = &spec.published {
                cells.push(printed(view, spec, published, template, &at));
            }
        }
        cells
    };
    Table {
        name: name.to_string(),
        title: spec.title.clone(),
        caption: spec.caption.clone(),
        columns,
        rows: rows.iter().map(row).collect(),
    }
}

fn found(view: &View, spec: &TableSpec, at: &Levels) -> TableCell {
    match value(view, &spec.metric, at, spec.relative_to.as_ref()) {
        Some((estimate, origin)) => TableCell::Number { estimate, unit: unit(view, spec), origin },
        None => TableCell::Text(if view.units(at).is_empty() { "not run" } else { "no data" }.into()),
    }
}

fn printed(view: &View, spec: &TableSpec, published: &Lookup, template: &str, at: &Levels) -> TableCell {
    match published.at(template, at, &spec.published_as, spec.relative_to.as_ref()) {
        Some(value) => TableCell::Number {
            estimate: estimate::published(value),
            unit: unit(view, spec),
            origin: Origin::Published,
        },
        None => TableCell::Text("–".into()),
    }
}

fn unit(view: &View, spec: &TableSpec) -> String {
    if spec.relative_to.is_some() { "ratio".into() } else { view.metric(&spec.metric).unit }
}
