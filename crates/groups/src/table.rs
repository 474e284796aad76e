//! A table for people: columns as wide as their widest cell.

/// The lines of a table. The first column is text, the others end at the same column.
pub fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: &[String; N]| {
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("{cell:<0$}", widths[column]),
            _ => format!("{cell:>0$}", widths[column]),
        };
        let cells: Vec<String> = cells.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_string()
    };
    let head = head.map(str::to_string);
    std::iter::once(&head).chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["lab".to_string(), "12 MiB".into()], ["lab/alice".into(), "–".into()]];
        assert_eq!(
            table(["group", "memory"], &rows),
            ["group      memory", "lab        12 MiB", "lab/alice       –"]
        );
        assert_eq!(table(["group", "memory"], &[]), ["group  memory"]);
    }
}
