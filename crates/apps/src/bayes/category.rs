//! CloudSuite's 25 categories, and which of them an article has.
//!
//! The names are those of its file `categories` (parsa-epfl/cloudsuite,
//! `benchmarks/data-analytics/latest/files`). An article's category is found as
//! Mahout's `WikipediaMapper` finds it without its option `exactMatch`
//! (apache/mahout, `community/mahout-mr/integration`, 14.1): of the article's
//! links `[[Category:…]]`, the first whose lower-cased name contains one of the
//! names. So "Articles with …" is about art: this is what CloudSuite computes.
//! Unlike Mahout, a link's sort key (`[[Category:Name|key]]`) is no part of the name.

/// The categories, in the order of the alphabet. A label is a place in it.
pub const NAMES: [&str; 25] = [
    "art",
    "cities",
    "countries",
    "culture",
    "economics",
    "education",
    "event",
    "geography",
    "health",
    "history",
    "industry",
    "language",
    "law",
    "media",
    "nature",
    "people",
    "philosophy",
    "politics",
    "regions",
    "religion",
    "science",
    "society",
    "sports",
    "technology",
    "transport",
];

/// The order in which they are tried: Mahout keeps them in a Java `HashSet`, so
/// it is that of the names' hash codes in a table of 64.
const TRIED: [usize; 25] =
    [17, 5, 18, 10, 11, 13, 21, 7, 6, 0, 12, 22, 1, 14, 8, 9, 2, 23, 24, 16, 15, 19, 4, 3, 20];

const OPEN: &str = "[[Category:";
const CLOSE: &str = "]]";

/// The label of an article with this text, if it has one of the categories.
pub fn category_of(text: &str) -> Option<u8> {
    links(text).find_map(|(from, until)| {
        let link = &text[from + OPEN.len()..until];
        let name = link.split_once('|').map_or(link, |(name, _)| name).to_lowercase();
        TRIED.iter().find(|label| name.contains(NAMES[**label])).map(|label| *label as u8)
    })
}

/// The text without its category links, so that it does not contain its label: Mahout's option
/// `removeLabels`.
pub fn without_category_links(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (from, until) in links(text) {
        kept.push_str(&text[at..from]);
        at = until + CLOSE.len();
    }
    kept.push_str(&text[at..]);
    kept
}

/// The beginning of each link, and the end of its name.
fn links(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + memchr::memmem::find(&text.as_bytes()[at..], OPEN.as_bytes())?;
        let until = from + OPEN.len() + text[from + OPEN.len()..].find(CLOSE)?;
        at = until + CLOSE.len();
        Some((from, until))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<&str> {
        category_of(text).map(|label| NAMES[usize::from(label)])
    }

    #[test]
    fn every_name_is_its_own_category() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            assert_eq!(named(&format!("Text [[Category:{}]]", name.to_uppercase())), Some(name));
        }
    }

    #[test]
    fn the_first_link_that_contains_a_name_decides() {
        let text = "[[Category:Autism| ]] [[Category:Political culture]] [[Category:Sports]]";
        assert_eq!(named(text), Some("culture"));
        assert_eq!(named("[[Category:Articles with pseudocode]]"), Some("art"));
        assert_eq!(named("[[Category:History of science]]"), Some("history"));
        assert_eq!(named("[[category:Sports]] [[Category:Sports"), None);
        assert_eq!(named("no link"), None);
    }

    #[test]
    fn a_sort_key_does_not_decide() {
        assert_eq!(named("[[Category:Foo|history]]"), None);
        assert_eq!(named("[[Category:Foo|history]] [[Category:Sports|art]]"), Some("sports"));
    }

    #[test]
    fn names_are_tried_in_javas_order() {
        // String.hashCode and HashMap's place of a key, as the Java API says.
        let hash = |name: &str| name.bytes().fold(0_u32, |h, c| h.wrapping_mul(31).wrapping_add(c.into()));
        let place = |label: &usize| {
            let hash = hash(NAMES[*label]);
            (hash ^ (hash >> 16)) & 63
        };
        assert!(TRIED.is_sorted_by_key(place));
        let mut all = TRIED;
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..25));
    }

    #[test]
    fn links_can_be_taken_out() {
        assert_eq!(without_category_links("a [[Category:Art]]b[[Category:x|y]] [[link]]"), "a b [[link]]");
        assert_eq!(without_category_links("a [[Category:Art"), "a [[Category:Art");
    }
}
