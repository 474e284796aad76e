//! The last stage: the test documents get labels, one pass over them for each segment of the model.

use crosstalk_core::Fault;

use super::lockstep::{Document, Lockstep};
use super::model::Model;
use super::node::{Node, Stage, Table};
use super::record::Head;
use super::segment::{Sums, pairs_within};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::Spool;

/// A test document and its given label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The page's number in the corpus.
    pub number: u32,
    /// Its category.
    pub label: u8,
    /// The category that it got.
    pub decided: u8,
}

/// Labels the test vectors with the model, and returns the decisions. `numbered` is kept meanwhile.
pub fn label_test_vectors<C: Cluster>(
    node: &mut Node<C>,
    vectors: &mut Spool,
    numbered: &mut Spool,
    model: &Model,
) -> Result<Vec<Decision>, Fault> {
    let (mut walk, mut found) = (model.walk(), None::<Spool>);
    let mut decisions = Vec::new();
    loop {
        let walk = &mut walk;
        let Some(segment) = node.cluster.parallel(move |disk| walk.next(disk))? else { break };
        let spools = [&mut *vectors, &mut *numbered].into_iter().chain(&mut found);
        node.hold_segment(Table::Model, segment.memory_bytes(), spools)?;
        let mut into = (!segment.last).then(|| node.spool());
        node.cluster.parallel(|disk| {
            let (mut reader, mut record) = (Lockstep::new(vectors, found.as_slice()), Vec::new());
            while let Some(Document { head, content, found }) = reader.read(disk)? {
                let mut sums = Sums::read(found);
                segment.add(pairs_within(content, segment.features()), &mut sums);
                if let Some(into) = &mut into {
                    head.begin_record(&mut record);
                    sums.write(&mut record);
                    into.push(disk, &record)?;
                } else {
                    let Head { number, label, .. } = head;
                    decisions.push(Decision { number, label, decided: model.label_of(&sums) });
                }
            }
            Ok::<_, Fault>(())
        })?;
        node.memory.release(segment.memory_bytes());
        found = into;
    }
    node.end_stage(Stage::Test);
    Ok(decisions)
}
