//! What of a page fits on a terminal: all its lines are cut to its width, and rows are left out above and below the
//! chosen one.

/// A page: what stays, and a table's rows between.
pub struct Content {
    /// The lines above the rows.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<String>,
    /// The row that must be seen.
    pub chosen: Option<usize>,
    /// The lines below the rows. Where they do not fit, the last one stays.
    pub foot: Vec<String>,
}

/// So many rows stay where the foot is long.
const LEAST_ROWS: usize = 4;

impl Content {
    /// The lines that fit on a terminal of so many columns and lines. The last line is left free: there the cursor
    /// stands after the others.
    pub fn frame(&self, columns: usize, lines: usize) -> Vec<String> {
        let free = lines.saturating_sub(1);
        let least = self.rows.len().min(LEAST_ROWS);
        let foot = shortened(&self.foot, free.saturating_sub(self.head.len() + least));
        let rows = self.window(free.saturating_sub(self.head.len() + foot.len()));
        let all = self.head.iter().cloned().chain(rows).chain(foot.into_iter().cloned());
        all.take(free).map(|line| line.chars().take(columns).collect()).collect()
    }

    /// The rows around the chosen one that fit into so many lines; the last line says which these are.
    fn window(&self, room: usize) -> Vec<String> {
        let all = self.rows.len();
        if all <= room {
            return self.rows.clone();
        }
        let shown = room.saturating_sub(1);
        let first = self.chosen.unwrap_or(0).saturating_sub(shown / 2).min(all - shown);
        let mut rows = self.rows[first..first + shown].to_vec();
        if room > 0 {
            rows.push(format!("  groups {} to {} of {all}", first + 1, first + shown));
        }
        rows
    }
}

/// Lines without those before the last one that do not fit.
fn shortened(lines: &[String], room: usize) -> Vec<&String> {
    let mut lines: Vec<&String> = lines.iter().collect();
    if lines.len() > room {
        lines.drain(room.saturating_sub(1)..lines.len() - 1);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(rows: usize, chosen: Option<usize>, foot: usize) -> Content {
        let numbered = |what: &str, count| (0..count).map(|number| format!("{what}{number}")).collect();
        Content {
            head: vec!["head".into()],
            rows: numbered("row", rows),
            chosen,
            foot: numbered("foot", foot),
        }
    }

    #[test]
    fn what_fits_is_whole() {
        assert_eq!(content(2, None, 1).frame(80, 24), ["head", "row0", "row1", "foot0"]);
        assert_eq!(content(2, None, 1).frame(80, 5), ["head", "row0", "row1", "foot0"]);
        assert_eq!(content(0, None, 1).frame(80, 24), ["head", "foot0"]);
    }

    #[test]
    fn rows_around_the_chosen_one_are_shown() {
        let frame = |chosen| content(36, chosen, 1).frame(80, 8);
        assert_eq!(frame(None), ["head", "row0", "row1", "row2", "row3", "  groups 1 to 4 of 36", "foot0"]);
        assert_eq!(
            frame(Some(20)),
            ["head", "row18", "row19", "row20", "row21", "  groups 19 to 22 of 36", "foot0"]
        );
        assert_eq!(frame(Some(35))[4..], ["row35", "  groups 33 to 36 of 36", "foot0"]);
    }

    #[test]
    fn a_long_foot_leaves_rows_and_its_last_line() {
        let frame = content(36, Some(9), 20).frame(80, 10);
        assert_eq!(
            frame,
            ["head", "row8", "row9", "row10", "  groups 9 to 11 of 36", "foot0", "foot1", "foot2", "foot19"]
        );
    }

    #[test]
    fn no_frame_is_larger_than_its_terminal() {
        for rows in [0_usize, 1, 5, 36, 1000] {
            for chosen in [None, Some(0), Some(rows / 2), rows.checked_sub(1)] {
                for (foot, columns, lines) in
                    [(0, 1, 1), (3, 0, 0), (9, 3, 2), (9, 80, 24), (30, 80, 24), (2, 7, 5)]
                {
                    let frame = content(rows, chosen, foot).frame(columns, lines);
                    assert!(frame.len() <= lines.saturating_sub(1), "{rows} {foot} {lines}");
                    assert!(frame.iter().all(|line| line.chars().count() <= columns));
                    let seen =
                        chosen.filter(|at| *at < rows).is_none_or(|at| frame.contains(&format!("row{at}")));
                    assert!(seen || lines < 24, "row {chosen:?} of {rows} is not on {frame:?}");
                }
            }
        }
    }
}
