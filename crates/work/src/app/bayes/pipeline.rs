//! All stages one after the other, on one slave's pages.

use crosstalk_core::Fault;

use super::confusion::{self, Decision};
use super::features::Features;
use super::label::{Counts, label};
use super::model::Model;
use super::node::Node;
use super::{dictionary, features, train, vectors};
use crate::app::mapreduce::cluster::Cluster;
use crate::app::mapreduce::spool::Spool;

/// What came out on one slave.
pub struct Learned {
    /// The features, the same on every slave.
    pub features: Features,
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
    let (tokens, dictionary) = dictionary::count(node, &documents)?;
    drop(documents);
    let (numbered, features) = features::count(node, &tokens, &dictionary, counts.documents())?;
    drop((tokens, dictionary));
    let vectors = vectors::weigh(node, &numbered, &features)?;
    let model = train::train(node, &vectors, features.count(), &counts)?;
    let decisions = confusion::test(node, &vectors, &model)?;
    Ok(Learned { features, model, decisions, numbered })
}
