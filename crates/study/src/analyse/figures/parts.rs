//! Stacked figures: the parts of the time, at the busiest node over all bars or at every node.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use std::collections::{BTreeMap, BTreeSet};

use super::Drawing;
use crate::analyse::cell::{ByBlock, Cell};
use crate::analyse::data::origins;
use crate::analyse::split;
use crate::estimate;
use crate::findings::{Estimate, Point, Series};
use crate::part;

/// The parts of one node's time at some levels.
struct TimeSplit {
    at: Levels,
    parts: BTreeMap<String, Estimate>,
    origin: Origin,
}

impl Drawing<'_> {
    /// A bar for each level with the parts of the time at one node, and a sentence that names the node. It is the busiest
    /// over all bars, as in [`crate::analyse::causes`].
    pub(super) fn busiest(&self) -> (Vec<Series>, String) {
        let levels = self.view.levels_of(self.spec.series_factor(), &self.spec.at);
        let cells: Vec<&Cell> =
            levels.iter().flat_map(|level| self.across(Some(level), |at| self.cell(at))).collect();
        let Some(node) = split::busiest_node(&cells, &self.prefix()) else {
            return (Vec::new(), String::new());
        };
        let split = |at: &Levels| self.split(at, self.cell(at)?, &node);
        let stacks = levels
            .iter()
            .flat_map(|level| self.stack(&self.level_name(level), self.across(Some(level), split)))
            .collect();
        let alone = cells.iter().all(|cell| split::nodes_with_parts(cell, &self.prefix()).len() <= 1);
        let name = match self.node_name(&node).as_str() {
            "master" => "the master".to_string(),
            other => other.to_string(),
        };
        let sentence = match alone {
            true => format!("At {name}. "),
            false => format!("Every bar is of {name}, the busiest over all of them. "),
        };
        (stacks, sentence)
    }

    /// A bar for each node with the parts of its time, at every level across.
    pub(super) fn nodes(&self) -> Vec<Series> {
        let positions = self.positions_across(&Levels::new());
        let cells: Vec<(Levels, &Cell)> =
            positions.into_iter().filter_map(|at| Some((at.clone(), self.cell(&at)?))).collect();
        let known = cells.iter().flat_map(|(_, cell)| split::nodes_with_parts(cell, &self.prefix()));
        let mut nodes: Vec<String> = known.collect::<BTreeSet<_>>().into_iter().collect();
        nodes.sort_by_key(|node| node.parse::<usize>().unwrap_or(usize::MAX));
        let splits =
            |node: &str| cells.iter().filter_map(|(at, cell)| self.split(at, cell, node)).collect::<Vec<_>>();
        nodes.iter().flat_map(|node| self.stack(&self.node_name(node), splits(node))).collect()
    }

    /// The parts of one bar, as series.
    fn stack(&self, bar: &str, splits: Vec<TimeSplit>) -> Vec<Series> {
        let origin = splits.iter().map(|split| split.origin).max().unwrap_or(Origin::Measured);
        let mut by_part: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for TimeSplit { at, parts, .. } in splits {
            for (part, seconds) in parts {
                if let Some(point) = self.point_at(&at, seconds) {
                    by_part.entry(part).or_default().push(point);
                }
            }
        }
        let series = |(part, points): (String, Vec<Point>)| Series {
            name: part::part_in_words(&part),
            group: bar.to_string(),
            origin,
            points,
        };
        by_part.into_iter().map(series).collect()
    }

    fn split(&self, at: &Levels, cell: &Cell, node: &str) -> Option<TimeSplit> {
        let prefix = self.prefix();
        let blocks: BTreeMap<usize, BTreeMap<String, f64>> = cell
            .counted_attempts()
            .filter_map(|(block, _)| Some((block, split::parts_of_time(cell, block, node, &prefix)?)))
            .collect();
        let names: BTreeSet<&String> = blocks.values().flat_map(BTreeMap::keys).collect();
        // A part that a node does not report in a block took no time there.
        let values = |name: &String| -> ByBlock {
            blocks.iter().map(|(block, parts)| (*block, parts.get(name).copied().unwrap_or(0.0))).collect()
        };
        let from = format!("{prefix}{}", names.first()?);
        let origin = origins([cell], &from).last().copied()?;
        let parts = names
            .iter()
            .filter_map(|name| Some(((*name).clone(), estimate::estimate(values(name).values())?)));
        Some(TimeSplit { at: at.clone(), parts: parts.collect(), origin })
    }

    /// The cell at some levels; `None` where they are several.
    fn cell(&self, at: &Levels) -> Option<&Cell<'_>> {
        let combinations = self.view.combinations(at);
        let &[cell] = combinations.first()?.cells.as_slice() else { return None };
        Some(cell)
    }

    /// The name of a node: in work with the parameter `slaves`, node 0 is the master.
    fn node_name(&self, node: &str) -> String {
        let cells = &self.view.experiment.planned.cells;
        let mut work = cells.iter().flat_map(|cell| cell.scene.work.values());
        match node {
            _ if !work.any(|work| work.params.get("slaves").is_some()) => format!("node {node}"),
            "0" => "master".into(),
            slave => format!("slave {slave}"),
        }
    }

    fn prefix(&self) -> String {
        format!("{}_", self.spec.metric)
    }
}
