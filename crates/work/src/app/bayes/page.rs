//! A page of a MediaWiki export, from `<page>` to `</page>`.

use std::borrow::Cow;

/// An article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Article<'a> {
    /// As in the file, escapes and all.
    pub title: &'a str,
    /// Likewise.
    pub text: &'a str,
}

/// Reads a page; `None` where it only redirects. What is wrong is said in
/// words that a place is put before.
pub fn article(page: &str) -> Result<Option<Article<'_>>, String> {
    let title = element(page, "title")?.ok_or("a page has no <title>")?;
    let text = element(page, "text")?.ok_or("a page has no <text>")?;
    // Everything but the text is short, and the text escapes what looks like a tag.
    let redirects = memchr::memmem::find(page.as_bytes(), b"<redirect").is_some();
    Ok((!redirects).then_some(Article { title, text }))
}

/// The contents of the first element of a name.
fn element<'a>(page: &'a str, name: &str) -> Result<Option<&'a str>, String> {
    let open = format!("<{name}");
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&page.as_bytes()[at..], open.as_bytes()) {
        at += found + open.len();
        // A name that only begins like this one is another's.
        if !page[at..].starts_with([' ', '>', '/', '\t', '\n']) {
            continue;
        }
        let torn = || format!("a page's <{name}> does not end");
        let tag = page[at..].find('>').ok_or_else(torn)?;
        if page[at..at + tag].ends_with('/') {
            return Ok(Some(""));
        }
        let contents = &page[at + tag + 1..];
        let end =
            memchr::memmem::find(contents.as_bytes(), format!("</{name}>").as_bytes()).ok_or_else(torn)?;
        return Ok(Some(&contents[..end]));
    }
    Ok(None)
}

/// The text with XML's escapes resolved, once. What is no escape stays.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match escape(rest) {
            Some((character, length)) => {
                out.push(character);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The longest escape, `&#x10ffff;`.
const ESCAPE: usize = 10;

/// What the escape at the begin stands for, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(ESCAPE).position(|byte| byte == b';')?;
    let character = match &text[1..end] {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_text_are_found() {
        let page = "<page>\n <title>A &amp; b</title><revision><textual/><text bytes=\"3\" xml:space=\"preserve\">\
                    some &lt;text&gt;</text></revision></page>";
        assert_eq!(article(page), Ok(Some(Article { title: "A &amp; b", text: "some &lt;text&gt;" })));
        let empty = "<page><title>x</title><text xml:space=\"preserve\" /></page>";
        assert_eq!(article(empty), Ok(Some(Article { title: "x", text: "" })));
    }

    #[test]
    fn redirects_are_no_articles() {
        for redirect in ["<redirect />", "<redirect title=\"y\" />"] {
            assert_eq!(article(&format!("<page><title>x</title>{redirect}<text>y</text></page>")), Ok(None));
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(article("<page><text>y</text></page>"), Err("a page has no <title>".into()));
        assert_eq!(article("<page><title>y</title></page>"), Err("a page has no <text>".into()));
        assert_eq!(article("<page><title>y</page>"), Err("a page's <title> does not end".into()));
        assert_eq!(article("<page><title>y</title><text</page"), Err("a page has no <text>".into()));
    }

    #[test]
    fn escapes_are_resolved_once() {
        assert_eq!(unescaped("a &amp;lt; b &#233;&#xE9; &quot;"), "a &lt; b éé \"");
        assert_eq!(unescaped("AT&T &unknown; &#xFFFFFFF; &"), "AT&T &unknown; &#xFFFFFFF; &");
        assert_eq!(unescaped("&é;"), "&é;");
        assert!(matches!(unescaped("plain"), Cow::Borrowed("plain")));
    }
}
