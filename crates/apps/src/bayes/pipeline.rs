//! All stages one after the other, on one slave's pages.

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

/// What came out on one slave.
pub struct Learned {
    /// How many features there are, the same on every slave.
    pub features: usize,
    /// Some of them with how often they occur.
    pub sample: Vec<(Gram, Tally)>,
    /// What was learned, the same on every slave.
    pub model: Model,
    /// About this slave's documents that were held back.
    pub decisions: Vec<Decision>,
    /// This slave's documents as numbers of words, to check the answer by.
    pub numbered: Spool,
}

/// Goes through the stages. `agree` makes this slave's counts all slaves'.
pub fn run<C: Cluster>(
    node: &mut Node<C>,
    pages: Spool,
    agree: impl FnOnce(&Counts, &mut C) -> Result<Counts, Fault>,
) -> Result<Learned, Fault> {
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
    Ok(Learned { features: count, sample, model, decisions, numbered })
}
