//! The format of edges in a text: the first lines show it, all others must follow it.
//!
//! Lists: a source and a target a line, between blanks, tabs, `,` or `;`, with or without a
//! heading; a third column, the weight, is a number from 0 and is not used. MatrixMarket: coordinates under a heading
//! of its own (R. Boisvert, R. Pozo, K. Remington, NISTIR 5935, 1996). Comments begin with `#`
//! or `%`.

use crosstalk_core::{Fault, quoted};

use super::field::{parse_digits, parse_number, parse_vertex_id, parse_vertex_name};
use super::separator::{Separator, detect_separator, looks_like_number, separates_alike, split};
use crate::pagerank::name::Name;

/// The beginning of a MatrixMarket file, in any case.
const BANNER: &[u8] = b"%%MatrixMarket";

/// Headings over columns of names; over columns of numbers any words are one.
const HEADINGS: [[&str; 2]; 4] =
    [["source", "target"], ["src", "dst"], ["from", "to"], ["fromnodeid", "tonodeid"]];

/// The remedy for lines in another format.
const AS_A_LIST: &str = "write one edge a line: a source, a blank, a target, and perhaps a weight";

/// How a file of edges is written: its separator, columns and headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    separator: Separator,
    columns: usize,
    /// Whether vertices are numbers.
    numbers: bool,
    matrix: Option<Matrix>,
    /// The first line that may have an edge.
    first: u64,
    /// Whether the line before is a list's heading.
    headed: bool,
}

/// The heading of a MatrixMarket file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// Rows, and columns.
    size: u64,
    /// Lines with an entry.
    pub entries: u64,
    /// An entry stands for the one across the diagonal, too.
    pub symmetric: bool,
}

/// The first line of a MatrixMarket file.
#[derive(Debug, Clone, Copy)]
struct Banner {
    columns: usize,
    symmetric: bool,
}

/// Learns the format of a file of edges from its first lines.
#[derive(Debug, Default)]
pub struct Learner {
    banner: Option<Banner>,
}

impl Learner {
    /// The format, if these numbered lines, which follow those before, show it. A fault comes with its line.
    pub fn learn<'a>(
        &mut self,
        lines: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<Option<Format>, (u64, Fault)> {
        let mut lines = lines.filter(|(number, line)| *number == 1 || !is_empty(line));
        while let Some((number, line)) = lines.next() {
            let here = |fault| (number, fault);
            if number == 1 && line.get(..BANNER.len()).is_some_and(|b| b.eq_ignore_ascii_case(BANNER)) {
                self.banner = Some(Banner::read(line).map_err(here)?);
            } else if !is_empty(line) {
                return match self.banner {
                    Some(banner) => Format::of_matrix(banner, line, number),
                    None => Format::of_list(line, number, lines.next().map(|(_, line)| line)),
                }
                .map(Some)
                .map_err(here);
            }
        }
        Ok(None)
    }
}

impl Banner {
    fn read(line: &[u8]) -> Result<Self, Fault> {
        let line = line.to_ascii_lowercase();
        let fields = split(&line, Separator::Blanks);
        let words: Vec<&str> = fields.iter().filter_map(|field| str::from_utf8(field).ok()).collect();
        match words.as_slice() {
            [
                _,
                "matrix",
                "coordinate",
                field @ ("pattern" | "real" | "integer"),
                symmetry @ ("general" | "symmetric"),
            ] => {
                let columns = if *field == "pattern" { 2 } else { 3 };
                Ok(Banner { columns, symmetric: *symmetry == "symmetric" })
            }
            _ => Err(Fault::usage(format!(
                "expected `%%MatrixMarket matrix coordinate`, `pattern`, `real` or `integer`, and `general` or `symmetric`; found `{}`",
                quoted(&line)
            ))
            .remedy("write the matrix with other qualifiers, or one edge a line")),
        }
    }
}

impl Format {
    /// The first line that may have an edge.
    pub fn first_edge_line(&self) -> u64 {
        self.first
    }

    /// The line of a list's heading.
    pub fn heading_line(&self) -> Option<u64> {
        self.headed.then(|| self.first - 1)
    }

    /// The heading, if it is MatrixMarket's.
    pub fn matrix_heading(&self) -> Option<Matrix> {
        self.matrix
    }

    /// Of a file with this banner, from the line with its size.
    fn of_matrix(banner: Banner, line: &[u8], number: u64) -> Result<Self, Fault> {
        let fields = split(line, Separator::Blanks);
        let numbers: Vec<u64> = fields.iter().filter_map(|field| parse_number(field)).collect();
        let [rows, columns, entries] = numbers[..] else {
            return Err(Fault::usage(format!(
                "expected a matrix's rows, columns and entries, found `{}`",
                quoted(line)
            )));
        };
        if fields.len() != 3 || rows != columns {
            return Err(Fault::usage(format!("expected a square matrix, found {rows} × {columns}"))
                .remedy("give a graph's adjacency matrix: the edge from i to j is row i, column j"));
        }
        let matrix = Matrix { size: rows, entries, symmetric: banner.symmetric };
        let separator = Separator::Blanks;
        Ok(Format {
            separator,
            columns: banner.columns,
            numbers: true,
            matrix: Some(matrix),
            first: number + 1,
            headed: false,
        })
    }

    /// Of a list, from the first line that is no comment, and the one after.
    fn of_list(line: &[u8], number: u64, next: Option<&[u8]>) -> Result<Self, Fault> {
        if let Some(separator) = detect_separator(line) {
            return Format::list(line, separator, true, number);
        }
        // Blanks may be within names where something else separates them.
        let bytes = [b'\t', b';', b','].map(Separator::Byte);
        let separates = |separator: &Separator| split(line, *separator).len() > 1;
        let separator = bytes.into_iter().find(separates).unwrap_or(Separator::Blanks);
        let fields = split(line, separator);
        if fields.len() < 2 {
            return Err(Fault::usage(format!("expected a source and a target, found `{}`", quoted(line)))
                .remedy(AS_A_LIST));
        }
        let words = !fields[..2].iter().any(|field| looks_like_number(field));
        if let Some((next, separator)) = next.filter(|_| words).and_then(|n| Some((n, detect_separator(n)?)))
        {
            let format = Format::list(next, separator, true, number + 1)?;
            if split(line, separator).len() == format.columns && separates_alike(line, separator) {
                return Ok(Format { headed: true, ..format });
            }
            return Err(Fault::usage(format!(
                "expected an edge, or a heading of {} columns between {}, as the line below has, found `{}`",
                format.columns,
                separator.name(),
                quoted(line)
            ))
            .remedy("take the heading out, or write it as the columns below it"));
        }
        if fields[0].ends_with(b":") {
            return Err(adjacency(&format!("expected a source and a target, found `{}`", quoted(line))));
        }
        let heading = HEADINGS
            .iter()
            .any(|words| words.iter().zip(&fields).all(|(word, f)| f.eq_ignore_ascii_case(word.as_bytes())));
        let format = Format::list(line, separator, false, number + u64::from(heading))?;
        Ok(Format { headed: heading, ..format })
    }

    fn list(line: &[u8], separator: Separator, numbers: bool, first: u64) -> Result<Self, Fault> {
        let columns = split(line, separator).len();
        if columns > 3 {
            return Err(adjacency(&format!(
                "expected a source, a target and perhaps a weight, found {columns} columns: `{}`",
                quoted(line)
            )));
        }
        Ok(Format { separator, columns, numbers, matrix: None, first, headed: false })
    }

    /// The edge on a line, or none where there is a comment or nothing.
    pub fn parse_edge<'a>(&self, line: &'a [u8]) -> Result<Option<(Name<'a>, Name<'a>)>, Fault> {
        let edge = match self.two_numbers(line) {
            Some((source, target)) => (Name::Number(source), Name::Number(target)),
            None if is_empty(line) => return Ok(None),
            None => self.two_names(line)?,
        };
        if let (Some(matrix), (Name::Number(row), Name::Number(column))) = (self.matrix, edge)
            && (row.min(column) < 1 || row.max(column) > matrix.size)
        {
            return Err(Fault::usage(format!(
                "expected a row and a column from 1 to {}, found `{}`",
                matrix.size,
                quoted(line)
            )));
        }
        Ok(Some(edge))
    }

    /// The numbers on a line, in the usual format.
    fn two_numbers(&self, line: &[u8]) -> Option<(u64, u64)> {
        if !self.numbers {
            return None;
        }
        let (source, rest) = parse_digits(line)?;
        let (target, rest) = parse_digits(self.after_separator(rest)?)?;
        let right = match self.columns {
            2 => rest.trim_ascii_start().is_empty(),
            // The usual weights; others are checked again.
            _ => parse_digits(self.after_separator(rest)?).is_some_and(|(_, rest)| match rest {
                [b'.', decimals @ ..] => decimals.iter().all(u8::is_ascii_digit),
                rest => rest.is_empty(),
            }),
        };
        right.then_some((source, target))
    }

    fn after_separator<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let (first, mut rest) = text.split_first()?;
        match self.separator {
            Separator::Byte(byte) => (*first == byte).then_some(rest),
            Separator::Blanks if matches!(first, b' ' | b'\t') => {
                while let Some((b' ' | b'\t', more)) = rest.split_first() {
                    rest = more;
                }
                Some(rest)
            }
            Separator::Blanks => None,
        }
    }

    /// The same of any line, with its faults.
    fn two_names<'a>(&self, line: &'a [u8]) -> Result<(Name<'a>, Name<'a>), Fault> {
        let fields = split(line, self.separator);
        if fields.len() < 2 {
            return Err(Fault::usage(format!("expected a source and a target, found `{}`", quoted(line)))
                .remedy(AS_A_LIST));
        }
        if fields.len() != self.columns {
            let before = if self.matrix.is_some() { "as the heading says" } else { "as in the lines before" };
            return Err(adjacency(&format!(
                "expected {} columns, {before}, found {}: `{}`",
                self.columns,
                fields.len(),
                quoted(line)
            )));
        }
        if let (true, Some(field)) = (self.numbers, fields.get(2)) {
            self.weight(field)?;
        }
        if self.numbers {
            return Ok((
                Name::Number(parse_vertex_id(fields[0])?),
                Name::Number(parse_vertex_id(fields[1])?),
            ));
        }
        let weightless = |field: &&&[u8]| !matches!(**field, b"" | b"{}") && !looks_like_number(field);
        if let Some(weight) = fields.get(2).filter(weightless) {
            return Err(Fault::usage(format!("expected a weight, found `{}`", quoted(weight)))
                .remedy("separate columns by a tab, `,` or `;` if names have blanks in them"));
        }
        if let Some(field) = fields.get(2).filter(|field| **field != b"{}") {
            self.weight(field)?;
        }
        Ok((Name::Text(parse_vertex_name(fields[0])?), Name::Text(parse_vertex_name(fields[1])?)))
    }
}

impl Format {
    /// Refuses a third column that is no weight: the lines may be something else than edges.
    fn weight(&self, field: &[u8]) -> Result<(), Fault> {
        let text = str::from_utf8(field).unwrap_or("?");
        // Some use a decimal comma, and leave a weight out.
        let text = if self.separator == Separator::Byte(b',') { text.into() } else { text.replace(',', ".") };
        // The value of a matrix may be negative.
        let least = if self.matrix.is_some() { f64::MIN } else { 0.0 };
        let left_out = field.is_empty() && self.matrix.is_none();
        match text.parse::<f64>() {
            _ if left_out => Ok(()),
            Ok(weight) if weight.is_finite() && weight >= least => Ok(()),
            _ => Err(Fault::usage(format!(
                "expected a {} in the third column, found `{}`",
                if self.matrix.is_some() { "number" } else { "weight, a number from 0," },
                quoted(field)
            ))
            .remedy("leave the third column out on all lines: weights are not used")),
        }
    }
}

fn adjacency(message: &str) -> Fault {
    Fault::usage(message).remedy(format!("{AS_A_LIST} (adjacency lists are not read)"))
}

/// Whether there is nothing, or a comment.
fn is_empty(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#' | b'%'))
}
