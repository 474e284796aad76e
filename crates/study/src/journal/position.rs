//! The checksums of a journal's lines: of which run a line is, its number, and that it is as written.
//!
//! The last member of each line's object is `"check":"RRRRRRRR-NNNNNNNN-CCCCCCCC"`, in hexadecimal digits. R is the run: the
//! CRC-32 (that of zlib and PNG) of the other members of its first such line. N is the line's number in the journal, from 1.
//! C is the CRC-32 of all bytes of the line before these eight digits. Version 2 of the journal had the CRC-32 of the other
//! members alone, in `"crc"`; version 1 had nothing.

use crosstalk_core::Fault;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::quote::message;
use crosstalk_core::record::{JOURNAL_SCHEMA, Line};

/// The lengths of the checksum member in versions 3 and 2, in bytes.
const CHECK_LENGTH: usize = r#","check":"01234567-01234567-01234567"}"#.len();
const CRC_LENGTH: usize = r#","crc":"01234567"}"#.len();

/// How far a journal was read or written: its run, and the number of its last line.
#[derive(Debug, Clone, Default)]
pub struct JournalPosition {
    /// The run; `None` before the first line that names it.
    run: Option<u32>,
    /// The number of the last line that has one.
    last: u32,
    /// How many lines came since, readable or not.
    since: u32,
    /// The least protection of every further line.
    protection: Protection,
}

/// How the lines of a journal's versions are protected, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Protection {
    #[default]
    Nothing,
    Crc,
    Check,
}

impl JournalPosition {
    /// The run; `None` before the first line that names it.
    pub fn run(&self) -> Option<u32> {
        self.run
    }

    /// Encodes the next line of the journal: the bytes to write, with its end.
    ///
    /// # Errors
    /// An environment fault where the line cannot be written as JSON.
    pub fn encode_next(&mut self, line: &Line) -> Result<Vec<u8>, Fault> {
        let mut text =
            serde_json::to_vec(line).map_err(|e| Fault::environment(format!("cannot write a line: {e}")))?;
        text.pop();
        let run = *self.run.get_or_insert_with(|| crc32fast::hash(&text));
        self.last = self.last.saturating_add(self.since + 1);
        self.since = 0;
        text.extend_from_slice(format!(",\"check\":\"{run:08x}-{:08x}-", self.last).as_bytes());
        text.extend_from_slice(format!("{:08x}\"}}\n", crc32fast::hash(&text)).as_bytes());
        Ok(text)
    }

    /// Reads the next line, and how many lines are missing before it.
    pub(super) fn read(&mut self, bytes: Vec<u8>) -> (Result<Line, Fault>, u32) {
        match self.line(bytes) {
            Ok((line, None)) => {
                self.since += 1;
                (Ok(line), 0)
            }
            Ok((line, Some(number))) => {
                let missing = (number - self.last - 1).saturating_sub(self.since);
                (self.last, self.since) = (number, 0);
                (Ok(line), missing)
            }
            Err(fault) => {
                self.since += 1;
                (Err(fault), 0)
            }
        }
    }

    /// Checks and reads a line; its number where it has one.
    fn line(&mut self, bytes: Vec<u8>) -> Result<(Line, Option<u32>), Fault> {
        let (found, members) = Checksum::of(&bytes);
        let protected_by = match found {
            Checksum::Wrong => {
                return Err(Fault::usage("this line is not what was written: its checksum is another"));
            }
            Checksum::Numbered { .. } => Protection::Check,
            Checksum::Crc => Protection::Crc,
            Checksum::Missing => Protection::Nothing,
        };
        let unprotected = Err(Fault::usage("this line has no checksum, or too simple a one"));
        if protected_by < self.protection {
            return unprotected;
        }
        self.protection = protected_by;
        let mut number = None;
        if let Checksum::Numbered { run, number: numbered } = found {
            if *self.run.get_or_insert(run) != run {
                return Err(Fault::usage("this line is of another run"));
            }
            if numbered <= self.last {
                return Err(Fault::usage("this line is doubled, or stood at another place"));
            }
            number = Some(numbered);
        }
        let end: &[u8] = if protected_by == Protection::Nothing { b"" } else { b"}" };
        let line = serde_json::from_slice(&[members, end].concat()).map_err(|e| {
            Fault::usage(format!(
                "not a line of {JOURNAL_SCHEMA}: {}",
                message(in_plain_words(&e.to_string()))
            ))
        })?;
        match &line {
            Line::Run { schema, .. } if schema == JOURNAL_SCHEMA && number.is_none() => {
                self.protection = Protection::Check;
                unprotected
            }
            _ => Ok((line, number)),
        }
    }
}

/// The checksum of a line, its last member.
enum Checksum {
    /// Right, with the run and the line's number (version 3).
    Numbered { run: u32, number: u32 },
    /// Right, a CRC alone (version 2).
    Crc,
    /// There is none (version 1).
    Missing,
    /// It does not match the line.
    Wrong,
}

impl Checksum {
    /// The checksum, and the line before it.
    fn of(line: &[u8]) -> (Self, &[u8]) {
        if let Some((members, check)) = line.split_last_chunk::<CHECK_LENGTH>()
            && check.starts_with(br#","check":""#)
        {
            return (Checksum::numbered(line, check).unwrap_or(Checksum::Wrong), members);
        }
        match line.split_last_chunk::<CRC_LENGTH>() {
            Some((members, crc)) if crc.starts_with(br#","crc":""#) => {
                let right = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(members));
                (if right.as_bytes() == crc { Checksum::Crc } else { Checksum::Wrong }, members)
            }
            _ => (Checksum::Missing, line),
        }
    }

    fn numbered(line: &[u8], check: &[u8; CHECK_LENGTH]) -> Option<Self> {
        let text = str::from_utf8(check).ok()?.strip_prefix(",\"check\":\"")?.strip_suffix("\"}")?;
        let before = line.len() - r#"01234567"}"#.len();
        let [run, number, crc] = text.split('-').collect::<Vec<_>>()[..] else { return None };
        let right = format!("{:08x}", crc32fast::hash(&line[..before]));
        let digits = |text: &str| u32::from_str_radix(text, 16).ok();
        (crc == right).then_some(Checksum::Numbered { run: digits(run)?, number: digits(number)? })
    }
}
