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
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;

use super::links;
use crate::input::Text;

/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// More than any page has, and two of its revisions: MediaWiki refuses texts of more than 2 MiB.
const LARGEST: usize = 64 << 20;

/// The pages of a file, one after the other.
pub struct Pages {
    name: String,
    reader: Reader<Input>,
    /// What an event is made of.
    event: Vec<u8>,
    /// Elements that are open.
    depth: usize,
    /// Whether there was a `<mediawiki>`.
    rooted: bool,
    /// The page that is being read.
    page: Option<Page>,
    /// Pages begun.
    number: u64,
    /// Where in the text the last of them begins.
    begin: u64,
    /// The word for category in the wiki's language, as `<siteinfo>` has it, folded.
    category: String,
    /// Whether it is being read.
    naming: bool,
    /// The page with its category links in one form, where they are not in the file.
    unified: String,
}

/// What is known of a page. Places are in [`Input::kept`].
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

/// What an event means to pages.
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
        let mut reader = Reader::from_reader(Input::new(Text::open(path)?));
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
    /// only the latest is in it. Its category links are [unified](links::unified).
    ///
    /// # Errors
    /// Where the file cannot be read on, is cut short or is no well-formed export.
    pub fn page(&mut self) -> Result<Option<&str>, Fault> {
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
            Ok(page) => match links::unified(page, &self.category) {
                Cow::Borrowed(page) => Ok(Some(page)),
                Cow::Owned(page) => {
                    self.unified = page;
                    Ok(Some(&self.unified))
                }
            },
            Err(_) => Err(self.refuse(NO_UTF8.into())),
        }
    }

    /// Reads on to the next event.
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
            Event::Text(text) if self.naming => self.category = links::folded(&text),
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
    pub fn refuse(&self, message: String) -> Fault {
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
            Some(_) => self.refuse("the page that begins here does not end: the file is cut short".into()),
            None if self.rooted => self.fault("expected </mediawiki>, found the file's end".into()),
            None => self.no_export(),
        }
    }

    /// What the parser stumbled over.
    fn broken(&mut self, error: Error) -> Fault {
        if let Some(fault) = self.reader.get_mut().fault.take() {
            return fault;
        }
        match error {
            Error::Io(_) if !self.rooted => self.no_export(),
            Error::Io(_) => self.refuse(format!("expected a page, found none in {LARGEST} bytes")),
            // All but this one are tags, comments and the like that do not end.
            Error::Syntax(e) if e != SyntaxError::InvalidBangMarkup => self.ended(),
            Error::Encoding(_) => self.fault(NO_UTF8.into()),
            e => self.place(self.reader.error_position(), format!("no well-formed XML: {e}")),
        }
    }

    /// Something is wrong where reading is.
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
    /// The revision ends here, if one is open. Of it and the latest before it, only the later
    /// one is kept; of equally old ones that is the last.
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

/// What the parser reads. What it has read is kept until a page is whole.
struct Input {
    text: Text,
    chunk: Vec<u8>,
    /// How much of the chunk was read.
    at: usize,
    kept: Vec<u8>,
    /// Bytes that may be kept.
    most: usize,
    /// Why the file cannot be read on.
    fault: Option<Fault>,
}

impl Input {
    fn new(text: Text) -> Self {
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
            if let Err(fault) = self.text.fill(&mut self.chunk, CHUNK) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Result<Vec<String>, Fault> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let mut pages = Pages::open(file.path())?;
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

    /// The place behind the file's name, and what is wrong.
    fn refusal(bytes: &[u8]) -> (String, String) {
        let fault = read(bytes).expect_err("refused");
        let place = fault.place.expect("a place");
        (place.split_once(": ").map_or(String::new(), |(_, place)| place.into()), fault.message)
    }

    #[test]
    fn pages_come_one_by_one_plain_or_packed() {
        let long = "x".repeat(3 * CHUNK);
        let text = export(&["one", &long, "three"]);
        let expected: Vec<String> =
            ["one", &long, "three"].iter().map(|p| format!("<page>{p}</page>")).collect();
        assert_eq!(read(text.as_bytes()), Ok(expected.clone()));
        assert_eq!(read(&packed(text.as_bytes())), Ok(expected.clone()));
        // A multistream file, as Wikipedia has them too.
        let (head, tail) = text.split_at(text.len() / 2);
        let both = [packed(head.as_bytes()), packed(tail.as_bytes())].concat();
        assert_eq!(read(&both), Ok(expected.clone()));
        let carriage = text.replace('\n', "\r\n");
        assert_eq!(read(format!("\u{feff}{carriage}").as_bytes()), Ok(expected));
        assert_eq!(read(export(&[]).as_bytes()), Ok(Vec::new()));
        assert_eq!(read(b"<mediawiki/>"), Ok(Vec::new()));
    }

    #[test]
    fn category_links_are_in_one_form_in_the_language_of_the_wiki() {
        let names = "<siteinfo><namespaces><namespace key=\"0\"/><namespace key=\"10\">Vorlage</namespace>\
                     <namespace key=\"14\" case=\"first-letter\">Kategorie</namespace></namespaces></siteinfo>";
        let page = "<page><text>[[kategorie:Art]] [[Vorlage:x]] [[ category:y]]</text></page>";
        let expected = page.replace("kategorie", "Category").replace(" category", "Category");
        assert_eq!(read(format!("<mediawiki>{names}{page}</mediawiki>").as_bytes()), Ok(vec![expected]));
    }

    #[test]
    fn a_page_is_found_as_xml_has_it() {
        let one = "<page xml:lang=\"en\" note='a > b'><title>A</title >\n</page >";
        let two = "<page\n><text><![CDATA[</page><page>]]></text><!-- </page> --></page>";
        let text =
            format!("<?xml version=\"1.0\"?><!-- <page> -->\n<mediawiki >{one}{two}<page/></mediawiki >");
        assert_eq!(read(text.as_bytes()), Ok(vec![one.into(), two.into(), "<page/>".into()]));
    }

    #[test]
    fn of_several_revisions_the_latest_is_kept() {
        let revision = |year: u32, text: &str| {
            format!("<revision><timestamp>{year}-01-01T00:00:00Z</timestamp><text>{text}</text></revision>")
        };
        let page = |revisions: &[String]| format!("<title>A</title>\n{}<end/>", revisions.concat());
        let (old, middle, new) = (revision(2001, "old"), revision(2003, "mid"), revision(2009, "new"));
        for order in [[&old, &middle, &new], [&new, &middle, &old], [&old, &new, &middle]] {
            let several = page(&order.map(String::clone));
            let expected = format!("<page>{}</page>", page(std::slice::from_ref(&new)));
            assert_eq!(read(export(&[&several]).as_bytes()), Ok(vec![expected]));
        }
        let untimed = "<revision><text>one</text></revision> <revision><text>two</text></revision>";
        let expected = "<page> <revision><text>two</text></revision></page>";
        assert_eq!(read(export(&[untimed]).as_bytes()), Ok(vec![expected.into()]));
    }

    #[test]
    fn what_is_broken_is_named_with_its_place() {
        let text = export(&["one", "two"]);
        let place = |tag: &str, place: &str| (format!("page {place} of the XML"), tag.to_string());
        let cut = "the page that begins here does not end: the file is cut short";
        for end in [67, 69, 75] {
            assert_eq!(refusal(&text.as_bytes()[..end]), place(cut, "2, byte 60"));
        }
        let no_end = "expected </mediawiki>, found the file's end";
        assert_eq!(refusal(&text.as_bytes()[..59]), place(no_end, "1, byte 59"));
        assert_eq!(refusal(&text.as_bytes()[..79]).1, no_end);
        let nested = export(&["one", "t<page>o"]);
        assert_eq!(refusal(nested.as_bytes()), place("a page begins within a page", "2, byte 67"));
        let mismatch = refusal(export(&["one", "<title>two"]).as_bytes());
        assert!(mismatch.1.starts_with("no well-formed XML: "), "{mismatch:?}");
        let bytes = text.replace("two", "t#o").into_bytes();
        let latin: Vec<u8> = bytes.iter().map(|byte| if *byte == b'#' { 0xe9 } else { *byte }).collect();
        assert_eq!(refusal(&latin).1, NO_UTF8);
        for other in ["1 2\n3 4\n", "", "<rss></rss>", "<page></page>", &"1 2\n".repeat(CHUNK)] {
            assert!(refusal(other.as_bytes()).1.contains("found no <mediawiki>"), "{other:.20}");
        }
    }

    #[test]
    fn a_packed_file_that_is_cut_or_damaged_is_named() {
        let mut bytes = packed(export(&["one", &"two ".repeat(1000)]).as_bytes());
        let fault = read(&bytes[..bytes.len() - 20]).expect_err("refused");
        assert_eq!(fault.message, "the bzip2 file is cut short");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        let fault = read(&bytes).expect_err("refused");
        assert!(fault.message.starts_with("the bzip2 file is damaged"), "{fault}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let fault = Pages::open(Path::new("/nowhere/corpus.xml")).map(drop).expect_err("refused");
        assert_eq!(fault.place.as_deref(), Some("/nowhere/corpus.xml"));
    }
}
