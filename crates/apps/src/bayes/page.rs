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
pub fn parse_article(page: &str) -> Result<Option<Article>, String> {
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
mod tests;
