//! Readers of texts that others write, for `fuzz/`: no input may panic.

use std::path::Path;

use crate::{als, bayes, pagerank};

/// Reads a file as a MediaWiki export, and labels its articles: no input may panic.
pub fn wikipedia(file: &Path) {
    let Ok(mut pages) = bayes::mediawiki::Pages::open(file) else { return };
    while let Ok(Some(page)) = pages.next_page() {
        if let Ok(Some(article)) = bayes::page::parse_article(page) {
            bayes::category::category_of(&article.text);
            bayes::category::without_category_links(&article.text);
        }
    }
}

/// Reads a file as an edge list: no input may panic.
pub fn edge_list(file: &Path) {
    let _ = pagerank::source::Source::File(file.into()).extent();
}

/// Reads a file as ratings, and as those of the new user: no input may panic.
pub fn ratings(file: &Path) {
    let _ = als::source::Source::File(file.into()).open(None);
    let _ = als::csv::read_personal_ratings(file);
}
