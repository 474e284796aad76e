//! Reading a mix file. Each fault names file and line, what was found, and what was expected.

use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, quoted};

use crate::test::{Test, test};

/// The size of a file where a mix has no line `FILESIZE`: as AIM7's settings have it.
const FILE_SIZE: Bytes = Bytes(10 << 10);

/// What a mix file says.
#[derive(Debug)]
pub(super) struct Content {
    /// Size of the files of the disk tests, if there are endlessly many users.
    pub file_size: Bytes,
    /// What all users' files have together in addition.
    pub pool_size: Bytes,
    /// Kinds of test, each once, in the order of the file. Hits are above zero.
    pub hits: Vec<(&'static Test, u32)>,
}

/// What a line of it says.
enum Line {
    Hits(&'static Test, u32),
    FileSize(Bytes),
    PoolSize(Bytes),
}

/// Reads a mix file; `place` is its name.
pub(super) fn content(text: &str, place: &str) -> Result<Content, Fault> {
    let mut mix = Content { file_size: FILE_SIZE, pool_size: Bytes(0), hits: Vec::new() };
    // The lines of the hits, for faults.
    let mut lines: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fault = |fault: Fault| fault.at(format!("{place}:{number}"));
        match line_of(line).map_err(fault)? {
            None => {}
            Some(Line::FileSize(size)) => mix.file_size = size,
            Some(Line::PoolSize(size)) => mix.pool_size = size,
            Some(Line::Hits(test, hits)) => {
                if let Some(other) = mix.hits.iter().position(|(other, _)| other.name == test.name) {
                    let message = format!("`{}` is on line {} already", test.name, lines[other]);
                    return Err(fault(Fault::usage(message).remedy("keep one of the two lines")));
                }
                mix.hits.push((test, hits));
                lines.push(number);
            }
        }
    }
    if mix.hits.is_empty() {
        return Err(Fault::usage("expected at least one line with hits and a test, found none")
            .at(place)
            .remedy("write for example `10 disk_rr`"));
    }
    Ok(mix)
}

/// What a line says; nothing if it is empty or a comment.
fn line_of(line: &str) -> Result<Option<Line>, Fault> {
    let said = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().collect();
    match words[..] {
        [] => Ok(None),
        [label, size] if is_label(label, "FILESIZE") => Ok(Some(Line::FileSize(size_of(size)?))),
        [label, size] if is_label(label, "POOLSIZE") => Ok(Some(Line::PoolSize(size_of(size)?))),
        [hits, name] => {
            let hits = hits_of(hits)?;
            Ok(Some(Line::Hits(test(name)?, hits)))
        }
        _ => Err(Fault::usage(format!("expected hits and a test, found `{}`", quoted(said.trim())))
            .remedy("write for example `10 disk_rr`, and comments behind #")),
    }
}

/// Whether a word is this label, with or without a colon, in any case.
fn is_label(word: &str, label: &str) -> bool {
    word.strip_suffix(':').unwrap_or(word).eq_ignore_ascii_case(label)
}

fn hits_of(word: &str) -> Result<u32, Fault> {
    let hits = word.parse().ok().filter(|hits| *hits > 0);
    hits.ok_or_else(|| {
        let message = format!("expected a whole number of hits of at least 1, found `{}`", quoted(word));
        Fault::usage(message)
            .remedy("write for example `10 disk_rr`; put # before a line to leave its test out")
    })
}

/// A size in kibibytes or mebibytes, as AIM7 writes them: `10K`, `1m`.
fn size_of(word: &str) -> Result<Bytes, Fault> {
    let unit = |unit: char| match unit.to_ascii_uppercase() {
        'K' => Some(1 << 10),
        'M' => Some(1 << 20),
        _ => None,
    };
    let size = || {
        let last = word.chars().next_back()?;
        let number: u64 = word.strip_suffix(last)?.parse().ok()?;
        number.checked_mul(unit(last)?)
    };
    size().map(Bytes).ok_or_else(|| {
        Fault::usage(format!("expected a size with K or M, found `{}`", quoted(word)))
            .remedy("write for example `FILESIZE: 10K`")
    })
}
