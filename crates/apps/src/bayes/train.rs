//! The fifth stage: the weights of each feature are added up by label.
//!
//! Weights are counted in whole units of 2^-40, an error of at most 5e-13 a
//! document, so that sums do not depend on the order of adding. A weight is at
//! most 1: 2^24 documents fit.

use crosstalk_core::Fault;

use super::category::NAMES;
use super::label::Counts;
use super::model::{Model, UNITS_PER_WEIGHT};
use super::node::{Node, Stage, check_same_total};
use super::record::Head;
use crate::exchange::read_pairs;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::list::Numeric;
use crate::mapreduce::record::{Key, Value, append_number, owner_of, take_number};
use crate::mapreduce::spool::Spool;

/// A feature of one label's documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Cell(u64);

impl Cell {
    fn new(feature: u32, label: u8) -> Self {
        Cell(u64::from(feature) << 8 | u64::from(label))
    }

    fn feature(self) -> u64 {
        self.0 >> 8
    }
}

impl Key for Cell {
    /// A feature's cells have one owner.
    fn owner(&self, parts: usize) -> usize {
        owner_of(self.feature(), parts)
    }

    fn write(&self, out: &mut Vec<u8>) {
        append_number(self.0, out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        take_number(from).map(Cell)
    }
}

impl Numeric for Cell {
    fn number(&self) -> u64 {
        self.0
    }

    fn of_number(number: u64) -> Self {
        Cell(number)
    }
}

/// Trains a model on the training vectors of all slaves.
pub fn train<C: Cluster>(
    node: &mut Node<C>,
    vectors: &Spool,
    features: usize,
    counts: &Counts,
) -> Result<Model, Fault> {
    let mut list = node.list::<Cell, u64>();
    let emitted = node.cluster.parallel(|disk| {
        let mut reader = vectors.reader();
        let mut emitted = 0;
        while let Some(vector) = reader.read(disk)? {
            let (head, rest) = Head::split_record(vector)?;
            if head.test {
                continue;
            }
            for (feature, weight) in read_pairs(rest) {
                let units = (weight * UNITS_PER_WEIGHT).round() as u64;
                emitted = u64::wrapping_add(emitted, units);
                list.add(Cell::new(feature, head.label), units);
            }
            list.spill_if_full(disk)?;
        }
        Ok::<_, Fault>(emitted)
    })?;
    let (mut sums, mut arrived) = (Vec::new(), 0);
    node.shuffle(
        |disk| list.finish(disk),
        |cell, units| {
            arrived = u64::wrapping_add(arrived, units);
            cell.write(&mut sums);
            units.write(&mut sums);
            Ok(())
        },
    )?;
    let mut mine = Vec::new();
    append_number(emitted, &mut mine);
    append_number(arrived, &mut mine);
    mine.append(&mut sums);
    let shares = node.exchange_with_all(mine)?;
    let settings = node.settings;
    let model = node.cluster.parallel(|_| {
        let cells = read(&shares)?;
        Ok::<_, Fault>(Model::new(cells, features, counts.labels().collect(), settings.alpha, settings.norm))
    })?;
    node.end_stage(Stage::Train);
    Ok(model)
}

/// Feature, label and sum, ascending.
fn read(shares: &[Vec<u8>]) -> Result<Vec<(u32, u8, u64)>, Fault> {
    let torn = || Fault::attempt("a model was cut short");
    let (mut cells, mut emitted, mut arrived) = (Vec::new(), 0_u64, 0_u64);
    for share in shares {
        let from = &mut share.as_slice();
        emitted = emitted.wrapping_add(take_number(from).ok_or_else(torn)?);
        arrived = arrived.wrapping_add(take_number(from).ok_or_else(torn)?);
        while !from.is_empty() {
            let cell = Cell::read(from).ok_or_else(torn)?;
            let label = cell.0 as u8;
            if usize::from(label) >= NAMES.len() {
                return Err(torn());
            }
            cells.push((cell.feature() as u32, label, take_number(from).ok_or_else(torn)?));
        }
    }
    check_same_total("units of weight", emitted, arrived)?;
    // A stable sort profits from the ordered runs of the slaves.
    cells.sort();
    Ok(cells)
}
