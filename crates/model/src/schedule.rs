//! A run's schedule: everything that its ranks did, recorded once. Replayed over a [`Network`], it gives the
//! virtual clocks of that run again, or those that the same run would have on another fabric, with another
//! message-passing library, or with its ranks placed otherwise.
//!
//! # The format, version 1
//! All numbers are unsigned LEB128 (seven bits a byte, the lowest first; the highest bit says that more follow).
//! A text is its length in bytes, then UTF-8.
//!
//! | part | is |
//! |---|---|
//! | `crosstalk schedule 1` and a line feed | the format and its version |
//! | number of ranks | |
//! | picoseconds of the host's CPU to combine 1,024 bytes | |
//! | text | what was run, for people |
//! | for each rank: bytes of its operations, then these ([`codec`]) | |
//! | for each rank: compute, wait, serialise, spill | its clock at the end, in picoseconds |
//! | four bytes, little-endian | CRC-32 of all bytes before |
//!
//! A file that is cut short has no valid check, and is refused.

pub mod codec;
mod replay;

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;

use crate::network::{Operation, TimeBreakdown};
use crate::time::VirtualTime;
use codec::{Item, Reader, put, put_text};

/// The first line.
const MAGIC: &[u8] = b"crosstalk schedule ";
/// The version of the format.
pub const VERSION: &str = "1";
/// Bytes of the check.
const CHECK: usize = 4;
/// Combining is written for so many bytes: a byte takes less than a picosecond.
const COMBINED: f64 = 1024.0;

/// A run's schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// What was run, for people.
    pub title: String,
    /// Seconds of the host's CPU to combine a byte in a reduction.
    pub combine: Seconds,
    /// Each rank's operations, coded.
    pub operations: Vec<Vec<u8>>,
    /// Each rank's clock at the end.
    pub clocks: Vec<TimeBreakdown>,
}

impl Schedule {
    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(VERSION.as_bytes());
        bytes.push(b'\n');
        put(&mut bytes, self.operations.len() as u64);
        put(&mut bytes, to_picoseconds(self.combine));
        put_text(&mut bytes, &self.title);
        for operations in &self.operations {
            put(&mut bytes, operations.len() as u64);
            bytes.extend_from_slice(operations);
        }
        for clock in &self.clocks {
            let parts = [clock.compute, clock.wait, clock.serialise, clock.spill];
            parts.into_iter().for_each(|part| put(&mut bytes, part.0));
        }
        let check = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads a file, and checks every operation.
    ///
    /// # Errors
    /// A usage fault where it is no schedule of this version, was cut short, or has no valid operation somewhere.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| {
            malformed("it does not begin with `crosstalk schedule`").remedy("name a file that a run recorded")
        })?;
        let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest, |end| &rest[..end]);
        if line != VERSION.as_bytes() {
            let found = String::from_utf8_lossy(&line[..line.len().min(20)]).into_owned();
            return Err(malformed(format!("expected version {VERSION}, found {found}"))
                .remedy("record the run again, or use the version of crosstalk that recorded it"));
        }
        let cut = || malformed("it was cut short, or changed").remedy("record the run again");
        let body =
            bytes.len().checked_sub(CHECK).filter(|end| *end > MAGIC.len() + line.len()).ok_or_else(cut)?;
        let (body, check) = bytes.split_at(body);
        if crc32fast::hash(body).to_le_bytes() != check {
            return Err(cut());
        }
        let mut reader = Reader::new(&body[MAGIC.len() + line.len() + 1..]);
        let schedule = Self::read(&mut reader).ok_or_else(cut)?;
        schedule.check()?;
        Ok(schedule)
    }

    fn read(reader: &mut Reader) -> Option<Self> {
        let ranks = usize::try_from(reader.number()?).ok()?;
        let combine = Seconds(reader.number()? as f64 / COMBINED * 1e-12);
        let title = reader.text()?;
        // Grows with what is there, whatever the number says.
        let mut operations = Vec::new();
        for _ in 0..ranks {
            let length = usize::try_from(reader.number()?).ok()?;
            operations.push(reader.bytes(length)?.to_vec());
        }
        let mut clocks = Vec::new();
        for _ in 0..ranks {
            let mut part = || reader.number().map(VirtualTime);
            let [compute, wait, serialise, spill] = [part()?, part()?, part()?, part()?];
            clocks.push(TimeBreakdown { compute, wait, serialise, spill });
        }
        reader.is_at_end().then_some(Schedule { title, combine, operations, clocks })
    }

    fn check(&self) -> Result<(), Fault> {
        if self.operations.is_empty() {
            return Err(malformed("it has no rank"));
        }
        for (rank, operations) in self.operations.iter().enumerate() {
            let mut reader = Reader::new(operations);
            while !reader.is_at_end() {
                let at = reader.position();
                let item = reader.item();
                let item =
                    item.map_err(|fault| malformed(format!("rank {rank}, at byte {at}: {}", fault.message)))?;
                let item =
                    item.ok_or_else(|| malformed(format!("rank {rank} has no operation at byte {at}")))?;
                if matches!(item, Item::Operation(Operation::Finish, _)) && !reader.is_at_end() {
                    return Err(malformed(format!("rank {rank} has operations after its end")));
                }
            }
        }
        Ok(())
    }

    /// How many operations it has.
    pub fn count(&self) -> u64 {
        let of_rank = |operations: &Vec<u8>| {
            let mut reader = Reader::new(operations);
            std::iter::from_fn(|| reader.item().ok().flatten())
                .filter(|item| matches!(item, Item::Operation(..)))
                .count() as u64
        };
        self.operations.iter().map(of_rank).sum()
    }
}

/// Picoseconds to combine [`COMBINED`] bytes.
fn to_picoseconds(combine: Seconds) -> u64 {
    (combine.0 * COMBINED * 1e12).round() as u64
}

/// The time to combine a byte as a schedule keeps it: who records has to use the same.
pub fn as_recorded(combine: Seconds) -> Seconds {
    Seconds(to_picoseconds(combine) as f64 / COMBINED * 1e-12)
}

fn malformed(what: impl Into<String>) -> Fault {
    Fault::usage(format!("not a schedule: {}", what.into()))
}

#[cfg(test)]
mod tests;
