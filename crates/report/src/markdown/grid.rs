//! Markdown tables.

/// A table of escaped cells. `right` says which columns are aligned to the right.
pub fn grid(head: &[String], right: &[bool], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> =
        right.iter().map(|right| if *right { "---:".into() } else { "---".into() }).collect();
    line(head) + &line(&rule) + &rows.iter().map(|row| line(row)).collect::<String>() + "\n"
}
