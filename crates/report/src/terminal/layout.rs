//! Wrapped lines and tables for a terminal, by displayed width.

use crosstalk_core::quote::is_control;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::readable::unbroken;

/// The least width to which a column may be reduced.
const LEAST: usize = 9;
/// The gap between columns.
const GAP: usize = 2;

/// Text without control characters and variation selectors. Nothing in a name can then move the cursor, change colours or
/// reverse the text, and a character's width does not depend on the next.
pub fn without_controls(text: &str) -> String {
    let silent = |c: char| is_control(c) || matches!(c, '\u{fe00}'..='\u{fe0f}');
    text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !silent(*c)).collect()
}

/// Lines of at most `width` columns. Longer words are cut, and a number stays on the line of its unit.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let text = unbroken(&without_controls(text)).replace(" %", "\u{a0}%").replace(" ×", "\u{a0}×");
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = word.width();
        if used > 0 && used + 1 + long <= width {
            push(&mut lines, &mut used, ' ');
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used > 0 && used + wide > width {
                lines.push(String::new());
                used = 0;
            }
            // A double-width character has no place in a single column.
            push(&mut lines, &mut used, if wide > width { '?' } else { c });
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

fn push(lines: &mut [String], used: &mut usize, c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
        *used += c.width().unwrap_or(0);
    }
}

/// A bar of `share` of `width` columns, to an eighth of a column, and the blanks that fill the rest.
pub fn bar(share: f64, width: usize) -> (String, String) {
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * width as f64).round().max(1.0) as usize;
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    let bar = "█".repeat(eighths / 8) + part;
    let blank = " ".repeat(width.saturating_sub(bar.width()));
    (bar, blank)
}

/// The head of a table's column, and how its cells are aligned.
pub struct Column {
    /// The head.
    pub head: String,
    /// Whether it is aligned to the right.
    pub right: bool,
}

/// A table as lines; `None` where it does not fit into `width` even with the narrowest columns. `paint` colours a cell's text,
/// given its row and column; heads have no row.
pub fn table(
    columns: &[Column],
    rows: &[Vec<String>],
    width: usize,
    paint: &dyn Fn(Option<usize>, usize, &str) -> String,
) -> Option<Vec<String>> {
    let widths = widths(columns, rows, width)?;
    let heads: Vec<&str> = columns.iter().map(|c| c.head.as_str()).collect();
    let mut lines = row(&heads, columns, &widths, &|column, text| paint(None, column, text));
    for (index, cells) in rows.iter().enumerate() {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        lines.extend(row(&cells, columns, &widths, &|column, text| paint(Some(index), column, text)));
    }
    Some(lines)
}

/// The columns' natural widths; where these do not fit, the widest columns are reduced.
fn widths(columns: &[Column], rows: &[Vec<String>], width: usize) -> Option<Vec<usize>> {
    let natural = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| without_controls(cell).width());
        cells.chain([without_controls(&columns[i].head).width()]).max().unwrap_or(0).max(1)
    };
    // A broken number would read as another number: its column has the width of its longest piece.
    let least = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).filter(|_| columns[i].right);
        let pieces = cells.flat_map(|cell| wrap(cell, 1_000)).flat_map(|line| {
            let line = unbroken(&line).replace(" %", "_%").replace(" ×", "_×");
            line.split(' ').map(str::width).collect::<Vec<_>>()
        });
        pieces.max().unwrap_or(0).max(LEAST)
    };
    let least: Vec<usize> = (0..columns.len()).map(least).collect();
    let mut widths: Vec<usize> = (0..columns.len()).map(natural).collect();
    let room = width.checked_sub(GAP * columns.len().saturating_sub(1))?;
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let (column, widest) =
            widths.iter().copied().enumerate().filter(|(i, w)| *w > least[*i]).max_by_key(|(_, w)| *w)?;
        let next = widths.iter().copied().filter(|w| *w < widest).max().unwrap_or(0).max(least[column]);
        let share = excess.min(widest - next);
        widths[column] -= share;
        excess -= share;
    }
    Some(widths)
}

fn row(
    cells: &[&str],
    columns: &[Column],
    widths: &[usize],
    paint: &dyn Fn(usize, &str) -> String,
) -> Vec<String> {
    let wrapped: Vec<Vec<String>> =
        (0..columns.len()).map(|i| wrap(cells.get(i).unwrap_or(&""), widths[i])).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |n: usize| {
        let cell = |i: usize| {
            let text = wrapped[i].get(n).map_or("", String::as_str);
            let blank = " ".repeat(widths[i].saturating_sub(text.width()));
            let painted = if text.is_empty() { String::new() } else { paint(i, text) };
            if columns[i].right { blank + &painted } else { painted + &blank }
        };
        (0..columns.len()).map(cell).collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_string()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(heads: &[&str]) -> Vec<Column> {
        heads.iter().enumerate().map(|(i, head)| Column { head: head.to_string(), right: i > 0 }).collect()
    }

    #[test]
    fn a_table_aligns_and_reduces_its_widest_column() {
        let rows = vec![vec!["microblade".to_string(), "1.26 ×".to_string()]];
        let plain = |_: Option<usize>, _: usize, text: &str| text.to_string();
        let lines = table(&columns(&["system", "ratio"]), &rows, 40, &plain).expect("fits");
        assert_eq!(lines, ["system       ratio", "microblade  1.26 ×"]);
        let lines = table(&columns(&["system", "ratio"]), &rows, 17, &plain).expect("fits when squeezed");
        assert_eq!(lines, ["system      ratio", "microblad  1.26 ×", "e"]);
        let number = vec![vec!["waiting for long".to_string(), "2.83 × (2.59–2.97)".to_string()]];
        let lines = table(&columns(&["what", "ratio"]), &number, 22, &plain).expect("fits when squeezed");
        assert_eq!(lines, ["what             ratio", "waiting         2.83 ×", "for long   (2.59–2.97)"]);
        assert!(table(&columns(&["what", "ratio"]), &number, 20, &plain).is_none(), "rather than break it");
        assert_eq!(wrap("wait 92 %", 7), ["wait", "92 %"]);
        assert!(table(&columns(&["a long head", "another long head"]), &rows, 12, &plain).is_none());
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(without_controls("a\u{1b}[31mb\r\nc"), "a[31mb  c");
        assert_eq!(without_controls("*\u{fe0f}\u{202e}x"), "*x");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(text in "\\PC{0,80}", width in 1usize..60) {
            for line in wrap(&text, width) {
                prop_assert!(line.width() <= width.max(1), "{line:?}");
            }
        }
    }
}
