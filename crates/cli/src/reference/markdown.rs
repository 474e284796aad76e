//! Words as they stand in Markdown.

/// A table: its head, and its rows. Nothing where there is no row.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.into_iter().map(|row| line(&row.map(|cell| cell_text(&cell)))).collect();
    if rows.is_empty() {
        return String::new();
    }
    line(&head.map(String::from)) + &line(&[const { "---" }; N].map(String::from)) + &rows
}

/// Text that stays within its cell: one line, and no bar that would end it.
fn cell_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Text outside of code: what looks like a tag is shown.
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
    fn a_table_keeps_its_cells_apart() {
        let rows = [[code("a|b"), "two\n lines".to_string()]];
        assert_eq!(
            table(["name", "meaning"], rows),
            "| name | meaning |\n| --- | --- |\n| `a\\|b` | two lines |\n"
        );
        assert_eq!(table(["name"], []), "");
    }

    #[test]
    fn only_code_is_left_as_it_is() {
        assert_eq!(prose("a <b> `<c>` *d*"), "a &lt;b> `<c>` \\*d\\*");
    }
}
