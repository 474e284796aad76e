//! A queue of byte strings that keeps the last ones in memory and the rest on
//! disk, to be read in order as often as needed.

use crosstalk_core::Fault;

use super::budget::Room;
use crate::spill::{Disk, Scratch, SpillFile};

/// A queue of byte strings, which spills to disk what exceeds its memory.
#[derive(Debug)]
pub struct Spool {
    scratch: Scratch,
    room: Room,
    /// The last bytes; the earlier ones are in `file`.
    buffer: Vec<u8>,
    file: Option<SpillFile>,
}

/// Bytes of a string's length.
const LENGTH: usize = 4;

impl Spool {
    /// An empty spool of so much memory.
    pub fn new(scratch: &Scratch, room: Room) -> Self {
        Spool { scratch: scratch.clone(), room, buffer: Vec::new(), file: None }
    }

    /// Appends a string, which must be shorter than 4 GiB.
    ///
    /// # Errors
    /// An attempt fault where it must be spilled and cannot.
    pub fn push(&mut self, disk: &mut dyn Disk, string: &[u8]) -> Result<(), Fault> {
        if self.buffer.len() + LENGTH + string.len() > self.room.buffer && !self.buffer.is_empty() {
            self.spill(disk)?;
        }
        self.grow(LENGTH + string.len());
        self.buffer.extend_from_slice(&(string.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(string);
        Ok(())
    }

    /// Changes the memory that the spool may use.
    ///
    /// # Errors
    /// An attempt fault where data that no longer fit cannot be spilled.
    pub fn set_memory(&mut self, disk: &mut dyn Disk, room: Room) -> Result<(), Fault> {
        self.room = room;
        if self.buffer.len() > room.buffer {
            self.spill(disk)?;
        }
        self.buffer.shrink_to(room.buffer);
        Ok(())
    }

    /// Makes place for `more` bytes: twice as much as before, but not beyond the spool's memory.
    fn grow(&mut self, more: usize) {
        let needed = self.buffer.len() + more;
        if needed > self.buffer.capacity() {
            let capacity = (2 * self.buffer.capacity()).min(self.room.buffer).max(needed);
            self.buffer.reserve_exact(capacity - self.buffer.len());
        }
    }

    #[cold]
    fn spill(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::new(&self.scratch)?),
        };
        file.append(disk, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// A reader from the spool's beginning.
    pub fn reader(&self) -> Reader<'_> {
        Reader { spool: self, window: Vec::new(), at: 0, last: 0, fetched: 0 }
    }
}

/// Reads a [`Spool`] in order: first from the disk, then from memory.
#[derive(Debug)]
pub struct Reader<'a> {
    spool: &'a Spool,
    /// Bytes of the file from byte `at` on that are not returned yet.
    window: Vec<u8>,
    /// Where the next string begins: in the window, then in the buffer.
    at: usize,
    /// The length of the string before it, which was read last.
    last: usize,
    /// Bytes that were read from the file.
    fetched: u64,
}

impl Reader<'_> {
    /// The next string; `None` after the last.
    ///
    /// # Errors
    /// An attempt fault where it cannot be read.
    pub fn read(&mut self, disk: &mut dyn Disk) -> Result<Option<&[u8]>, Fault> {
        if let Some(file) = &self.spool.file
            && (self.at < self.window.len() || self.fetched < file.length())
        {
            return self.spilled(disk, file).map(Some);
        }
        let rest = &self.spool.buffer[self.at - self.window.len()..];
        let Some((length, rest)) = rest.split_first_chunk() else {
            self.last = 0;
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        self.at += LENGTH + length;
        self.last = length;
        Ok(Some(&rest[..length]))
    }

    /// The string that was read last; empty before the first and after the last.
    pub fn string(&self) -> &[u8] {
        let begin = self.at - self.last;
        match begin.checked_sub(self.window.len()) {
            Some(begin) => &self.spool.buffer[begin..begin + self.last],
            None => &self.window[begin..self.at],
        }
    }

    fn spilled(&mut self, disk: &mut dyn Disk, file: &SpillFile) -> Result<&[u8], Fault> {
        self.hold(disk, file, LENGTH)?;
        let mut length = [0; LENGTH];
        length.copy_from_slice(&self.window[self.at..self.at + LENGTH]);
        let end = LENGTH + u32::from_le_bytes(length) as usize;
        self.hold(disk, file, end)?;
        let string = self.at + LENGTH..self.at + end;
        self.at = string.end;
        self.last = string.len();
        Ok(&self.window[string])
    }

    /// Makes the window hold `bytes` from where the next string begins.
    fn hold(&mut self, disk: &mut dyn Disk, file: &SpillFile, bytes: usize) -> Result<(), Fault> {
        if self.at + bytes <= self.window.len() {
            return Ok(());
        }
        self.window.drain(..self.at);
        self.at = 0;
        let kept = self.window.len();
        // A string that is longer than the window is held whole.
        let room = bytes.max(self.spool.room.window) - kept;
        let more = room.min((file.length() - self.fetched) as usize);
        self.window.resize(kept + more, 0);
        file.read(disk, self.fetched, &mut self.window[kept..])?;
        self.fetched += more as u64;
        if self.window.len() < bytes {
            return Err(Fault::attempt("a spooled string was cut short"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::mock::AccessLog;
    use proptest::prelude::*;

    const FREE: Room = Room { buffer: 1 << 20, window: 1 << 20 };

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            strings in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..60),
            buffer in 0_usize..300,
            window in 0_usize..100,
            later in 0_usize..300,
        ) {
            let (scratch, mut disk) = (Scratch::temporary(), AccessLog::default());
            let mut spool = Spool::new(&scratch, Room { buffer, window });
            for string in &strings {
                spool.push(&mut disk, string).expect("pushed");
            }
            let bytes: usize = strings.iter().map(|string| string.len() + 4).sum();
            prop_assert_eq!(scratch.traffic().written > 0, bytes > buffer && strings.len() > 1);
            let longest = strings.iter().map(|string| string.len() + LENGTH).max().unwrap_or(0);
            prop_assert!(spool.buffer.capacity() <= buffer.max(longest));
            spool.set_memory(&mut disk, Room { buffer: later, window }).expect("room");
            prop_assert!(spool.buffer.capacity() <= later);
            let written = scratch.traffic().written;
            for pass in 1..=2 {
                let mut reader = spool.reader();
                for string in &strings {
                    prop_assert_eq!(reader.read(&mut disk).expect("reads"), Some(string.as_slice()));
                    prop_assert_eq!(reader.string(), string.as_slice());
                }
                prop_assert_eq!(reader.read(&mut disk).expect("reads"), None);
                prop_assert!(reader.string().is_empty());
                // Each pass reads every byte once, front to back.
                prop_assert_eq!(scratch.traffic().read, pass * written);
            }
            prop_assert_eq!(disk.bytes_and_seeks().0, 3 * written);
            prop_assert_eq!(disk.bytes_and_seeks().1, if written > 0 { 3 } else { 0 });
        }
    }

    #[test]
    fn what_fits_turns_to_no_disk() {
        let mut disk = AccessLog::default();
        let mut spool = Spool::new(&Scratch::new("/proc/nowhere".into(), "it"), FREE);
        (0..100).for_each(|_| spool.push(&mut disk, b"some words").expect("pushed"));
        assert_eq!(spool.reader().read(&mut disk).expect("reads"), Some(&b"some words"[..]));
        assert!(disk.0.is_empty());
    }
}
