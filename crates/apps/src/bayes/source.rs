//! The pages: from a generator, which every slave runs for its own, or from a file, which the master reads
//! and sends. Page n belongs to slave n mod N.
//!
//! The master reads, because neither bz2 nor XML can be started in the middle without guessing (a block's
//! magic number may occur in the data by chance), and because CloudSuite also puts the file into HDFS from
//! one node before its clock starts.

use crosstalk_core::Fault;
use crosstalk_study::count_in_words;
use quick_xml::escape::partial_escape;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::category::{NAMES, category_of};
use super::corpus::Corpus;
use super::mediawiki::Pages;
use super::page::{Article, parse_article};
use crate::mapreduce::spool::Spool;
use crate::spill::{Disk, Unmetered};

/// The largest number of pages: weights of so many add up without overflow.
pub const MOST_PAGES: u64 = 1 << 24;

/// Where the pages come from: a file, or a generated corpus.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Generated.
    Generated(Corpus),
    /// Read from a MediaWiki export.
    File(PathBuf),
}

impl Source {
    /// The number of pages. Reads a file from end to end, and reports its faults.
    pub fn count_pages(&self) -> Result<u64, Fault> {
        let path = match self {
            Source::Generated(corpus) => return Ok(corpus.documents),
            Source::File(path) => path,
        };
        let (mut count, mut labelled) = (0, false);
        let mut pages = Pages::open(path)?;
        while let Some(page) = pages.next_page()? {
            match parse_article(page) {
                Ok(article) => {
                    labelled |= article.is_some_and(|article| category_of(&article.text).is_some())
                }
                Err(message) => return Err(pages.page_fault(message)),
            }
            count += 1;
            if count > MOST_PAGES {
                return Err(pages.page_fault(format!("expected at most {MOST_PAGES} pages, found more")));
            }
        }
        if !labelled {
            return Err(Fault::usage(format!(
                "no article in it has a category whose name has one of CloudSuite's words ({})",
                count_in_words(count as usize, "page")
            ))
            .at(path.display().to_string())
            .remedy(format!(
                "give an export whose articles have such links as [[Category:Art]]: {}",
                NAMES.join(", ")
            )));
        }
        Ok(count)
    }

    /// Puts all pages into one spool, without an account of its disk.
    pub fn spool_all(&self, pages: &mut Spool) -> Result<(), Fault> {
        let path = match self {
            Source::Generated(corpus) => {
                return generate_pages(corpus, 0, 1, pages, &mut Unmetered).map(drop);
            }
            Source::File(path) => path,
        };
        let (mut read, mut record, mut number) = (Pages::open(path)?, Vec::new(), 0);
        while let Some(page) = read.next_page()? {
            spool_page(number, page.as_bytes(), &mut record, pages, &mut Unmetered)?;
            number += 1;
        }
        Ok(())
    }
}

/// Writes a file's pages as an export that needs no XML parser: a page has only a title, perhaps a
/// `<redirect/>`, and a text without tags.
pub fn write_plain_export(path: &Path, out: &mut impl Write) -> Result<(), Fault> {
    let failed = |e: io::Error| Fault::environment(format!("cannot write the pages: {e}"));
    let mut pages = Pages::open(path)?;
    writeln!(out, "<mediawiki>").map_err(failed)?;
    while let Some(page) = pages.next_page()? {
        let written = match parse_article(page) {
            Ok(Some(Article { title, text })) => {
                let (title, text) = (partial_escape(&*title), partial_escape(&*text));
                writeln!(out, "<page><title>{title}</title><text>{text}</text></page>")
            }
            Ok(None) => writeln!(out, "<page><title/><redirect/><text/></page>"),
            Err(message) => return Err(pages.page_fault(message)),
        };
        written.map_err(failed)?;
    }
    writeln!(out, "</mediawiki>").and_then(|()| out.flush()).map_err(failed)
}

/// Writes a generated corpus as a MediaWiki export.
pub fn write_corpus_export(corpus: &Corpus, out: &mut impl Write) -> io::Result<()> {
    let mut page = String::new();
    writeln!(out, "<mediawiki>")?;
    for number in 0..corpus.documents {
        page.clear();
        corpus.write_page(number, &mut page);
        out.write_all(page.as_bytes())?;
    }
    writeln!(out, "</mediawiki>")?;
    out.flush()
}

/// Puts a page into a spool: its number, then its XML.
pub fn spool_page(
    number: u64,
    xml: &[u8],
    record: &mut Vec<u8>,
    pages: &mut Spool,
    disk: &mut dyn Disk,
) -> Result<(), Fault> {
    record.clear();
    record.extend_from_slice(&(number as u32).to_le_bytes());
    record.extend_from_slice(xml);
    pages.push(disk, record)
}

/// A slave's pages of a generated corpus; returns their bytes.
pub fn generate_pages(
    corpus: &Corpus,
    slave: usize,
    slaves: usize,
    pages: &mut Spool,
    disk: &mut dyn Disk,
) -> Result<u64, Fault> {
    let (mut page, mut record, mut bytes) = (String::new(), Vec::new(), 0);
    for number in (slave as u64..corpus.documents).step_by(slaves) {
        page.clear();
        corpus.write_page(number, &mut page);
        bytes += page.len() as u64;
        spool_page(number, page.as_bytes(), &mut record, pages, disk)?;
    }
    Ok(bytes)
}
