//! A queue of byte strings that keeps the first so many bytes in memory and
//! the rest on disk, to be read in order as often as needed.

use crosstalk_core::Fault;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use super::scratch::Scratch;

/// The queue.
#[derive(Debug)]
pub struct Spool {
    scratch: Scratch,
    budget: usize,
    /// Bytes that came last; the first ones are in `file`.
    buffer: Vec<u8>,
    file: Option<File>,
    written: u64,
}

/// Bytes of a string's length.
const LENGTH: usize = 4;

impl Spool {
    /// An empty one that holds `budget` bytes in memory.
    pub fn new(scratch: &Scratch, budget: usize) -> Self {
        Spool { scratch: scratch.clone(), budget, buffer: Vec::new(), file: None, written: 0 }
    }

    /// Appends a string, which must be shorter than 4 GiB.
    pub fn push(&mut self, string: &[u8]) -> Result<(), Fault> {
        if self.buffer.len() + LENGTH + string.len() > self.budget && !self.buffer.is_empty() {
            self.spill()?;
        }
        self.buffer.extend_from_slice(&(string.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(string);
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Fault> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.scratch.file()?,
        };
        file.write_all(&self.buffer).map_err(|e| self.scratch.fault(format!("cannot spill: {e}")))?;
        self.file = Some(file);
        self.written += self.buffer.len() as u64;
        self.scratch.count(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    /// Reads from the begin.
    pub fn reader(&self) -> Reader<'_> {
        Reader { spool: self, at: 0, window: Vec::new(), from: 0 }
    }
}

/// Reads a [`Spool`].
#[derive(Debug)]
pub struct Reader<'a> {
    spool: &'a Spool,
    /// Where the next string begins.
    at: u64,
    /// A part of the file that begins at `from`.
    window: Vec<u8>,
    from: u64,
}

/// Bytes of a file that are read at once, at least.
const WINDOW: usize = 64 << 10;

impl Reader<'_> {
    /// The next string; `None` after the last.
    pub fn read(&mut self) -> Result<Option<&[u8]>, Fault> {
        let spool = self.spool;
        if self.at >= spool.written {
            let rest = &spool.buffer[(self.at - spool.written) as usize..];
            let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
            let length = u32::from_le_bytes(*length) as usize;
            self.at += (LENGTH + length) as u64;
            return Ok(Some(&rest[..length]));
        }
        self.hold(LENGTH)?;
        let start = (self.at - self.from) as usize;
        let mut length = [0; LENGTH];
        length.copy_from_slice(&self.window[start..start + LENGTH]);
        let length = u32::from_le_bytes(length) as usize;
        self.hold(LENGTH + length)?;
        let start = (self.at - self.from) as usize + LENGTH;
        self.at += (LENGTH + length) as u64;
        Ok(Some(&self.window[start..start + length]))
    }

    /// Makes the window hold `bytes` from where the next string begins.
    fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.at + bytes as u64 <= self.from + self.window.len() as u64 {
            return Ok(());
        }
        let Some(file) = &self.spool.file else {
            return Err(Fault::attempt("a spool without a file has nothing on disk"));
        };
        let left = (self.spool.written - self.at) as usize;
        // A shorter budget is kept when reading, too.
        let length = left.min(bytes.max(WINDOW.min(self.spool.budget)));
        self.window.resize(length, 0);
        self.from = self.at;
        file.read_exact_at(&mut self.window, self.at)
            .map_err(|e| self.spool.scratch.fault(format!("cannot read what was spilled: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            strings in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..60),
            budget in 0_usize..300,
        ) {
            let scratch = Scratch::new(std::env::temp_dir());
            let mut spool = Spool::new(&scratch, budget);
            for string in &strings {
                spool.push(string).expect("pushed");
            }
            for _ in 0..2 {
                let mut reader = spool.reader();
                for string in &strings {
                    prop_assert_eq!(reader.read().expect("reads"), Some(string.as_slice()));
                }
                prop_assert_eq!(reader.read().expect("reads"), None);
            }
            let bytes: usize = strings.iter().map(|string| string.len() + 4).sum();
            prop_assert_eq!(scratch.spilled().bytes > 0, bytes > budget && strings.len() > 1);
        }
    }
}
