//! The report for the terminal: the deciding sentence, comparisons, claims and small tables, in the terminal's width.

mod layout;
mod shell;

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{ClaimFinding, Comparison, Findings, Table, TableCell};
use crosstalk_study::number;

use crate::summary::{self, Fact};
use crate::words::{self, Tone, Verdict};
use crate::{claims, plot};
pub use layout::wrap;
use layout::{Column, without_controls};
use unicode_width::UnicodeWidthStr;

/// The fewest columns of a layout.
const NARROWEST: usize = 20;
/// The most rows of a table, comparisons and warnings that are shown; the other renderings have all.
const MOST_ROWS: usize = 12;
/// The columns of the longest bar, at most and at least: with less room there are no bars.
const LONGEST_BAR: usize = 40;
const SHORTEST_BAR: usize = 8;

/// The report in lines of at most `width` columns (20 at least), with ANSI colours or without.
pub fn terminal(findings: &Findings, width: usize, colour: bool) -> String {
    let page = Page { width: width.max(NARROWEST), colour };
    let mut parts = vec![
        page.headline(findings),
        page.bars(findings),
        page.comparisons(&findings.comparisons),
        page.claims(&findings.claims),
    ];
    parts.extend(findings.tables.iter().map(|table| page.table(table)));
    parts.extend([
        page.warnings(&findings.warnings),
        page.methods(findings),
        page.absences(&findings.run.absences),
        page.caveats(findings.caveats.len()),
        page.browser_note(findings),
        page.repeat(&findings.headline.command),
    ]);
    parts
        .into_iter()
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n") + "\n")
        .collect::<Vec<_>>()
        .join("\n")
}

struct Page {
    width: usize,
    colour: bool,
}

/// The style of a text.
#[derive(Clone, Copy)]
enum Ink {
    Plain,
    Strong,
    Faint,
    Toned(Tone),
}

impl Page {
    fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_string(),
            _ if !self.colour => return text.to_string(),
            Ink::Strong => "1",
            Ink::Faint | Ink::Toned(Tone::Aside) => "2",
            Ink::Toned(Tone::Good) => "32",
            Ink::Toned(Tone::Fair) => "36",
            Ink::Toned(Tone::Bad) => "31",
            Ink::Toned(Tone::Open) => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Wrapped text after `lead`, with all further lines indented.
    fn item(&self, lead: &str, text: &str, ink: Ink) -> Vec<String> {
        let indent = lead.chars().count().min(self.width / 2);
        let lines = wrap(text, self.width - indent);
        let lead = |n: usize| if n == 0 { lead.chars().take(indent).collect() } else { " ".repeat(indent) };
        lines.iter().enumerate().map(|(n, line)| lead(n) + &self.paint(ink, line)).collect()
    }

    fn title(&self, text: &str) -> Vec<String> {
        self.item("", text, Ink::Strong)
    }

    fn headline(&self, findings: &Findings) -> Vec<String> {
        let headline = &findings.headline;
        let mut lines = Vec::new();
        if summary::is_undecided(findings) {
            lines.extend(self.item("", "undecided", Ink::Toned(Tone::Open)));
        }
        lines.extend(self.title(&headline.text));
        if !headline.context.is_empty() {
            lines.extend(self.item("", &headline.context, Ink::Plain));
        }
        lines
    }

    fn repeat(&self, command: &str) -> Vec<String> {
        if command.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = self.item("", "Repeat it:", Ink::Faint);
        lines.extend(shell::command_lines(command, self.width));
        lines
    }

    /// The bars of the deciding sentence; text alone where there is no room.
    fn bars(&self, findings: &Findings) -> Vec<String> {
        let bars = summary::bars(findings);
        let widest = |of: &dyn Fn(&(&str, f64, String)) -> usize| bars.iter().map(of).max().unwrap_or(0);
        let names = widest(&|(name, ..)| without_controls(name).width());
        let values = widest(&|(.., value)| without_controls(value).width());
        let room = self.width.saturating_sub(names + values + 4).min(LONGEST_BAR);
        if room < SHORTEST_BAR {
            return bars
                .iter()
                .flat_map(|(name, _, value)| self.item("", &format!("{name}: {value}"), Ink::Plain))
                .collect();
        }
        let line = |(name, share, value): &(&str, f64, String)| {
            let (name, value) = (without_controls(name), without_controls(value));
            let blank = " ".repeat(names - name.width());
            let (bar, rest) = layout::bar(*share, room);
            format!("{name}{blank}  {}{rest}  {value}", self.paint(Ink::Toned(Tone::Fair), &bar))
        };
        bars.iter().map(line).collect()
    }

    fn methods(&self, findings: &Findings) -> Vec<String> {
        if findings.run.nothing_was_measured() {
            return Vec::new();
        }
        let origins: Vec<&str> = summary::origins(findings).into_iter().map(Origin::word).collect();
        let origins = if origins.is_empty() { "none".into() } else { origins.join(", ") };
        let mut lines = self.item("Numbers: ", &origins, Ink::Plain);
        for Fact { label, text } in summary::methods(findings) {
            lines.extend(self.item(&format!("{label}: "), &text, Ink::Plain));
        }
        lines
    }

    fn comparisons(&self, comparisons: &[Comparison]) -> Vec<String> {
        if comparisons.is_empty() {
            return Vec::new();
        }
        let shown = &comparisons[..comparisons.len().min(MOST_ROWS)];
        let leads: Vec<String> = shown.iter().map(|c| verdict_words(&words::comparison(c.verdict))).collect();
        let widest = leads.iter().map(|lead| lead.width()).max().unwrap_or(0);
        let mut lines = self.title("Compared (intervals: 95 %)");
        for (c, lead) in shown.iter().zip(&leads) {
            let tone = Ink::Toned(words::comparison(c.verdict).tone);
            let lead = format!("{lead}{}  ", " ".repeat(widest - lead.width()));
            let blank = " ".repeat(lead.width());
            let wrapped = self.item(&lead, &summary::finding_sentence(c), Ink::Plain).into_iter().enumerate();
            lines.extend(wrapped.map(
                |(n, line)| match line.strip_prefix(lead.as_str()).filter(|_| n == 0) {
                    Some(rest) => self.paint(tone, &lead) + rest,
                    None => line,
                },
            ));
            for detail in [summary::metric_and_levels(c).as_str(), summary::attribution_text(c)] {
                if !detail.is_empty() {
                    lines.extend(self.item(&blank, detail, Ink::Faint));
                }
            }
        }
        lines.extend(self.more(comparisons.len() - shown.len(), "comparisons"));
        lines
    }

    fn claims(&self, all: &[ClaimFinding]) -> Vec<String> {
        if all.is_empty() {
            return Vec::new();
        }
        // Claims that were not run are counted only.
        let claims = claims::claims_run(all);
        if claims.is_empty() {
            return self.title("Claims").into_iter().chain(self.not_run(all)).collect();
        }
        let tones: Vec<Tone> = claims.iter().map(|c| words::claim(c).tone).collect();
        let row = |c: &&ClaimFinding| {
            vec![
                verdict_words(&words::claim(c)),
                claims::found_in_words(c).unwrap_or_else(|| "–".into()),
                claims::published_in_words(c).unwrap_or_else(|| "–".into()),
                match claims::depends_in_words(c) {
                    Some(depends) => format!("{}: {depends}", c.statement),
                    None => c.statement.clone(),
                },
            ]
        };
        let mut lines = self.title("Claims");
        lines.extend(self.grid(
            &[("", false), ("found (95 %)", true), ("published", true), ("claim", false)],
            &claims.iter().map(row).collect::<Vec<_>>(),
            &|row, column| match (row, column) {
                (Some(row), 0) => Ink::Toned(tones[row]),
                (None, _) => Ink::Faint,
                _ => Ink::Plain,
            },
        ));
        lines.push(String::new());
        for (verdict, _) in words::occurring_verdicts(claims.iter().copied()) {
            lines.extend(self.item(
                &format!("{} ", verdict.mark),
                &format!("{}: {}", verdict.word, verdict.meaning),
                Ink::Faint,
            ));
        }
        lines.extend(self.not_run(all));
        lines
    }

    fn not_run(&self, all: &[ClaimFinding]) -> Vec<String> {
        match claims::not_run_in_words(all).as_str() {
            "" => Vec::new(),
            text => self.item(&format!("{} ", words::not_run().mark), text, Ink::Faint),
        }
    }

    fn table(&self, table: &Table) -> Vec<String> {
        let width = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
        let numeric =
            |i: usize| table.rows.iter().any(|r| matches!(r.get(i), Some(TableCell::Number { .. })));
        let heads: Vec<(&str, bool)> =
            (0..width).map(|i| (table.columns.get(i).map_or("", String::as_str), numeric(i))).collect();
        let shown = &table.rows[..table.rows.len().min(MOST_ROWS)];
        let shared = summary::shared_origin(table.rows.iter().flatten());
        let cell = |cell: Option<&TableCell>| match cell {
            None => String::new(),
            Some(TableCell::Text(words)) => words.clone(),
            Some(TableCell::Number { estimate, unit, .. }) if shared.is_some() => {
                number::format_estimate(estimate, unit)
            }
            Some(TableCell::Number { estimate, unit, origin }) => {
                format!("{} {}", number::format_estimate(estimate, unit), origin.word())
            }
        };
        let rows: Vec<Vec<String>> =
            shown.iter().map(|row| (0..width).map(|i| cell(row.get(i))).collect()).collect();
        let mut lines = self.title(&table.title);
        let note = shared.map(|origin| self.item("", &format!("all {}", origin.word()), Ink::Faint));
        lines.extend(note.into_iter().flatten());
        lines.extend(self.grid(&heads, &rows, &|row, _| if row.is_none() { Ink::Faint } else { Ink::Plain }));
        lines.extend(self.more(table.rows.len() - shown.len(), "rows"));
        lines
    }

    fn warnings(&self, warnings: &[String]) -> Vec<String> {
        if warnings.is_empty() {
            return Vec::new();
        }
        let warnings = summary::merge_similar(warnings);
        let shown = &warnings[..warnings.len().min(MOST_ROWS)];
        let mut lines = self.title("Before you believe it");
        lines.extend(shown.iter().flat_map(|w| self.item("! ", w, Ink::Toned(Tone::Open))));
        lines.extend(self.more(warnings.len() - shown.len(), "warnings"));
        lines
    }

    /// What the testbed does not have, in one paragraph.
    fn absences(&self, absences: &[String]) -> Vec<String> {
        if absences.is_empty() {
            return Vec::new();
        }
        self.item("", &format!("Unlike a real cluster: {}.", absences.join("; ")), Ink::Faint)
    }

    /// How many properties of the real parts are not emulated: the other renderings list them.
    fn caveats(&self, count: usize) -> Vec<String> {
        match count {
            0 => Vec::new(),
            1 => self.item("", "1 property of its parts is not emulated; it is in the report.", Ink::Faint),
            _ => self.item(
                "",
                &format!("{count} properties of its parts are not emulated; they are in the report."),
                Ink::Faint,
            ),
        }
    }

    /// How many figures the report for the browser has.
    fn browser_note(&self, findings: &Findings) -> Vec<String> {
        let palette = plot::Palette::of_figures(&findings.figures);
        let drawn =
            findings.figures.iter().filter(|f| plot::draw(f, &palette, &plot::WIDE, "count").is_some());
        let count = match drawn.count() {
            0 => return Vec::new(),
            1 => "One figure is".to_string(),
            n => format!("{n} figures are"),
        };
        self.item(
            "",
            &format!("{count} in the report for the browser, with sources and provenance."),
            Ink::Faint,
        )
    }

    fn more(&self, n: usize, what: &str) -> Vec<String> {
        if n == 0 {
            Vec::new()
        } else {
            self.item("", &format!("… and {n} more {what} in the report"), Ink::Faint)
        }
    }

    /// A table where it fits, else every row as a list of its cells.
    fn grid(
        &self,
        heads: &[(&str, bool)],
        rows: &[Vec<String>],
        ink: &dyn Fn(Option<usize>, usize) -> Ink,
    ) -> Vec<String> {
        let columns: Vec<Column> = heads
            .iter()
            .map(|(head, right)| Column { head: without_controls(head), right: *right })
            .collect();
        let paint = |row: Option<usize>, column: usize, text: &str| self.paint(ink(row, column), text);
        if let Some(lines) = layout::table(&columns, rows, self.width, &paint) {
            return lines;
        }
        let mut lines = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let head = columns.get(column).map_or("", |c| c.head.as_str());
                let text = if head.is_empty() { cell.clone() } else { format!("{head}: {cell}") };
                lines.extend(self.item(if column == 0 { "" } else { "  " }, &text, ink(Some(index), column)));
            }
        }
        lines
    }
}

fn verdict_words(verdict: &Verdict) -> String {
    format!("{} {}", verdict.mark, verdict.word)
}
