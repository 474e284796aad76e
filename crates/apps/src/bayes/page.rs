//! A page of a MediaWiki export, from `<page …>` to `</page>`, read as XML.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, Event};
use quick_xml::reader::Reader;

/// An article, as a reader sees it: without XML's escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    /// Its title.
    pub title: String,
    /// The text of its last revision.
    pub text: String,
}

/// Which text is collected.
#[derive(Clone, Copy)]
enum Part {
    Title,
    Text,
}

/// The path of an element: itself and those around it, from the page on.
fn part(path: &[Name]) -> Option<Part> {
    match path {
        [Name::Page, Name::Title] => Some(Part::Title),
        // Old exports' pages had their text without a revision around it.
        [Name::Page, Name::Revision, Name::Text] | [Name::Page, Name::Text] => Some(Part::Text),
        _ => None,
    }
}

/// The elements that matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Page,
    Title,
    Redirect,
    Revision,
    Text,
    Other,
}

impl Name {
    fn of(name: &str) -> Self {
        match name {
            "page" => Name::Page,
            "title" => Name::Title,
            "redirect" => Name::Redirect,
            "revision" => Name::Revision,
            "text" => Name::Text,
            _ => Name::Other,
        }
    }
}

/// Reads a page; `None` where it only redirects. Of several revisions the last counts.
///
/// # Errors
/// The fault's message, without its place.
pub fn article(page: &str) -> Result<Option<Article>, String> {
    let mut reader = Reader::from_str(page);
    reader.config_mut().allow_dangling_amp = true;
    let (mut title, mut text, mut redirects) = (None, None, false);
    let mut path: Vec<Name> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|e| format!("a page is no well-formed XML: {e}"))?;
        // An element without content is one that ends at once.
        let empty = matches!(event, Event::Empty(_));
        let found = match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                path.push(Name::of(tag.local_name().as_ref()));
                redirects |= path == [Name::Page, Name::Redirect];
                match part(&path) {
                    Some(Part::Title) => title = Some(String::new()),
                    Some(Part::Text) => text = Some(String::new()),
                    None => (),
                }
                None
            }
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => part(&path),
            Event::Eof if path.is_empty() => break,
            Event::Eof => return Err("a page does not end".into()),
            _ => None,
        };
        let into = match found {
            Some(Part::Title) => title.as_mut(),
            Some(Part::Text) => text.as_mut(),
            None => None,
        };
        match (into, &event) {
            (Some(into), Event::Text(piece)) => into.push_str(piece),
            (Some(into), Event::CData(piece)) => into.push_str(piece),
            (Some(into), Event::GeneralRef(name)) => resolve(name, into),
            _ => (),
        }
        if empty || matches!(event, Event::End(_)) {
            path.pop();
        }
    }
    let title = title.ok_or("a page has no <title>")?;
    let text = text.ok_or("a page has no <text>")?;
    Ok((!redirects).then_some(Article { title, text }))
}

/// Appends the character of a reference; an unknown reference stays.
fn resolve(name: &BytesRef<'_>, into: &mut String) {
    if let Ok(Some(character)) = name.resolve_char_ref() {
        into.push(character);
    } else if let Some(known) = resolve_xml_entity(name) {
        into.push_str(known);
    } else {
        into.push('&');
        into.push_str(name);
        into.push(';');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: &str) -> (String, String) {
        let article = article(page).expect("a page").expect("an article");
        (article.title, article.text)
    }

    fn text(text: &str) -> String {
        read(&format!("<page><title>x</title><revision>{text}</revision></page>")).1
    }

    #[test]
    fn title_and_text_are_found() {
        let page = "<page>\n <title>A &amp; b</title><revision><textual/><text bytes=\"3\" xml:space=\"preserve\">\
                    some &lt;text&gt;</text></revision></page>";
        assert_eq!(read(page), ("A & b".into(), "some <text>".into()));
        // As the text of a suppressed revision is.
        assert_eq!(text("<text xml:space=\"preserve\" deleted=\"deleted\" />"), "");
        assert_eq!(text("<text></text>"), "");
    }

    #[test]
    fn tags_are_read_as_xml_has_them() {
        let page = "<page xml:lang=\"en\"\n><title >A</title\t><revision\n><text\nnote=\"a > b\">b</text ></revision></page >";
        assert_eq!(read(page), ("A".into(), "b".into()));
        assert_eq!(text("<!-- <text>no</text> --><text>a<!-- no -->b<?no?>c</text>"), "abc");
        assert_eq!(text("<contributor><text>no</text></contributor><text>yes</text>"), "yes");
        assert_eq!(read("<w:page xmlns:w=\"u\"><w:title>A</w:title><w:text>b</w:text></w:page>").1, "b");
    }

    #[test]
    fn a_cdata_section_is_text_and_holds_no_escapes() {
        assert_eq!(
            text("<text>a <![CDATA[<redirect/> </text> &amp; ]]>&amp; b</text>"),
            "a <redirect/> </text> &amp; & b"
        );
    }

    #[test]
    fn of_several_revisions_the_last_counts() {
        assert_eq!(text("<text>one</text></revision><revision><text>two</text>"), "two");
        assert_eq!(text("<text>one</text></revision><revision><text/>"), "");
    }

    #[test]
    fn redirects_are_no_articles() {
        for redirect in ["<redirect />", "<redirect title=\"y\" />", "<redirect\n></redirect>"] {
            assert_eq!(article(&format!("<page><title>x</title>{redirect}<text>y</text></page>")), Ok(None));
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(article("<page><text>y</text></page>"), Err("a page has no <title>".into()));
        assert_eq!(article("<page><title>y</title></page>"), Err("a page has no <text>".into()));
        assert_eq!(article("<page/>"), Err("a page has no <title>".into()));
        assert_eq!(article("<page><title>y</title>"), Err("a page does not end".into()));
        let mismatch = article("<page><title>y</page>").expect_err("refused");
        assert!(mismatch.starts_with("a page is no well-formed XML: "), "{mismatch}");
        assert!(article("<page><title>y</title><text</page").is_err());
    }

    #[test]
    fn escapes_are_resolved_once() {
        assert_eq!(text("<text>a &amp;lt; b &#233;&#xE9; &quot;&apos;</text>"), "a &lt; b éé \"'");
        let odd = "AT&T &unknown; &#xFFFFFFF; &é; &#0; &";
        assert_eq!(text(&format!("<text>{odd}</text>")), odd);
    }
}
