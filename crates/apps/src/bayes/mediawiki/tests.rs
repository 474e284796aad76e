//! Tests of `export`.

use super::*;
use input::CHUNK;
use std::io::Write;

fn read(bytes: &[u8]) -> Result<Vec<String>, Fault> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let mut pages = Pages::open(file.path())?;
    let mut found = Vec::new();
    while let Some(page) = pages.next_page()? {
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
    let expected: Vec<String> = ["one", &long, "three"].iter().map(|p| format!("<page>{p}</page>")).collect();
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
    let text = format!("<?xml version=\"1.0\"?><!-- <page> -->\n<mediawiki >{one}{two}<page/></mediawiki >");
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
