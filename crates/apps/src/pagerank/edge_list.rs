//! Edge lists in text files, in the formats of [`Format`] and the packings of
//! [`input::TextFile`](crate::input::TextFile).
//!
//! A file is cut into blocks of whole lines at places that depend on the text
//! alone, so that every node can take its share of the blocks by itself.

use crosstalk_core::Fault;
use std::path::{Path, PathBuf};

use super::name::{LARGEST_LABEL, Name};
use super::ranked_bits::Bits;
use crate::input::TextFile;
use format::{Format, Learner};

mod field;
mod format;
mod separator;

/// Text in a block, in bytes; no line may be longer.
const BLOCK: usize = 1 << 20;

/// Ids are labels where there are at most so many of them to a vertex: tables by label are
/// then no larger than the map from names to labels would be, and faster.
const GAPS: u64 = 4;

/// Ids below this are labels whatever their gaps: their tables are small.
const FEW: u64 = 1 << 16;

/// What a whole edge list has in it: its edges, blocks and format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Blocks of text.
    pub blocks: u64,
    /// Edges, duplicates and self loops included.
    pub edges: u64,
    /// Ids are below this, and can be labels; where there is none, vertices need labels.
    pub labels: Option<u32>,
}

/// Reads the whole file once: every line must be good, and there must be edges.
pub fn inspect(path: &Path) -> Result<Contents, Fault> {
    let mut list = EdgeList::open(path, 0, 1)?;
    let (mut blocks, mut edges) = (0, 0);
    let mut ids = Ids::default();
    while list.next_block(|source, target| {
        edges += 1;
        ids.see(source);
        ids.see(target);
    })? {
        blocks += 1;
    }
    list.complete()?;
    if edges == 0 {
        return Err(Fault::usage("there are no edges in it")
            .at(path.display().to_string())
            .remedy("write one edge a line: the source's number or name, a blank, the target's"));
    }
    Ok(Contents { blocks, edges, labels: ids.labels() })
}

/// A remark about a list, by its beginning: that a line is read as its heading.
///
/// # Errors
/// Where the file is no text, or its first lines are no edge list's.
pub fn heading_remark(path: &Path) -> Result<Option<String>, Fault> {
    let mut list = EdgeList::open(path, 0, 1)?;
    if list.advance()? {
        let lines = (1..).zip(list.buffer[..list.beyond].split(|byte| *byte == b'\n'));
        let at = |number: u64| format!("{}:{number}", path.display());
        let format = list.learner.learn(lines).map_err(|(number, fault)| fault.at(at(number)))?;
        let heading = format.and_then(|format| format.heading_line());
        return Ok(heading.map(|number| format!("{} is taken for a heading, not for an edge", at(number))));
    }
    Ok(None)
}

/// Which ids there are, until one cannot be a label.
struct Ids {
    seen: Option<Bits>,
    largest: u32,
}

impl Default for Ids {
    fn default() -> Self {
        Ids { seen: Some(Bits::new(FEW as usize)), largest: 0 }
    }
}

impl Ids {
    fn see(&mut self, name: Name) {
        match (&mut self.seen, name) {
            (Some(seen), Name::Number(number)) if number <= u64::from(LARGEST_LABEL) => {
                seen.raise_bound_to(number as u32);
                seen.insert(number as u32);
                self.largest = self.largest.max(number as u32);
            }
            _ => self.seen = None,
        }
    }

    fn labels(&self) -> Option<u32> {
        let bound = self.largest + 1;
        let few = (GAPS * self.seen.as_ref()?.count_below(bound)).max(FEW);
        (u64::from(bound) <= few).then_some(bound)
    }
}

/// Reads every `step`-th block of an edge list.
pub struct EdgeList {
    path: PathBuf,
    text: TextFile,
    /// The text of the present block, and what was read beyond its last line.
    buffer: Vec<u8>,
    /// Where the text beyond the present block begins.
    beyond: usize,
    ended: bool,
    /// The number of the next block's first line.
    line: u64,
    /// Blocks to pass over before the next one wanted.
    skip: u64,
    step: u64,
    learner: Learner,
    format: Option<Format>,
    /// Lines with an edge in the blocks that were wanted.
    entries: u64,
    /// Whether the first of them off a symmetric matrix's diagonal was below it.
    below: Option<bool>,
}

impl EdgeList {
    /// Opens `path` to read the blocks `first`, `first + step`, …
    pub fn open(path: &Path, first: u64, step: u64) -> Result<Self, Fault> {
        Ok(EdgeList {
            path: path.to_path_buf(),
            text: TextFile::open(path)?,
            buffer: Vec::new(),
            beyond: 0,
            ended: false,
            line: 1,
            skip: first,
            step,
            learner: Learner::default(),
            format: None,
            entries: 0,
            below: None,
        })
    }

    /// Passes source and target of each edge of the next block to `take`; false after the last.
    pub fn next_block(&mut self, mut take: impl FnMut(Name, Name)) -> Result<bool, Fault> {
        while self.advance()? {
            let first = self.line;
            let block = &self.buffer[..self.beyond];
            let lines = || (first..).zip(block.split(|byte| *byte == b'\n'));
            self.line += block.iter().filter(|byte| **byte == b'\n').count() as u64;
            let at = |number: u64| format!("{}:{number}", self.path.display());
            if self.format.is_none() {
                // Every reader of this block or another must read it in the same way.
                self.format = self.learner.learn(lines()).map_err(|(number, fault)| fault.at(at(number)))?;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.skip = self.step - 1;
            let Some(format) = self.format else { return Ok(true) };
            let symmetric = format.matrix_heading().is_some_and(|matrix| matrix.symmetric);
            for (number, line) in lines().skip(format.first_edge_line().saturating_sub(first) as usize) {
                match format.parse_edge(line) {
                    Ok(None) => {}
                    Ok(Some((source, target))) => {
                        self.entries += 1;
                        take(source, target);
                        if symmetric && source != target {
                            let below = source > target;
                            if *self.below.get_or_insert(below) != below {
                                return Err(both_triangles().at(at(number)));
                            }
                            take(target, source);
                        }
                    }
                    Err(fault) => return Err(fault.at(at(number))),
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Checks the number of entries against the heading's, where all blocks were read.
    fn complete(&self) -> Result<(), Fault> {
        match self.format.and_then(|format| format.matrix_heading()) {
            Some(matrix) if matrix.entries != self.entries => Err(Fault::usage(format!(
                "the heading says {} entries, there are {}",
                matrix.entries, self.entries
            ))
            .at(self.path.display().to_string())
            .remedy("copy or download it again")),
            _ => Ok(()),
        }
    }

    /// Moves on to the next block; false at the end of the text.
    fn advance(&mut self) -> Result<bool, Fault> {
        self.buffer.drain(..self.beyond);
        if !self.ended {
            let wanted = BLOCK - self.buffer.len();
            self.ended = self.text.append_to(&mut self.buffer, wanted)? < wanted;
        }
        self.beyond = match self.buffer.iter().rposition(|byte| *byte == b'\n') {
            _ if self.ended => self.buffer.len(),
            Some(last) => last + 1,
            None => {
                return Err(Fault::usage(format!("a line of more than {BLOCK} bytes: this is no edge list"))
                    .at(format!("{}:{}", self.path.display(), self.line)));
            }
        };
        Ok(self.beyond > 0)
    }
}

fn both_triangles() -> Fault {
    Fault::usage("this entry of a symmetric matrix is on the other side of the diagonal than those before")
        .remedy(
            "keep the entries on one side, each of which stands for both; or write `general` for `symmetric`",
        )
}

#[cfg(test)]
mod tests;
