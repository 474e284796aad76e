//! Category links as MediaWiki reads them, in any case, with blanks and in the language of the wiki, written as
//! `[[Category:…`, which is what CloudSuite looks for.
//!
//! Source: <https://www.mediawiki.org/wiki/Manual:Page_title> (names of namespaces: in any case, blanks and
//! underscores alike, no direction marks).

use std::borrow::Cow;

/// The namespace of categories in `<siteinfo>`.
pub const NAMESPACE: &str = "14";

const OPEN: &str = "[[";
const NAME: &str = "Category";
/// Bytes that a namespace's name may have with the blanks around it.
const LONGEST: usize = 128;

/// A name in the form that is compared.
pub fn fold_name(name: &str) -> String {
    let is_mark = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let plain: String =
        name.chars().filter(|c| !is_mark(c)).map(|c| if c == '_' { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The page with its category links in that form. `local` is the namespace's folded name in the wiki's
/// language.
pub fn unify_category_links<'a>(page: &'a str, local: &str) -> Cow<'a, str> {
    let (mut written, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = memchr::memmem::find(&page.as_bytes()[at..], OPEN.as_bytes()) {
        // Of three brackets the last two open the link.
        at += found + 1;
        let from = at + OPEN.len() - 1;
        let Some(name) = namespace(&page[from..]).filter(|name| *name != NAME) else { continue };
        let folded = fold_name(name);
        if folded == "category" || folded == local && !local.is_empty() {
            written.push_str(&page[kept..from]);
            written.push_str(NAME);
            kept = from + name.len();
        }
    }
    if kept == 0 {
        return Cow::Borrowed(page);
    }
    written.push_str(&page[kept..]);
    Cow::Owned(written)
}

/// The text before a link's first colon.
fn namespace(link: &str) -> Option<&str> {
    let end =
        link.bytes().take(LONGEST).position(|byte| matches!(byte, b':' | b'|' | b'[' | b']' | b'\n'))?;
    link[end..].starts_with(':').then_some(&link[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn category_links_are_found_as_mediawiki_finds_them() {
        let local = fold_name("Thể_loại");
        for link in [
            "[[category:Art]]",
            "[[ Category:Art]]",
            "[[CATEGORY :Art]]",
            "[[_category_:Art]]",
            "[[thể  Loại:Art]]",
        ] {
            assert_eq!(
                unify_category_links(&format!("a {link} b"), &local),
                "a [[Category:Art]] b",
                "{link}"
            );
        }
        assert_eq!(
            unify_category_links("[[\u{200e}Категория:Art|x]]", &fold_name("Категория")),
            "[[Category:Art|x]]"
        );
        for other in [
            "[[Category:Art]]",
            "[[:category:Art]]",
            "[[categories:x]]",
            "[[category]]",
            "[category:x]",
            "[[",
            "[[a|category:x]]",
        ] {
            assert!(
                matches!(unify_category_links(other, ""), Cow::Borrowed(page) if page == other),
                "{other}"
            );
        }
        assert_eq!(
            unify_category_links("[[[category:x]] [[category:y]]", ""),
            "[[[Category:x]] [[Category:y]]"
        );
    }

    proptest! {
        #[test]
        fn no_page_panics_and_what_is_unified_stays(page in "([\\[:|_ éK]|category|Category){0,30}") {
            let once = unify_category_links(&page, "é").into_owned();
            prop_assert_eq!(unify_category_links(&once, "é"), once.as_str());
        }
    }
}
