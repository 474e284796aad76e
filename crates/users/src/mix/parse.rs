//! Reading a mix file. Each fault names file and line, what was found, and what was expected.

use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, quoted};

use super::activity::{Activity, Size};
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
    /// How many users do what, in the order of the file. A mix has either these or hits.
    pub users: Vec<(usize, Activity)>,
}

/// What a line of it says.
enum Line {
    Hits(&'static Test, u32),
    Users(usize, Activity),
    FileSize(Bytes),
    PoolSize(Bytes),
}

/// The most users of a mix.
const MOST_USERS: usize = 10_000;
/// The largest file: 1 TiB.
const LARGEST: u64 = 1 << 40;

/// Reads a mix file; `place` is its name.
pub(super) fn content(text: &str, place: &str) -> Result<Content, Fault> {
    let mut mix = Content { file_size: FILE_SIZE, pool_size: Bytes(0), hits: Vec::new(), users: Vec::new() };
    // The lines of the hits, for faults.
    let mut lines: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fault = |fault: Fault| fault.at(format!("{place}:{number}"));
        match line_of(line).map_err(fault)? {
            None => {}
            Some(Line::FileSize(size)) => mix.file_size = size,
            Some(Line::PoolSize(size)) => mix.pool_size = size,
            Some(Line::Users(count, activity)) => {
                mix.users.push((count, activity));
                let all: usize = mix.users.iter().map(|(count, _)| count).sum();
                if all > MOST_USERS {
                    let message =
                        format!("expected at most {MOST_USERS} users in all, found {all} up to here");
                    return Err(fault(Fault::usage(message).remedy("write smaller numbers of users")));
                }
            }
            Some(Line::Hits(test, hits)) => {
                if let Some(other) = mix.hits.iter().position(|(other, _)| other.name == test.name) {
                    let message = format!("`{}` is on line {} already", test.name, lines[other]);
                    return Err(fault(Fault::usage(message).remedy("keep one of the two lines")));
                }
                mix.hits.push((test, hits));
                lines.push(number);
            }
        }
        if !mix.hits.is_empty() && !mix.users.is_empty() {
            return Err(fault(
                Fault::usage("expected lines with tests or lines with users, found both")
                    .remedy("make a file of each"),
            ));
        }
    }
    if mix.hits.is_empty() && mix.users.is_empty() {
        return Err(Fault::usage(
            "expected at least one line with hits and a test, or with users, found none",
        )
        .at(place)
        .remedy("write for example `10 disk_rr`, or `4 users reread 24M`"));
    }
    Ok(mix)
}

/// What a line says; nothing if it is empty or a comment.
fn line_of(line: &str) -> Result<Option<Line>, Fault> {
    if line.contains('\0') {
        return Err(Fault::usage("expected text, found a zero byte").remedy("write the line again"));
    }
    if let Some((count, command)) = users_that_run(line) {
        return Ok(Some(Line::Users(count_of(count)?, Activity::Run(command.into()))));
    }
    let said = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().collect();
    match words[..] {
        [] => Ok(None),
        [count, "user" | "users", "reread", size] => {
            Ok(Some(Line::Users(count_of(count)?, Activity::Reread(size_or_share(size)?))))
        }
        [count, "user" | "users", "stream", size] => {
            Ok(Some(Line::Users(count_of(count)?, Activity::Stream(size_or_share(size)?))))
        }
        [_, "user" | "users", ..] => {
            let message = format!(
                "expected what users do: `reread SIZE`, `stream SIZE` or `run COMMAND`, found `{}`",
                quoted(said.trim())
            );
            Err(Fault::usage(message).remedy(
                "write for example `4 users reread 24M`, `1 user stream 200%` or `2 users run ./job 1`",
            ))
        }
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

/// The count and the command of a line `COUNT users run COMMAND`. The command is the rest of the line as it is: a `#`
/// in it is the shell's.
fn users_that_run(line: &str) -> Option<(&str, &str)> {
    let (count, rest) = line.trim().split_once(char::is_whitespace)?;
    let (users, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (run, command) = rest.trim_start().split_once(char::is_whitespace)?;
    let is_one = !count.starts_with('#') && ["user", "users"].contains(&users) && run == "run";
    let command = command.trim();
    (is_one && !command.is_empty()).then_some((count, command))
}

fn count_of(word: &str) -> Result<usize, Fault> {
    let count = word.parse().ok().filter(|count| (1..=MOST_USERS).contains(count));
    count.ok_or_else(|| {
        Fault::usage(format!("expected a number of users from 1 to {MOST_USERS}, found `{}`", quoted(word)))
            .remedy("write for example `4 users reread 24M`")
    })
}

/// A size, or a share of the machine's memory: `24M`, `5%`.
fn size_or_share(word: &str) -> Result<Size, Fault> {
    let Some(number) = word.strip_suffix('%') else {
        if word.ends_with(|last: char| last.is_ascii_alphabetic()) {
            return size_of(word).map(Size::Bytes);
        }
        let message = format!("expected a size with K or M, or a share with %, found `{}`", quoted(word));
        return Err(
            Fault::usage(message).remedy("write for example `4 users reread 24M`, or `1 user stream 200%`")
        );
    };
    let share = number.parse().ok().filter(|share| (0.01..=10_000.0).contains(share));
    share.map(|share: f64| Size::Share(share / 100.0)).ok_or_else(|| {
        Fault::usage(format!("expected a share from 0.01% to 10000%, found `{}`", quoted(word)))
            .remedy("write for example `1 user stream 200%`")
    })
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
        Some(number.saturating_mul(unit(last)?))
    };
    let size = size().ok_or_else(|| {
        Fault::usage(format!("expected a size with K or M, found `{}`", quoted(word)))
            .remedy("write for example `FILESIZE: 10K`")
    })?;
    if size > LARGEST {
        let message = format!("expected a size of at most {}M, found `{}`", LARGEST >> 20, quoted(word));
        return Err(Fault::usage(message).remedy("write a smaller one"));
    }
    Ok(Bytes(size))
}
