//! A table of findings. A column's origin is in its head where all of its numbers share one, else next to each number.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Table, TableCell};
use crosstalk_study::number;

use super::escape::{Prose, Text};
use crate::summary;

/// The longest text that is kept on one line, in characters.
const SHORT: usize = 20;

/// The table with its title and caption.
pub fn table(table: &Table) -> String {
    let width = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    let origins: Vec<Option<Origin>> = (0..width).map(|column| shared_origin(table, column)).collect();
    let head: String = (0..width).map(|column| head(table, column, origins[column])).collect();
    let numeric: Vec<bool> = (0..width).map(|column| numeric(table, column)).collect();
    let body: String = table.rows.iter().map(|row| body(row, &origins, &numeric)).collect();
    format!(
        r#"<div class="table"><h3>{title}</h3><div class="scroll" tabindex="0" role="region" aria-label="{title}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div><p class="caption">{}</p></div>"#,
        Prose(&table.caption),
        title = Text(&table.title),
    ) + "\n"
}

/// The origin of all numbers in a column; `None` where they differ or there are none.
pub fn shared_origin(table: &Table, column: usize) -> Option<Origin> {
    summary::shared_origin(table.rows.iter().filter_map(|row| row.get(column)))
}

fn head(table: &Table, column: usize, origin: Option<Origin>) -> String {
    let title = table.columns.get(column).map_or("", String::as_str);
    let class = if numeric(table, column) { r#" class="n""# } else { "" };
    // A head that names the origin need not name it twice.
    let origin = origin.map(Origin::word).filter(|word| !title.contains(word));
    let origin = origin.map_or(String::new(), |word| format!(r#" <span class="origin">{word}</span>"#));
    format!(r#"<th scope="col"{class}>{}{origin}</th>"#, Text(title))
}

/// Whether there is any number in a column.
fn numeric(table: &Table, column: usize) -> bool {
    table.rows.iter().any(|row| matches!(row.get(column), Some(TableCell::Number { .. })))
}

fn body(row: &[TableCell], origins: &[Option<Origin>], numeric: &[bool]) -> String {
    let cell = |(column, cell): (usize, &TableCell)| match cell {
        TableCell::Text(text) if column == 0 => format!(r#"<th scope="row">{}</th>"#, Text(text)),
        TableCell::Text(text) => {
            // Text in a column of numbers is aligned like a number; short text stays on one line.
            let class = match text.chars().count() <= SHORT {
                true if numeric[column] => r#" class="n""#,
                true => r#" class="short""#,
                false => "",
            };
            format!("<td{class}>{}</td>", Prose(text))
        }
        TableCell::Number { estimate, unit, origin } => {
            let ends = number::format_interval(estimate, unit);
            let ends = ends.map_or(String::new(), |e| format!(r#" <span class="ends">{}</span>"#, Text(&e)));
            let origin = match origins[column] {
                Some(_) => String::new(),
                None => format!(r#" <span class="origin">{}</span>"#, origin.word()),
            };
            format!(r#"<td class="n">{}{ends}{origin}</td>"#, Text(&number::value(estimate, unit)))
        }
    };
    format!("<tr>{}</tr>", row.iter().enumerate().map(cell).collect::<String>())
}
