//! Tables, ready to print.

use crosstalk_core::record::Origin;
use crosstalk_core::value::{Levels, Value};

use super::cell_value::mean_at;
use super::data::{Data, Experiment};
use super::lookup::PublishedNumbers;
use super::select::View;
use crate::catalogue::Catalogues;
use crate::file::{ColumnSpec, Names, Study, TableSpec};
use crate::findings::{Table, TableCell};
use crate::words::readable_name;
use crate::{estimate, level};

/// Every table that the study asks for and that has rows, in their order. A study that asks for nothing at all has a table
/// of each experiment's cells.
pub fn all_tables(study: &Study, catalogues: &Catalogues, data: &Data) -> Vec<Table> {
    let of_cells = if asks_for_nothing(study) { specs_of_cells(study, data) } else { Vec::new() };
    let mut specs: Vec<_> =
        study.table.iter().chain(of_cells.iter().map(|(name, spec)| (name, spec))).collect();
    specs.sort_by_key(|(name, spec)| (spec.order, name.as_str()));
    let all = specs.into_iter().filter_map(|(name, spec)| {
        let view = View::new(data, &study.experiment, &spec.experiment)?;
        Some(table(&view, name, spec, &PublishedNumbers(catalogues)))
    });
    all.filter(|table| !table.rows.is_empty()).collect()
}

fn asks_for_nothing(study: &Study) -> bool {
    let compared = study.experiment.values().any(|experiment| experiment.compare.is_some());
    !compared && study.claim.is_empty() && study.table.is_empty()
}

/// A table of the deciding metric for each experiment with several cells: a row for each cell.
fn specs_of_cells(study: &Study, data: &Data) -> Vec<(String, TableSpec)> {
    let spec = |(order, experiment): (usize, &Experiment)| {
        let view = View::new(data, &study.experiment, experiment.name())?;
        let metric = view.deciding_metric().filter(|_| experiment.cells.len() > 1)?;
        let title = Some(&view.written.title).filter(|title| !title.is_empty());
        let spec = TableSpec {
            title: title.map_or(experiment.name(), String::as_str).to_string(),
            caption: String::new(),
            order: order as u32,
            experiment: experiment.name().to_string(),
            metric: String::new(),
            rows: Names::Several(experiment.cells[0].levels().keys().cloned().collect()),
            columns: String::new(),
            column: vec![ColumnSpec {
                title: readable_name(metric),
                metric: Some(metric.to_string()),
                published: None,
                relative_to: None,
            }],
            at: Levels::new(),
            relative_to: None,
            published: None,
            published_as: Default::default(),
        };
        Some((format!("cells-{}", experiment.name()), spec))
    };
    data.experiments.iter().enumerate().filter_map(spec).collect()
}

/// The table that `spec` describes. It has a row for each level of one factor or each combination of several. Its columns
/// are listed, or one for each level of another factor, with the published values next to it.
fn table(view: &View, name: &str, spec: &TableSpec, published: &PublishedNumbers) -> Table {
    let columns = columns(view, spec);
    let factors = spec.rows.all();
    // Without factors for rows, an empty column still names the one row.
    let heads: Vec<String> = match factors {
        [] => vec![String::new()],
        factors => factors.iter().map(|factor| readable_name(factor)).collect(),
    };
    let heads = heads.into_iter().chain(columns.iter().map(|column| column.head.clone()));
    let row = |row: &Vec<Value>| {
        let down: Levels = factors.iter().cloned().zip(row.iter().cloned()).collect();
        let cell = |column: &Column| {
            let at = level::overlaid(&level::overlaid(&spec.at, &column.at), &down);
            match &column.content {
                Content::Metric(metric, base) => metric_cell(view, metric, &at, *base),
                Content::Published(template) => published_cell(view, spec, published, template, &at),
            }
        };
        let names = (0..factors.len().max(1)).map(|index| row.get(index));
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

/// The levels of each row, the last factor's changing fastest; one row without levels where there is no factor.
fn rows(view: &View, spec: &TableSpec) -> Vec<Vec<Value>> {
    let factors = spec.rows.all();
    factors.iter().enumerate().fold(vec![Vec::new()], |rows, (index, factor)| {
        let longer = |row: Vec<Value>| {
            let known = factors[..index].iter().cloned().zip(row.iter().cloned()).collect();
            let levels = view.levels_of(factor, &level::overlaid(&spec.at, &known));
            levels.into_iter().map(move |level| row.iter().cloned().chain([level]).collect())
        };
        rows.into_iter().flat_map(longer).collect()
    })
}

/// A column.
struct Column<'a> {
    head: String,
    at: Levels,
    content: Content<'a>,
}

/// The content of a column.
enum Content<'a> {
    /// A metric, or its ratio to that at other levels.
    Metric(&'a str, Option<&'a Levels>),
    /// Published values, by a template of their ids.
    Published(&'a str),
}

fn columns<'a>(view: &View, spec: &'a TableSpec) -> Vec<Column<'a>> {
    let listed = spec.column.iter().filter_map(|column| {
        let base = column.relative_to.as_ref().or(spec.relative_to.as_ref());
        let metric = column.metric.as_deref().map(|metric| Content::Metric(metric, base));
        let content = metric.or(column.published.as_deref().map(Content::Published))?;
        Some(Column { head: column.title.clone(), at: Levels::new(), content })
    });
    let levels = match spec.columns.as_str() {
        "" => Vec::new(),
        columns => view.levels_of(columns, &spec.at),
    };
    let across = levels.into_iter().flat_map(|level| {
        let head = format!("{} {level}", readable_name(&spec.columns));
        let at = Levels::from([(spec.columns.clone(), level)]);
        let published = spec.published.as_deref().map(|template| Column {
            head: format!("{head}, published"),
            at: at.clone(),
            content: Content::Published(template),
        });
        std::iter::once(Column {
            head,
            at,
            content: Content::Metric(&spec.metric, spec.relative_to.as_ref()),
        })
        .chain(published)
    });
    listed.chain(across).collect()
}

fn metric_cell(view: &View, metric: &str, at: &Levels, base: Option<&Levels>) -> TableCell {
    match mean_at(view, metric, at, base) {
        Some((estimate, origin)) => TableCell::Number { estimate, unit: unit(view, metric, base), origin },
        None => TableCell::Text(if view.combinations(at).is_empty() { "not run" } else { "no data" }.into()),
    }
}

fn published_cell(
    view: &View,
    spec: &TableSpec,
    published: &PublishedNumbers,
    template: &str,
    at: &Levels,
) -> TableCell {
    // Next to a metric it has that metric's unit. A listed column has the published unit, or words.
    if !spec.column.is_empty() {
        return published.table_cell(template, at, &spec.published_as);
    }
    match published.number_at(template, at, &spec.published_as, spec.relative_to.as_ref()) {
        Some(value) => TableCell::Number {
            estimate: estimate::published_estimate(value),
            unit: unit(view, &spec.metric, spec.relative_to.as_ref()),
            origin: Origin::Published,
        },
        None => TableCell::Text("–".into()),
    }
}

fn unit(view: &View, metric: &str, base: Option<&Levels>) -> String {
    if base.is_some() { "ratio".into() } else { view.metric(metric).unit }
}
