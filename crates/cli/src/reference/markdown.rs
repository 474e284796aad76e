//! Pieces of Markdown: tables, text, code.

/// A table with a head and rows; empty without rows.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.into_iter().map(|row| line(&row.map(|cell| cell_text(&cell)))).collect();
    if rows.is_empty() {
        return String::new();
    }
    line(&head.map(String::from)) + &line(&[const { "---" }; N].map(String::from)) + &rows
}

/// The text of a cell: one line, with bars escaped.
fn cell_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Text outside of code, with tags and stars escaped.
pub fn prose(text: &str) -> String {
    let shown = |(at, part): (usize, &str)| match at % 2 {
        0 => part.replace('<', "&lt;").replace('*', "\\*"),
        _ => part.to_string(),
    };
    text.split('`').enumerate().map(shown).collect::<Vec<_>>().join("`")
}

/// A word as code.
pub fn code(word: &str) -> String {
    format!("`{word}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_ends_of_lines_in_cells_are_escaped() {
        let rows = [[code("a|b"), "two\n lines".to_string()]];
        assert_eq!(
            table(["name", "meaning"], rows),
            "| name | meaning |\n| --- | --- |\n| `a\\|b` | two lines |\n"
        );
        assert_eq!(table(["name"], []), "");
    }

    #[test]
    fn text_is_escaped_outside_of_code() {
        assert_eq!(prose("a <b> `<c>` *d*"), "a &lt;b> `<c>` \\*d\\*");
    }
}
