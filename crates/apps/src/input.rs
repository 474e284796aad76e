//! Text files that people name as input: plain or compressed, in UTF-8, with any line ends.
//!
//! The first bytes decide how a file is read, not its name. A byte order mark is skipped, and every line ends
//! in LF, whether the file has LF, CRLF or CR alone.

use crosstalk_core::Fault;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

mod packing;

pub use packing::Packing;
pub use packing::foreign_format as not_text;
use packing::{HEAD, Unsupported, foreign_format};

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Opens a file that can be read several times: once to check it, then by every node that has a part of it.
///
/// # Errors
/// Where it is a pipe, for whose writer `open` would wait, a device, which may not end, or a directory; and
/// where it cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(ErrorKind::Unsupported, "it is no regular file, and is read more than once"))
}

/// Finds out how a file is compressed.
///
/// # Errors
/// As [`open_regular`].
pub fn packing(path: &Path) -> io::Result<Packing> {
    Ok(Packing::detect(&head(&mut open_regular(path)?)?))
}

/// The text of a file, decompressed, without a byte order mark, with lines that end in LF.
pub struct TextFile {
    path: PathBuf,
    packing: Packing,
    from: Box<dyn Read + Send>,
    /// Whether the last byte was a CR, which was returned as LF.
    after_return: bool,
}

impl TextFile {
    /// Opens a file and checks its first bytes.
    ///
    /// # Errors
    /// Where there is no such file, it is no regular file, cannot be read or decompressed, is
    /// an archive, or text in UTF-16.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let begin = || -> io::Result<_> {
            let mut file = open_regular(path)?;
            let first = head(&mut file)?;
            Ok((Packing::detect(&first), Cursor::new(first).chain(file)))
        };
        let (packing, file) = begin().map_err(|e| unreadable(path, Packing::Plain, &e))?;
        let mut text =
            TextFile { path: path.into(), packing, from: packing.unpack(file), after_return: false };
        text.begin()?;
        Ok(text)
    }

    /// Skips a byte order mark.
    fn begin(&mut self) -> Result<(), Fault> {
        let mut first = head(&mut self.from).map_err(|e| self.read_fault(&e))?;
        if let Some(found) = foreign_format(&first) {
            let inside = match self.packing {
                Packing::Plain => String::new(),
                packing => format!(" in a {} file", packing.name()),
            };
            return Err(Fault::usage(format!("expected a text file, found {found}{inside}"))
                .at(self.path.display().to_string())
                .remedy("give UTF-8 text: plain, or compressed once by gzip, bzip2, xz or zstd"));
        }
        if first.starts_with(MARK) {
            first.drain(..MARK.len());
        }
        let rest = std::mem::replace(&mut self.from, Box::new(io::empty()));
        self.from = Box::new(Cursor::new(first).chain(rest));
        Ok(())
    }

    /// Appends `bytes` more bytes of text to `buffer`; fewer only at the end of the text.
    ///
    /// # Errors
    /// Where the file cannot be read, or is cut short or damaged.
    pub fn append_to(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> Result<usize, Fault> {
        let held = buffer.len();
        buffer.resize(held + bytes, 0);
        let mut filled = held;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) => {
                    buffer.truncate(filled);
                    return Err(self.read_fault(&e));
                }
            }
        }
        buffer.truncate(filled);
        Ok(filled - held)
    }

    /// Reads the whole text.
    ///
    /// # Errors
    /// As [`TextFile::append_to`].
    pub fn read_whole(mut self) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        match self.read_to_end(&mut whole) {
            Ok(_) => Ok(whole),
            Err(e) => Err(self.read_fault(&e)),
        }
    }

    /// The fault for a file where reading it gave this error.
    pub fn read_fault(&self, error: &io::Error) -> Fault {
        unreadable(&self.path, self.packing, error)
    }
}

impl Read for TextFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self.from.read(buffer) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            let kept = line_feeds(&mut buffer[..read], &mut self.after_return);
            // Nothing is left of a single LF after a CR, and 0 would mean the end of the text.
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}

/// Makes every CRLF and CR in `bytes` an LF; returns how many bytes there then are.
/// `after_return`: whether the byte before is a CR.
fn line_feeds(bytes: &mut [u8], after_return: &mut bool) -> usize {
    let skip = usize::from(*after_return && bytes.first() == Some(&b'\n'));
    let Some(last) = bytes.last() else { return 0 };
    *after_return = *last == b'\r';
    // Files with LF alone cost this search only.
    let Some(first) = memchr::memchr(b'\r', bytes) else {
        bytes.copy_within(skip.., 0);
        return bytes.len() - skip;
    };
    bytes.copy_within(skip..first, 0);
    let (mut kept, mut at) = (first - skip, first);
    while at < bytes.len() {
        // At a CR.
        bytes[kept] = b'\n';
        kept += 1;
        at += 1 + usize::from(bytes.get(at + 1) == Some(&b'\n'));
        let next = memchr::memchr(b'\r', &bytes[at..]).map_or(bytes.len(), |found| at + found);
        bytes.copy_within(at..next, kept);
        kept += next - at;
        at = next;
    }
    kept
}

/// The first bytes: as many as show what a file is.
fn head(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    from.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn unreadable(path: &Path, packing: Packing, error: &io::Error) -> Fault {
    let (name, again) = (packing.name(), "copy or download it again");
    let fault = match cause(error) {
        _ if error.kind() == ErrorKind::NotFound => {
            Fault::usage("no such file").remedy("name a file that every node can read under this path")
        }
        Cause::System(error) => Fault::usage(format!("cannot be read: {error}")),
        _ if packing == Packing::Plain => Fault::usage(format!("cannot be read: {error}")),
        Cause::Unsupported(why) => why.fault(packing),
        Cause::End => Fault::usage(format!("the {name} file is cut short")).remedy(again),
        Cause::Other => Fault::usage(format!("the {name} file is damaged ({error})")).remedy(again),
    };
    fault.at(path.display().to_string())
}

/// Why a decompressor failed.
enum Cause<'a> {
    /// The operating system reported an error.
    System(&'a io::Error),
    /// The format is not supported.
    Unsupported(&'a Unsupported),
    /// The file ended too early.
    End,
    /// The contents are damaged.
    Other,
}

/// Decompressors wrap the errors that they get, some of them several times.
fn cause(error: &io::Error) -> Cause<'_> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(why) = error.downcast_ref::<Unsupported>() {
            return Cause::Unsupported(why);
        }
        match error.downcast_ref::<io::Error>() {
            Some(error) if error.raw_os_error().is_some() => return Cause::System(error),
            Some(error) if error.kind() == ErrorKind::UnexpectedEof => return Cause::End,
            // `source` of an I/O error is the source of what it wraps.
            Some(wrapper) => cause = wrapper.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => cause = error.source(),
        }
    }
    Cause::Other
}

#[cfg(test)]
mod tests;
