//! Readers of texts that others write, for `fuzz/`: no input may panic.

use std::path::Path;

use crate::{als, bayes, pagerank};

/// Reads a MediaWiki export, and labels its articles.
pub fn wikipedia(file: &Path) {
    let Ok(mut pages) = bayes::export::Pages::open(file) else { return };
    while let Ok(Some(page)) = pages.page() {
        if let Ok(Some(article)) = bayes::page::article(page) {
            bayes::category::label(&article.text);
            bayes::category::without_links(&article.text);
        }
    }
}

/// Reads an edge list.
pub fn edge_list(file: &Path) {
    let _ = pagerank::source::Source::File(file.into()).extent();
}

/// Reads ratings, and the new user's.
pub fn ratings(file: &Path) {
    let _ = als::source::Source::File(file.into()).open(None);
    let _ = als::csv::personal(file);
}
