//! All stages, on one slave's pages.

use crosstalk_core::Fault;

use super::confusion::{self, Decision};
use super::features::{Features, Gram};
use super::label::{Counts, label_pages};
use super::model::Model;
use super::node::Node;
use super::{dictionary, features, train, vectors};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::Tally;
use crate::mapreduce::spool::Spool;

/// What the stages have computed on one slave.
pub struct SlaveResult {
    /// The number of features, the same on every slave.
    pub features: usize,
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
    let (documents, counts) = label_pages(node, &pages)?;
    drop(pages);
    let counts = agree(&counts, node.cluster)?;
    counts.check_enough()?;
    let (tokens, dictionary) = dictionary::build_dictionary(node, documents)?;
    let (mut numbered, features) = features::count_features(node, tokens, &dictionary, counts.documents())?;
    node.release_memory(dictionary.bytes);
    drop(dictionary);
    let mut vectors = vectors::weigh_documents(node, &numbered, &features)?;
    node.release_memory(features.memory_bytes());
    let (count, Features { sample, .. }) = (features.count(), features);
    let model = train::train(node, &vectors, count, &counts)?;
    node.hold_memory("the model", model.memory_bytes(), &mut [&mut vectors, &mut numbered])?;
    let decisions = confusion::label_test_vectors(node, &vectors, &model)?;
    Ok(SlaveResult { features: count, sample, model, decisions, numbered })
}
