//! BOINC's markup.
//!
//! It looks like XML, but its programs read it tag by tag, do not escape text, use no particular encoding,
//! and append binary data (`lib/parse.cpp`, `client/file_xfer.cpp`). A strict XML parser would refuse a host
//! for its processor's name. So it is read here as BOINC's own programs read it: one element after the other.
//! Unknown elements are skipped, an element that is not closed ends the text, and attributes are ignored.

use std::str::FromStr;

/// An element: the text between its tags, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its contents; empty for `<name/>`.
    pub body: &'a str,
}

impl<'a> Element<'a> {
    /// The elements in its contents, in order.
    pub fn elements(&self) -> Elements<'a> {
        elements(self.body)
    }

    /// Its text, trimmed, with entities resolved.
    pub fn text(&self) -> String {
        let body = self.body.trim();
        let raw = body.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>"));
        raw.map_or_else(|| unescape(body), |raw| raw.trim().to_string())
    }

    /// Its text as a number or another value; `None` where it cannot be parsed.
    pub fn value<T: FromStr>(&self) -> Option<T> {
        self.body.trim().parse().ok()
    }

    /// Its text as a finite number; 0 where it is none, as for a count of seconds or bytes that cannot be
    /// read.
    pub fn number(&self) -> f64 {
        self.value().filter(|number: &f64| number.is_finite()).unwrap_or(0.0)
    }
}

/// The elements of a text that are next to each other; other text is skipped.
pub fn elements(text: &str) -> Elements<'_> {
    Elements { rest: text }
}

/// The first element of that name among those next to each other.
pub fn first<'a>(text: &'a str, name: &str) -> Option<Element<'a>> {
    elements(text).find(|element| element.name == name)
}

/// See [`elements`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        loop {
            let at = self.rest.find('<')?;
            self.rest = &self.rest[at..];
            if let Some(after) = skip_non_element(self.rest) {
                self.rest = after;
                continue;
            }
            let Some(tag) = Tag::at(self.rest) else {
                // A bracket that begins no tag.
                self.rest = &self.rest[1..];
                continue;
            };
            if tag.alone {
                self.rest = tag.after;
                return Some(Element { name: tag.name, body: "" });
            }
            // Not closed: its end is unknown. To continue after its tag would search the whole rest for every
            // such tag.
            let Some((body, after)) = closed(tag) else {
                self.rest = "";
                return None;
            };
            self.rest = after;
            return Some(Element { name: tag.name, body });
        }
    }
}

/// An opening tag.
#[derive(Clone, Copy)]
struct Tag<'a> {
    name: &'a str,
    alone: bool,
    after: &'a str,
}

impl<'a> Tag<'a> {
    /// Parses the tag at the beginning of `text`.
    fn at(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = inner.find(|c| !named(c)).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(length);
        if name.is_empty() || !rest.starts_with(['>', '/', ' ', '\t', '\r', '\n']) {
            return None;
        }
        let end = rest.find(['>', '<']).filter(|end| rest[*end..].starts_with('>'))?;
        Some(Tag { name, alone: rest[..end].ends_with('/'), after: &rest[end + 1..] })
    }
}

/// What follows raw text, a comment, a declaration or a closing tag at the beginning of `text`; `None` for an
/// element.
fn skip_non_element(text: &str) -> Option<&str> {
    let behind = |end: &str| text.find(end).map_or("", |at| &text[at + end.len()..]);
    if text.starts_with("<![CDATA[") {
        return Some(behind("]]>"));
    }
    if text.starts_with("<!--") {
        return Some(behind("-->"));
    }
    (text.starts_with("<?") || text.starts_with("<!") || text.starts_with("</")).then(|| behind(">"))
}

/// The contents of the element that `tag` opens, and what follows it.
fn closed<'a>(tag: Tag<'a>) -> Option<(&'a str, &'a str)> {
    let whole = tag.after;
    let mut depth = 1;
    let mut at = 0;
    loop {
        at += whole[at..].find('<')?;
        let rest = &whole[at..];
        if let Some(after) = closing(rest, tag.name) {
            depth -= 1;
            if depth == 0 {
                return Some((&whole[..at], after));
            }
        } else if rest.starts_with("<![CDATA[") {
            at += rest.find("]]>")?;
        } else if Tag::at(rest).is_some_and(|inner| inner.name == tag.name && !inner.alone) {
            depth += 1;
        }
        at += 1;
    }
}

/// What follows `</name>` at the beginning of `text`.
fn closing<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix("</")?.strip_prefix(name)?.trim_start().strip_prefix('>')
}

/// Escapes text, to be put between tags.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // Readers take these for the end of a request (0x03), or of a line.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The reverse of [`escape`]; also resolves numeric entities, and keeps what is none.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest is `&#1114111;`.
        let entity = rest.bytes().take(10).position(|byte| byte == b';').map(|end| &rest[1..end]);
        match entity.and_then(resolved) {
            Some(c) => {
                plain.push(c);
                rest = &rest[entity.map_or(0, str::len) + 2..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

fn resolved(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => char::from_u32(entity.strip_prefix('#')?.parse().ok()?),
    }
}

#[cfg(test)]
mod tests;
