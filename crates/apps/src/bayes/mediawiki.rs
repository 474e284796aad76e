//! Pages of a MediaWiki export (`enwiki-…-pages-articles….xml`), streamed: no more than a
//! page, two of its revisions and a buffer are held.
//!
//! The format: <https://www.mediawiki.org/wiki/Help:Export>.

use crosstalk_core::Fault;
use quick_xml::Error;
use quick_xml::errors::SyntaxError;
use quick_xml::events::Event;
use quick_xml::reader::Reader;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use input::Input;

use super::links;
use crate::input::TextFile;

mod input;

/// The most bytes of a page and two of its revisions: MediaWiki refuses texts of more than 2 MiB.
const LARGEST: usize = 64 << 20;

/// Reads the pages of a MediaWiki export file, one after the other.
pub struct Pages {
    name: String,
    reader: Reader<Input>,
    /// The buffer of an event.
    event: Vec<u8>,
    /// Elements that are open.
    depth: usize,
    /// Whether there was a `<mediawiki>`.
    rooted: bool,
    /// The page that is being read.
    page: Option<Page>,
    /// Number of pages begun.
    number: u64,
    /// Position of the last of them in the text.
    begin: u64,
    /// The word for category in the wiki's language, as `<siteinfo>` has it, folded.
    category: String,
    /// Whether it is being read.
    naming: bool,
    /// The page with its category links in one form, where they are not in the file.
    unified: String,
}

/// A page so far. Positions are in [`Input::kept`].
#[derive(Default)]
struct Page {
    /// The latest revision.
    latest: Option<Revision>,
    /// The revision that is being read.
    open: Option<Revision>,
    /// Whether its time is being read.
    timing: bool,
}

#[derive(Default)]
struct Revision {
    place: Range<usize>,
    /// In ISO 8601 and UTC, so that it sorts as text.
    time: String,
}

/// The meaning of an event.
#[derive(PartialEq)]
enum Step {
    /// Nothing.
    Within,
    /// A page begins.
    Begin,
    /// A page is whole.
    Whole,
    /// The export has ended.
    Last,
}

impl Pages {
    /// Opens a file, which must begin as an export does.
    ///
    /// # Errors
    /// Where it cannot be read as text, or is no MediaWiki export.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let mut reader = Reader::from_reader(Input::new(TextFile::open(path)?));
        reader.config_mut().allow_dangling_amp = true;
        let mut pages = Pages {
            name: path.display().to_string(),
            reader,
            event: Vec::new(),
            depth: 0,
            rooted: false,
            page: None,
            number: 0,
            begin: 0,
            category: String::new(),
            naming: false,
            unified: String::new(),
        };
        while !pages.rooted {
            if pages.step()? == Step::Last {
                return Err(pages.no_export());
            }
        }
        pages.reader.get_mut().most = LARGEST;
        Ok(pages)
    }

    /// The next page, from `<page …>` to `</page>`; `None` after the last. Of several revisions
    /// only the latest is in it. Its category links are [unified](links::unify_category_links).
    ///
    /// # Errors
    /// Where the file cannot be read, is cut short or is no well-formed export.
    pub fn next_page(&mut self) -> Result<Option<&str>, Fault> {
        loop {
            if self.page.is_none() {
                self.reader.get_mut().kept.clear();
            }
            match self.step()? {
                Step::Within | Step::Begin => (),
                Step::Whole => break,
                Step::Last => return Ok(None),
            }
        }
        match str::from_utf8(&self.reader.get_ref().kept) {
            Ok(page) => match links::unify_category_links(page, &self.category) {
                Cow::Borrowed(page) => Ok(Some(page)),
                Cow::Owned(page) => {
                    self.unified = page;
                    Ok(Some(&self.unified))
                }
            },
            Err(_) => Err(self.page_fault(NO_UTF8.into())),
        }
    }

    /// Reads up to the next event.
    fn step(&mut self) -> Result<Step, Fault> {
        self.event.clear();
        let (begin, from) = (self.reader.buffer_position(), self.reader.get_ref().kept.len());
        let event = match self.reader.read_event_into(&mut self.event) {
            Ok(event) => event,
            Err(e) => return Err(self.broken(e)),
        };
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                match (self.depth, tag.local_name().as_ref()) {
                    (1, "mediawiki") => self.rooted = true,
                    (1, _) => return Err(self.no_export()),
                    (2, "page") => return Ok(self.begin(begin)),
                    (_, "page") if self.page.is_some() => return Err(self.nested(begin)),
                    (3, "revision") => self.revision(from),
                    (4, "timestamp") => self.timing(true),
                    (4, "namespace") if self.page.is_none() => {
                        let key = tag.try_get_attribute("key").ok().flatten();
                        self.naming = key.is_some_and(|key| key.value == links::NAMESPACE);
                    }
                    _ => (),
                }
            }
            Event::Empty(tag) => match (self.depth, tag.local_name().as_ref()) {
                (0, "mediawiki") => self.rooted = true,
                (0, _) => return Err(self.no_export()),
                (1, "page") => {
                    self.begin(begin);
                    self.page = None;
                    return Ok(Step::Whole);
                }
                (_, "page") if self.page.is_some() => return Err(self.nested(begin)),
                _ => (),
            },
            Event::End(_) => {
                self.depth -= 1;
                self.timing(false);
                self.naming = false;
                match (self.depth, &mut self.page) {
                    (1, Some(_)) => {
                        self.page = None;
                        return Ok(Step::Whole);
                    }
                    (2, Some(page)) => page.close(&mut self.reader.get_mut().kept),
                    _ => (),
                }
            }
            Event::Text(text) if self.depth == 0 && text.trim().is_empty() => (),
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                return Err(self.no_export());
            }
            Event::Text(text) if self.naming => self.category = links::fold_name(&text),
            Event::Text(text) => {
                if let Some(Page { open: Some(revision), timing: true, .. }) = &mut self.page {
                    revision.time.push_str(text.trim());
                }
            }
            Event::Eof if self.depth > 0 => return Err(self.ended()),
            Event::Eof => return Ok(Step::Last),
            _ => (),
        }
        Ok(Step::Within)
    }

    fn begin(&mut self, at: u64) -> Step {
        (self.page, self.begin) = (Some(Page::default()), at);
        self.number += 1;
        Step::Begin
    }

    fn revision(&mut self, from: usize) {
        if let Some(page) = &mut self.page {
            page.open = Some(Revision { place: from..from, time: String::new() });
        }
    }

    fn timing(&mut self, timing: bool) {
        if let Some(page) = &mut self.page {
            page.timing = timing;
        }
    }

    /// The fault of the page that was begun last.
    pub fn page_fault(&self, message: String) -> Fault {
        self.place(self.begin, message)
    }

    fn no_export(&self) -> Fault {
        self.fault("expected a MediaWiki export, found no <mediawiki>".into())
    }

    fn nested(&self, at: u64) -> Fault {
        self.place(at, "a page begins within a page".into())
    }

    /// The file ended too early.
    fn ended(&self) -> Fault {
        match self.page {
            Some(_) => {
                self.page_fault("the page that begins here does not end: the file is cut short".into())
            }
            None if self.rooted => self.fault("expected </mediawiki>, found the file's end".into()),
            None => self.no_export(),
        }
    }

    /// The fault for a parser's error.
    fn broken(&mut self, error: Error) -> Fault {
        if let Some(fault) = self.reader.get_mut().fault.take() {
            return fault;
        }
        match error {
            Error::Io(_) if !self.rooted => self.no_export(),
            Error::Io(_) => self.page_fault(format!("expected a page, found none in {LARGEST} bytes")),
            // All but this one are unterminated tags, comments and the like.
            Error::Syntax(e) if e != SyntaxError::InvalidBangMarkup => self.ended(),
            Error::Encoding(_) => self.fault(NO_UTF8.into()),
            e => self.place(self.reader.error_position(), format!("no well-formed XML: {e}")),
        }
    }

    /// The fault at the present position.
    fn fault(&self, message: String) -> Fault {
        self.place(self.reader.buffer_position(), message)
    }

    fn place(&self, byte: u64, message: String) -> Fault {
        let Pages { name, number, .. } = self;
        Fault::usage(message).at(format!("{name}: page {number}, byte {byte} of the XML"))
    }
}

const NO_UTF8: &str = "expected UTF-8, found other bytes";

impl Page {
    /// Ends the open revision, if any. Of it and the latest one before, only the later is kept; of equally
    /// old ones the last.
    fn close(&mut self, kept: &mut Vec<u8>) {
        let Some(mut revision) = self.open.take() else { return };
        revision.place.end = kept.len();
        match self.latest.take() {
            Some(latest) if latest.time > revision.time => {
                kept.truncate(revision.place.start);
                revision = latest;
            }
            Some(Revision { place: earlier, .. }) => {
                let length = earlier.len();
                kept.drain(earlier);
                revision.place = revision.place.start - length..revision.place.end - length;
            }
            None => (),
        }
        self.latest = Some(revision);
    }
}

#[cfg(test)]
mod tests;
