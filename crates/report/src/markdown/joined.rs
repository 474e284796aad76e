//! The tables of two runs of one study as one: each row of the other run stands below the row of the same label.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Table, TableCell};

/// A table with the rows of the other run's table of that name, whose labels end in its name. Columns are found by their heads;
/// one that the other run lacks, and one of published numbers, which are the same, stays empty in its rows.
pub fn joined(table: &Table, name: &str, others: &[Table]) -> Table {
    let mut all = table.clone();
    let Some(other) = others.iter().find(|other| other.name == table.name) else { return all };
    all.rows.clear();
    let mut left: Vec<&Vec<TableCell>> = other.rows.iter().collect();
    let row = |of: &Vec<TableCell>| in_columns(of, &other.columns, &table.columns, name);
    for own in &table.rows {
        all.rows.push(own.clone());
        let same = left.iter().position(|of| of.first() == own.first());
        all.rows.extend(same.map(|at| row(left.remove(at))));
    }
    all.rows.extend(left.into_iter().map(row));
    all
}

/// The other run's row under the heads of this one's columns.
fn in_columns(row: &[TableCell], heads: &[String], columns: &[String], name: &str) -> Vec<TableCell> {
    let label = match row.first() {
        Some(TableCell::Text(label)) => format!("{label}, {name}"),
        _ => name.to_string(),
    };
    let cell = |at: usize| {
        // The first, second … column of this head.
        let nth = columns[..at].iter().filter(|head| **head == columns[at]).count();
        let mut same = (0..heads.len()).filter(|other| heads[*other] == columns[at]);
        match same.nth(nth).and_then(|other| row.get(other)) {
            Some(TableCell::Number { origin: Origin::Published, .. }) | None => TableCell::Text("-".into()),
            Some(cell) => cell.clone(),
        }
    };
    std::iter::once(TableCell::Text(label)).chain((1..columns.len()).map(cell)).collect()
}
