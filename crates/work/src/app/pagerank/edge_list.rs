//! Edge lists in text files, plain or gzip, as GraphX's `GraphLoader` reads
//! them: a source and a target a line, between blanks; lines that begin with
//! `#` and empty ones are skipped, further columns ignored.
//!
//! A file is cut into blocks of whole lines at places that depend on the text
//! alone, so that every node can take its share of the blocks by itself.

use crosstalk_core::Fault;
use flate2::read::MultiGzDecoder;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use super::Edge;
use crate::app::input;

/// Text in a block, in bytes; no line may be longer.
const BLOCK: usize = 1 << 20;

/// The largest vertex id: tables are indexed by it while a graph is built.
pub const LARGEST_ID: u32 = (1 << 28) - 1;

/// What a whole file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Blocks of text.
    pub blocks: u64,
    /// Edges, duplicates and self loops included.
    pub edges: u64,
    /// The largest vertex id.
    pub largest: u32,
}

/// Reads the whole file once: every line must be good, and there must be edges.
pub fn inspect(path: &Path) -> Result<Contents, Fault> {
    let mut reader = EdgeList::open(path, 0, 1)?;
    let mut contents = Contents { blocks: 0, edges: 0, largest: 0 };
    let mut edges = Vec::new();
    while reader.next_block(&mut edges)? {
        contents.blocks += 1;
        contents.edges += edges.len() as u64;
        let largest = edges.iter().map(|e| e.source.max(e.target)).max();
        contents.largest = contents.largest.max(largest.unwrap_or(0));
    }
    if contents.edges == 0 {
        return Err(Fault::usage("there are no edges in it")
            .at(path.display().to_string())
            .remedy("write one edge a line: the source's number, a blank, the target's number"));
    }
    Ok(contents)
}

/// A reader of every `step`-th block of a file.
pub struct EdgeList {
    path: PathBuf,
    text: Box<dyn Read + Send>,
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
}

impl EdgeList {
    /// Opens `path` to read the blocks `first`, `first + step`, …
    pub fn open(path: &Path, first: u64, step: u64) -> Result<Self, Fault> {
        let text = open(path).map_err(|e| unreadable(path, &e))?;
        Ok(EdgeList {
            path: path.to_path_buf(),
            text,
            buffer: Vec::new(),
            beyond: 0,
            ended: false,
            line: 1,
            skip: first,
            step,
        })
    }

    /// Replaces `edges` by those of the next block wanted; false after the last.
    pub fn next_block(&mut self, edges: &mut Vec<Edge>) -> Result<bool, Fault> {
        edges.clear();
        while self.advance()? {
            let lines = self.line;
            let block = &self.buffer[..self.beyond];
            self.line += block.iter().filter(|byte| **byte == b'\n').count() as u64;
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.skip = self.step - 1;
            for (number, line) in (lines..).zip(block.split(|byte| *byte == b'\n')) {
                match parse(line) {
                    Ok(edge) => edges.extend(edge),
                    Err(fault) => return Err(fault.at(format!("{}:{number}", self.path.display()))),
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves on to the next block; false at the end of the text.
    fn advance(&mut self) -> Result<bool, Fault> {
        self.buffer.drain(..self.beyond);
        if !self.ended {
            let wanted = (BLOCK - self.buffer.len()) as u64;
            let read = self.text.by_ref().take(wanted).read_to_end(&mut self.buffer);
            self.ended = (read.map_err(|e| unreadable(&self.path, &e))? as u64) < wanted;
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

/// Opens a file; one that begins as gzip does is decompressed.
fn open(path: &Path) -> std::io::Result<Box<dyn Read + Send>> {
    let mut file = input::open(path)?;
    let mut magic = [0; 2];
    let gzip = file.read(&mut magic)? == 2 && magic == [0x1F, 0x8B];
    file.rewind()?;
    let file = BufReader::with_capacity(BLOCK, file);
    Ok(if gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    let fault = match error.kind() {
        ErrorKind::UnexpectedEof => {
            Fault::usage("the gzip file is cut short").remedy("copy or download it again")
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Fault::usage(format!("the gzip file is damaged ({error})")).remedy("copy or download it again")
        }
        ErrorKind::NotFound => {
            Fault::usage("no such file").remedy("name an edge list that every node can read under this path")
        }
        _ => Fault::usage(format!("cannot be read: {error}")),
    };
    fault.at(path.display().to_string())
}

/// The edge on a line, or none where there is a comment or nothing.
fn parse(line: &[u8]) -> Result<Option<Edge>, Fault> {
    if line.first() == Some(&b'#') {
        return Ok(None);
    }
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    match (fields.next(), fields.next()) {
        (None, _) => Ok(None),
        (Some(source), Some(target)) => Ok(Some(Edge { source: id(source)?, target: id(target)? })),
        (Some(_), None) => Err(Fault::usage(format!(
            "expected a source and a target, found `{}`",
            String::from_utf8_lossy(line).trim()
        ))),
    }
}

/// A vertex id.
fn id(field: &[u8]) -> Result<u32, Fault> {
    let digits = field.iter().all(u8::is_ascii_digit);
    // Nine digits never overflow; what has more is above the largest id anyway,
    // but for leading zeros, which nobody writes.
    let value = field.iter().take(10).fold(0_u64, |value, digit| value * 10 + u64::from(digit & 15));
    match (digits, u32::try_from(value)) {
        (true, Ok(id)) if id <= LARGEST_ID && field.len() <= 10 => Ok(id),
        (true, _) => Err(Fault::usage(format!(
            "the vertex id {} is too large: expected at most {LARGEST_ID}",
            String::from_utf8_lossy(field)
        ))
        .remedy("number the vertices from 0 without gaps")),
        (false, _) => {
            Err(Fault::usage(format!("expected a vertex id, found `{}`", String::from_utf8_lossy(field)))
                .remedy("write vertices as whole numbers from 0"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;
    use tempfile::NamedTempFile;

    fn file(bytes: &[u8]) -> NamedTempFile {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("written");
        file
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).expect("compressed");
        encoder.finish().expect("finished")
    }

    fn read(path: &Path, first: u64, step: u64) -> Result<Vec<Vec<Edge>>, Fault> {
        let mut list = EdgeList::open(path, first, step)?;
        let (mut blocks, mut block) = (Vec::new(), Vec::new());
        while list.next_block(&mut block)? {
            blocks.push(block.clone());
        }
        Ok(blocks)
    }

    fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
        pairs.iter().map(|&(source, target)| Edge { source, target }).collect()
    }

    fn refusal(text: &str) -> String {
        let file = file(text.as_bytes());
        let fault = inspect(file.path()).expect_err("refused").to_string();
        fault.replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn comments_blanks_tabs_and_columns_read_as_graphx_reads_them() {
        let text = "# a comment\n\n1 2\n  3\t4\r\n5   6 0.25 x\n2 2";
        for bytes in [text.as_bytes().to_vec(), gzip(text)] {
            let file = file(&bytes);
            let blocks = read(file.path(), 0, 1).expect("reads");
            assert_eq!(blocks, [edges(&[(1, 2), (3, 4), (5, 6), (2, 2)])]);
            let contents = inspect(file.path()).expect("reads");
            assert_eq!(contents, Contents { blocks: 1, edges: 4, largest: 6 });
        }
    }

    #[test]
    fn every_block_is_read_once_however_many_read() {
        let text: String = (0..300_000).map(|i| format!("{i}\t{}\n", i * 7 % 300_000)).collect();
        let file = file(&gzip(&text));
        let whole = read(file.path(), 0, 1).expect("reads");
        assert!(whole.len() >= 3, "{} blocks", whole.len());
        for step in [2, 3, 7] {
            let mut shares: Vec<_> =
                (0..step).map(|first| read(file.path(), first, step).expect("reads").into_iter()).collect();
            let dealt: Vec<_> = (0..whole.len()).filter_map(|k| shares[k % step as usize].next()).collect();
            assert_eq!(dealt, whole);
            assert!(shares.iter_mut().all(|share| share.next().is_none()));
        }
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(refusal("1 2\n3 x\n").starts_with("FILE:2: expected a vertex id, found `x`"));
        assert!(
            refusal("1 2\n\n# c\n17\n").starts_with("FILE:4: expected a source and a target, found `17`")
        );
        assert!(refusal("1 -2\n").starts_with("FILE:1: expected a vertex id, found `-2`"));
        let large = refusal("1 2\n1 2\n1 2\n0 268435456\n");
        assert!(large.starts_with("FILE:4: the vertex id 268435456 is too large"), "{large}");
        assert!(refusal("1 18446744073709551617\n").contains("too large"));
    }

    #[test]
    fn a_bad_line_far_down_is_named_by_whoever_reads_it() {
        let mut text: String = (0..400_000).map(|i| format!("{i} {i}\n")).collect();
        text.push_str("oops\n");
        let file = file(text.as_bytes());
        let blocks = text.len().div_ceil(BLOCK) as u64;
        let fault = read(file.path(), blocks - 1, blocks).expect_err("refused");
        assert_eq!(fault.place, Some(format!("{}:400001", file.path().display())));
    }

    #[test]
    fn what_is_no_edge_list_is_refused() {
        assert!(refusal("").contains("no edges"));
        assert!(refusal("# only\n# comments\n").contains("no edges"));
        assert!(refusal(&"1".repeat(BLOCK + 1)).starts_with("FILE:1: a line of more than"));
        let missing = inspect(Path::new("/nonexistent/graph.txt")).expect_err("refused");
        assert!(missing.to_string().starts_with("/nonexistent/graph.txt: no such file"));
        let directory = tempfile::tempdir().expect("a directory");
        assert!(inspect(directory.path()).expect_err("refused").message.contains("cannot be read"));
    }

    #[test]
    fn a_truncated_or_damaged_gzip_file_is_refused() {
        let text: String = (0..1000).map(|i| format!("{i} {}\n", i * i)).collect();
        let whole = gzip(&text);
        let short = file(&whole[..whole.len() / 2]);
        assert!(inspect(short.path()).expect_err("refused").message.contains("cut short"));
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0xFF);
        let damaged = file(&damaged);
        let fault = inspect(damaged.path()).expect_err("refused");
        assert!(fault.message.contains("damaged"), "{fault}");
    }

    proptest! {
        #[test]
        fn no_text_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let file = file(&bytes);
            let _ = inspect(file.path());
        }

        #[test]
        fn ids_read_as_written(source in 0..=LARGEST_ID, target in 0..=LARGEST_ID) {
            let edge = parse(format!("{source} {target}").as_bytes()).expect("reads");
            prop_assert_eq!(edge, Some(Edge { source, target }));
        }
    }
}
