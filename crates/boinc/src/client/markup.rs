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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<&str> {
        elements(text).map(|element| element.name).collect()
    }

    #[test]
    fn elements_come_in_order_whatever_is_between_them() {
        let text =
            "<?xml version=\"1.0\"?>\n1f4\r\n<a>1</a> & so on <b/><!-- <x>no</x> --><c d=\"e\">2 < 3</c>";
        assert_eq!(names(text), ["a", "b", "c"]);
        assert_eq!(first(text, "a").and_then(|a| a.value()), Some(1));
        assert_eq!(first(text, "c").map(|c| c.text()), Some("2 < 3".into()));
    }

    #[test]
    fn an_element_may_hold_others_of_its_name() {
        let text = "<project><name>x</name><project><name>y</name></project></project><project/>";
        assert_eq!(names(text), ["project", "project"]);
        assert_eq!(elements(text).next().map(|e| names(e.body)), Some(vec!["name", "project"]));
    }

    #[test]
    fn raw_text_closes_nothing() {
        let text =
            "<stderr_out>\n<v>7</v>\n<![CDATA[\n</stderr_out> <lies>\n]]>\n</stderr_out><state>5</state>";
        assert_eq!(names(text), ["stderr_out", "state"]);
        let raw = Element { name: "x", body: " <![CDATA[ a < b ]]> " };
        assert_eq!(raw.text(), "a < b");
    }

    #[test]
    fn what_is_not_closed_is_the_end() {
        assert_eq!(names("<a>1</a><b>2<c>3</c>"), ["a"]);
        assert_eq!(names("<a>1</a><b"), ["a"]);
        assert_eq!(names("</a></b>"), [] as [&str; 0]);
    }

    #[test]
    fn a_million_open_tags_take_no_longer_than_reading_them() {
        let hostile = "<a>".repeat(1_000_000);
        assert_eq!(elements(&hostile).count(), 0);
        let hostile = "<a/><b>".repeat(500_000);
        assert_eq!(elements(&hostile).count(), 1);
    }

    #[test]
    fn numbers_that_are_none_are_nothing() {
        let number = |body| Element { name: "n", body }.number();
        assert_eq!(
            [number("2.5"), number("nan"), number("inf"), number("x"), number("")],
            [2.5, 0.0, 0.0, 0.0, 0.0]
        );
    }

    #[test]
    fn entities_are_resolved_and_others_stay() {
        let text = |body| Element { name: "n", body }.text();
        assert_eq!(text("&lt;a&gt; &amp;amp; &#65; &nbsp; &; & &#xx;"), "<a> &amp; A &nbsp; &; & &#xx;");
    }

    proptest! {
        #[test]
        fn text_survives_escaping(text in "[ -~äß]{0,60}") {
            let element = format!("<t>{}</t>", escape(&text));
            prop_assert_eq!(first(&element, "t").map(|t| t.text()), Some(text.trim().to_string()));
        }

        #[test]
        fn no_text_panics_or_hangs(text in "[<>/a!\\[\\]CDAT&;#?\\- \n\u{3}ß]{0,200}") {
            for element in elements(&text) {
                element.text();
                element.elements().for_each(|inner| drop(inner.text()));
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = String::from_utf8_lossy(&bytes);
            elements(&text).for_each(|element| drop(element.text()));
        }
    }
}
