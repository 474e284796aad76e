//! What ties a journal's lines together: whose they are, in which order, and that they are what was written.
//!
//! The last member of each line's object is `"check":"RRRRRRRR-NNNNNNNN-CCCCCCCC"`, in hexadecimal digits:
//! the run, which is the CRC-32 (that of zlib and PNG) of its first such line's other members; the line's number
//! in the journal, from 1; and the CRC-32 of all bytes of the line before these eight digits. Version 2 of the
//! journal had the CRC-32 of the other members alone, in `"crc"`; version 1 had nothing.

use crosstalk_core::Fault;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::quote::message;
use crosstalk_core::record::{JOURNAL_SCHEMA, Line};

/// How long what is checked is, with what is around it, in versions 3 and 2.
const CHECK: usize = r#","check":"01234567-01234567-01234567"}"#.len();
const CRC: usize = r#","crc":"01234567"}"#.len();

/// How far a journal has been read or written.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The run, once a line has told.
    run: Option<u32>,
    /// The number of the last line that told it.
    last: u32,
    /// Lines since, whatever they are.
    since: u32,
    /// What every line carries from here on.
    carried: Carried,
}

/// What a line carries, and lines of each version at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Carried {
    #[default]
    Nothing,
    Crc,
    Check,
}

impl Chain {
    /// The run, once a line has told.
    pub fn run(&self) -> Option<u32> {
        self.run
    }

    /// The next line as it is written, with its end.
    ///
    /// # Errors
    /// An environment fault where the line has no form in JSON.
    pub fn written(&mut self, line: &Line) -> Result<Vec<u8>, Fault> {
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

    /// The next line, and how many are missing before it.
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

    /// The line, and its number where it has one.
    fn line(&mut self, bytes: Vec<u8>) -> Result<(Line, Option<u32>), Fault> {
        let (found, members) = Found::of(&bytes);
        let carries = match found {
            Found::Wrong => {
                return Err(Fault::usage("this line is not what was written: its checksum is another"));
            }
            Found::Check { .. } => Carried::Check,
            Found::Crc => Carried::Crc,
            Found::Nothing => Carried::Nothing,
        };
        let bare = Err(Fault::usage("this line has no checksum, or too simple a one"));
        if carries < self.carried {
            return bare;
        }
        self.carried = carries;
        let mut number = None;
        if let Found::Check { run, number: told } = found {
            if *self.run.get_or_insert(run) != run {
                return Err(Fault::usage("this line is of another run"));
            }
            if told <= self.last {
                return Err(Fault::usage("this line is doubled, or stood at another place"));
            }
            number = Some(told);
        }
        let end: &[u8] = if carries == Carried::Nothing { b"" } else { b"}" };
        let line = serde_json::from_slice(&[members, end].concat()).map_err(|e| {
            Fault::usage(format!(
                "not a line of {JOURNAL_SCHEMA}: {}",
                message(in_plain_words(&e.to_string()))
            ))
        })?;
        match &line {
            Line::Run { schema, .. } if schema == JOURNAL_SCHEMA && number.is_none() => {
                self.carried = Carried::Check;
                bare
            }
            _ => Ok((line, number)),
        }
    }
}

/// What a line's last member says.
enum Found {
    Check { run: u32, number: u32 },
    Crc,
    Nothing,
    Wrong,
}

impl Found {
    /// With the line before that member.
    fn of(line: &[u8]) -> (Self, &[u8]) {
        if let Some((members, check)) = line.split_last_chunk::<CHECK>()
            && check.starts_with(br#","check":""#)
        {
            return (Found::check(line, check).unwrap_or(Found::Wrong), members);
        }
        match line.split_last_chunk::<CRC>() {
            Some((members, crc)) if crc.starts_with(br#","crc":""#) => {
                let right = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(members));
                (if right.as_bytes() == crc { Found::Crc } else { Found::Wrong }, members)
            }
            _ => (Found::Nothing, line),
        }
    }

    fn check(line: &[u8], check: &[u8; CHECK]) -> Option<Self> {
        let text = str::from_utf8(check).ok()?.strip_prefix(",\"check\":\"")?.strip_suffix("\"}")?;
        let before = line.len() - r#"01234567"}"#.len();
        let [run, number, crc] = text.split('-').collect::<Vec<_>>()[..] else { return None };
        let right = format!("{:08x}", crc32fast::hash(&line[..before]));
        let digits = |text: &str| u32::from_str_radix(text, 16).ok();
        (crc == right).then_some(Found::Check { run: digits(run)?, number: digits(number)? })
    }
}
