//! Files of the kernel's that are read again and again: opened once, read from the beginning.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longer than any file that is read so.
const LONGEST: usize = 64 << 10;
/// A file that has said less is at its end: the kernel ends a reading only where the next record does not
/// fit into a page (fs/seq_file.c), and none is that long here. Asking again would have it written again.
const WHOLE: usize = 2048;

/// The open file.
#[derive(Debug)]
pub(super) struct Steady {
    file: File,
    buffer: Vec<u8>,
}

impl Steady {
    /// Opens it; `None` where it is not there.
    pub(super) fn open(path: &Path) -> Option<Self> {
        Some(Steady { file: File::open(path).ok()?, buffer: vec![0; 4096] })
    }

    /// What it says now.
    ///
    /// # Errors
    /// When what it is about is gone.
    pub(super) fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            let read = self.file.read_at(&mut self.buffer[length..], length as u64)?;
            length += read;
            if read == 0 || length < WHOLE || length == LONGEST {
                break;
            }
            if length == self.buffer.len() {
                self.buffer.resize((2 * length).min(LONGEST), 0);
            }
        }
        Ok(std::str::from_utf8(&self.buffer[..length]).unwrap_or_default())
    }

    /// What `parse` makes of it; `None` where it is gone.
    pub(super) fn parsed<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        parse(self.read().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_it_says_now() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        for text in ["one".to_string(), "x".repeat(10_000), String::new()] {
            std::fs::write(&path, &text).expect("writes");
            let mut steady = Steady::open(&path).expect("is there");
            assert_eq!(steady.read().expect("reads"), text);
            assert_eq!(steady.read().expect("reads"), text);
        }
        assert!(Steady::open(&folder.path().join("none")).is_none());
    }
}
