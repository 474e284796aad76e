//! Pages of a MediaWiki export (`enwiki-…-pages-articles….xml`), plain or bz2,
//! streamed: no more than a page and a buffer are held.
//!
//! The format: <https://www.mediawiki.org/wiki/Help:Export>. Text in it is
//! escaped, so that a tag is a tag wherever it stands.

use bzip2::read::MultiBzDecoder;
use crosstalk_core::Fault;
use memchr::memmem::Finder;
use std::io::Read;
use std::path::Path;

use crate::app::input;

/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// More than any page has: MediaWiki refuses texts of more than 2 MiB.
const LARGEST: usize = 64 << 20;

const OPEN: &[u8] = b"<page>";
const CLOSE: &[u8] = b"</page>";

/// The pages of a file, one after the other.
pub struct Pages {
    name: String,
    input: Box<dyn Read>,
    ended: bool,
    /// What was read and not handed out.
    buffer: Vec<u8>,
    /// Where in the buffer the next page is looked for.
    at: usize,
    /// Where in the XML the buffer begins.
    base: u64,
    /// Pages begun.
    number: u64,
}

impl Pages {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let name = path.display().to_string();
        let file = input::open(path)
            .map_err(|e| Fault::usage(format!("cannot open the corpus: {e}")).at(name.clone()))?;
        let packed = path.extension().is_some_and(|extension| extension == "bz2");
        let input: Box<dyn Read> = if packed { Box::new(MultiBzDecoder::new(file)) } else { Box::new(file) };
        let mut pages = Pages { name, input, ended: false, buffer: Vec::new(), at: 0, base: 0, number: 0 };
        pages.root()?;
        Ok(pages)
    }

    /// The file begins as an export does.
    fn root(&mut self) -> Result<(), Fault> {
        let root = Finder::new(b"<mediawiki");
        while root.find(&self.buffer).is_none() && self.buffer.len() < CHUNK && !self.ended {
            self.fill()?;
        }
        match root.find(&self.buffer) {
            Some(at) => {
                self.at = at;
                Ok(())
            }
            None => Err(self.fault(0, "expected a MediaWiki export, found no <mediawiki>".into())),
        }
    }

    /// The next page, from `<page>` to `</page>`; `None` after the last.
    pub fn page(&mut self) -> Result<Option<&str>, Fault> {
        let Some(from) = self.find(OPEN, self.at)? else {
            if Finder::new(b"</mediawiki>").find(&self.buffer[self.at..]).is_none() {
                return Err(
                    self.fault(self.buffer.len(), "expected </mediawiki>, found the file's end".into())
                );
            }
            return Ok(None);
        };
        // What was handed out before goes; the page then begins the buffer.
        self.number += 1;
        self.buffer.drain(..from);
        self.base += from as u64;
        self.at = 0;
        let Some(end) = self.find(CLOSE, OPEN.len())? else {
            return Err(self.fault(0, "the page that begins here does not end: the file is cut short".into()));
        };
        if let Some(nested) = Finder::new(OPEN).find(&self.buffer[OPEN.len()..end]) {
            return Err(self.fault(OPEN.len() + nested, "a page begins within a page".into()));
        }
        self.at = end + CLOSE.len();
        match std::str::from_utf8(&self.buffer[..self.at]) {
            Ok(page) => Ok(Some(page)),
            Err(e) => Err(self.fault(e.valid_up_to(), "expected UTF-8, found other bytes".into())),
        }
    }

    /// The fault of the page that was handed out last.
    pub fn refuse(&self, message: String) -> Fault {
        self.fault(0, message)
    }

    /// Where `tag` is in the buffer from `at` on; reads until it is there.
    fn find(&mut self, tag: &[u8], mut at: usize) -> Result<Option<usize>, Fault> {
        let finder = Finder::new(tag);
        loop {
            if let Some(found) = finder.find(&self.buffer[at..]) {
                return Ok(Some(at + found));
            }
            if self.ended {
                return Ok(None);
            }
            at = at.max((self.buffer.len() + 1).saturating_sub(tag.len()));
            if self.buffer.len() - self.at > LARGEST {
                return Err(self.fault(self.at, format!("expected a page, found none in {LARGEST} bytes")));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), Fault> {
        let held = self.buffer.len();
        self.buffer.resize(held + CHUNK, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[held..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(held + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(read) => {
                self.ended = read == 0;
                Ok(())
            }
            Err(e) => Err(self.fault(held, format!("cannot be read on: {e}")).remedy("fetch the file again")),
        }
    }

    /// Something is wrong at this place of the buffer.
    fn fault(&self, at: usize, message: String) -> Fault {
        let Pages { name, number, base, .. } = self;
        Fault::usage(message).at(format!("{name}: page {number}, byte {} of the XML", base + at as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<String>, Fault> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let mut pages = Pages::open(&path)?;
        let mut found = Vec::new();
        while let Some(page) = pages.page()? {
            found.push(page.to_string());
        }
        Ok(found)
    }

    fn export(pages: &[&str]) -> String {
        let pages: String = pages.iter().map(|page| format!("  <page>{page}</page>\n")).collect();
        format!("<mediawiki version=\"0.10\">\n<siteinfo/>\n{pages}</mediawiki>\n")
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).expect("packs");
        encoder.finish().expect("packs")
    }

    fn refusal(name: &str, bytes: &[u8]) -> (String, String) {
        let fault = read(name, bytes).expect_err("refused");
        (fault.place.expect("a place").rsplit_once("corpus.").expect("its file").1.into(), fault.message)
    }

    #[test]
    fn pages_come_one_by_one_plain_or_packed() {
        let long = "x".repeat(3 * CHUNK);
        let text = export(&["one", &long, "three"]);
        let expected: Vec<String> =
            ["one", &long, "three"].iter().map(|p| format!("<page>{p}</page>")).collect();
        assert_eq!(read("corpus.xml", text.as_bytes()), Ok(expected.clone()));
        assert_eq!(read("corpus.xml.bz2", &packed(text.as_bytes())), Ok(expected.clone()));
        // A multistream file, as Wikipedia has them too.
        let (head, tail) = text.split_at(text.len() / 2);
        let both = [packed(head.as_bytes()), packed(tail.as_bytes())].concat();
        assert_eq!(read("corpus.xml.bz2", &both), Ok(expected));
        assert_eq!(read("corpus.xml", export(&[]).as_bytes()), Ok(Vec::new()));
    }

    #[test]
    fn what_is_broken_is_named_with_its_place() {
        let text = export(&["one", "two"]);
        let place = |tag: &str, place: &str| (format!("xml: page {place} of the XML"), tag.to_string());
        let cut = "the page that begins here does not end: the file is cut short";
        assert_eq!(refusal("corpus.xml", &text.as_bytes()[..75]), place(cut, "2, byte 60"));
        let no_end = "expected </mediawiki>, found the file's end";
        assert_eq!(refusal("corpus.xml", &text.as_bytes()[..59]), place(no_end, "1, byte 59"));
        let nested = export(&["one", "t<page>o"]);
        assert_eq!(
            refusal("corpus.xml", nested.as_bytes()),
            place("a page begins within a page", "2, byte 67")
        );
        let bytes = text.replace("two", "t#o").into_bytes();
        let latin: Vec<u8> = bytes.iter().map(|byte| if *byte == b'#' { 0xe9 } else { *byte }).collect();
        assert_eq!(refusal("corpus.xml", &latin).1, "expected UTF-8, found other bytes");
        assert!(refusal("corpus.xml", b"1 2\n3 4\n").1.contains("found no <mediawiki>"));
        assert!(refusal("corpus.xml", b"").1.contains("found no <mediawiki>"));
    }

    #[test]
    fn a_packed_file_that_is_cut_or_damaged_is_named() {
        let mut bytes = packed(export(&["one", &"two ".repeat(1000)]).as_bytes());
        assert!(refusal("corpus.xml.bz2", &bytes[..bytes.len() - 20]).1.starts_with("cannot be read on"));
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        assert!(refusal("corpus.xml.bz2", &bytes).1.starts_with("cannot be read on"));
        assert!(refusal("corpus.xml.bz2", b"plain text").1.starts_with("cannot be read on"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let fault = Pages::open(Path::new("/nowhere/corpus.xml")).map(|_| ()).expect_err("refused");
        assert_eq!(fault.place.as_deref(), Some("/nowhere/corpus.xml"));
    }
}
