//! All stages, on one slave's pages.

use crosstalk_core::Fault;

use super::confusion::{self, Decision};
use super::features::{Features, Gram};
use super::label::{Counts, label};
use super::model::Model;
use super::node::Node;
use super::{dictionary, features, train, vectors};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::Tally;
use crate::mapreduce::spool::Spool;

/// The result on one slave.
pub struct PipelineResult {
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
) -> Result<PipelineResult, Fault> {
    let (documents, counts) = label(node, &pages)?;
    drop(pages);
    let counts = agree(&counts, node.cluster)?;
    counts.verify()?;
    let (tokens, dictionary) = dictionary::count(node, documents)?;
    let (mut numbered, features) = features::count(node, tokens, &dictionary, counts.documents())?;
    node.release(dictionary.bytes);
    drop(dictionary);
    let mut vectors = vectors::weigh(node, &numbered, &features)?;
    node.release(features.bytes());
    let (count, Features { sample, .. }) = (features.count(), features);
    let model = train::train(node, &vectors, count, &counts)?;
    node.hold("the model", model.bytes(), &mut [&mut vectors, &mut numbered])?;
    let decisions = confusion::test(node, &vectors, &model)?;
    Ok(PipelineResult { features: count, sample, model, decisions, numbered })
}
