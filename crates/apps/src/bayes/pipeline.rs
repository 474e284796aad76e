//! All stages, on one slave's pages.

use crosstalk_core::Fault;

use super::decide::{self, Decision};
use super::features::Gram;
use super::label::{Counts, label_pages};
use super::model::Model;
use super::node::Node;
use super::vectors::{self, Vectors};
use super::{numbers, train, words};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::Tally;
use crate::mapreduce::spool::Spool;

/// What the stages have computed on one slave.
pub struct SlaveResult {
    /// The number of features, the same on every slave.
    pub features: u32,
    /// The tallies of some of them.
    pub sample: Vec<(Gram, Tally)>,
    /// The model, the same on every slave.
    pub model: Model,
    /// The decisions about this slave's test documents.
    pub decisions: Vec<Decision>,
    /// This slave's documents as numbers of words, to check the answer.
    pub numbered: Spool,
}

/// Runs the stages. `agree` adds up this slave's counts with all others'.
pub fn run<C: Cluster>(
    node: &mut Node<C>,
    pages: Spool,
    agree: impl FnOnce(&Counts, &mut C) -> Result<Counts, Fault>,
) -> Result<SlaveResult, Fault> {
    let (documents_of_text, counts) = label_pages(node, &pages)?;
    drop(pages);
    let counts = agree(&counts, node.cluster)?;
    counts.check_enough()?;
    let documents = counts.documents();
    let (tokens, words) = words::count_words(node, documents_of_text)?;
    let (mut numbered, words, pairs) = numbers::number_documents(node, tokens, words, documents)?;
    let pairs = numbers::share_pairs(node, pairs, documents)?;
    let Vectors { training, mut testing, features, sample } =
        vectors::weigh_documents(node, &mut numbered, words, pairs, documents)?;
    let model = train::train(node, training, features, &counts)?;
    let decisions = decide::label_test_vectors(node, &mut testing, &mut numbered, &model)?;
    Ok(SlaveResult { features, sample, model, decisions, numbered })
}

#[cfg(test)]
mod tests;
