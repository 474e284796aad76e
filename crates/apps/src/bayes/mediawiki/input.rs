//! What the parser of an export reads.

use std::io::{self, BufRead, Read};

use crosstalk_core::Fault;

use crate::input::TextFile;

/// Bytes that are read at once.
pub const CHUNK: usize = 256 << 10;

/// The parser's input. What was read is kept until a page is complete.
pub struct Input {
    text: TextFile,
    chunk: Vec<u8>,
    /// Number of bytes of the chunk that were read.
    at: usize,
    /// What was read of the page.
    pub kept: Vec<u8>,
    /// Bytes that may be kept.
    pub most: usize,
    /// The fault of a file that cannot be read.
    pub fault: Option<Fault>,
}

impl Input {
    /// The input that reads this text.
    pub fn new(text: TextFile) -> Self {
        Input { text, chunk: Vec::new(), at: 0, kept: Vec::new(), most: CHUNK, fault: None }
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.chunk.len() {
            if self.kept.len() > self.most {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.chunk.clear();
            self.at = 0;
            if let Err(fault) = self.text.append_to(&mut self.chunk, CHUNK) {
                self.fault = Some(fault);
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(&self.chunk[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        let end = self.at + bytes;
        self.kept.extend_from_slice(&self.chunk[self.at..end]);
        self.at = end;
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
