//! The fifth stage: the weights of each feature are added up by label.
//!
//! Weights are counted in whole units of 2^-40, an error of at most 5e-13 a
//! document, so that sums do not depend on the order of adding. A weight is at
//! most 1: 2^24 documents fit.

use crosstalk_core::Fault;

use super::cell::Cell;
use super::label::Counts;
use super::model::{Model, Shape};
use super::node::{Node, Stage};
use super::record::Head;
use super::segment::UNITS_PER_WEIGHT;
use crate::exchange::read_pairs;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::Spool;

/// Trains a model on the training vectors of all slaves.
pub fn train<C: Cluster>(
    node: &mut Node<C>,
    vectors: Spool,
    features: u32,
    counts: &Counts,
) -> Result<Model, Fault> {
    let mut list = node.list::<Cell, u64>();
    let emitted = node.cluster.parallel(|disk| {
        let mut reader = vectors.reader();
        let mut emitted = 0;
        while let Some(vector) = reader.read(disk)? {
            let (head, rest) = Head::split_record(vector)?;
            for (feature, weight) in read_pairs(rest) {
                let units = (weight * UNITS_PER_WEIGHT).round() as u64;
                emitted = u64::wrapping_add(emitted, units);
                list.add(Cell::new(feature, head.label), units);
            }
            list.spill_if_full(disk)?;
        }
        Ok::<_, Fault>(emitted)
    })?;
    drop(vectors);
    let mut sums = node.list_writer(node.memory.budget().spool_memory());
    let mut arrived = 0;
    node.shuffle(
        |disk| list.finish(disk),
        |disk, cell, units| {
            arrived = u64::wrapping_add(arrived, units);
            sums.push(disk, &cell, &units)
        },
    )?;
    let sums = node.cluster.parallel(|disk| sums.finish(disk))?;
    let cells = node.share("units of weight", sums, emitted, arrived)?;
    let settings = node.settings;
    let shape =
        Shape { features, labels: counts.labels().collect(), alpha: settings.alpha, norm: settings.norm };
    let room = node.memory.budget().segment_bytes();
    let model = node.cluster.parallel(|disk| Model::new(disk, cells, shape, room))?;
    node.end_stage(Stage::Train);
    Ok(model)
}
