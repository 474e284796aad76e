//! Stacked figures: the parts of the time, at the node that has the most to do over all bars
//! or at every node.

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
struct Split {
    at: Levels,
    parts: BTreeMap<String, Estimate>,
    origin: Origin,
}

impl Drawing<'_> {
    /// In each bar the parts of the time at one node, and which: that which is busiest over all of them, as in
    /// [`crate::analyse::causes`].
    pub(super) fn busiest(&self) -> (Vec<Series>, String) {
        let levels = self.view.levels_of(self.spec.by(), &self.spec.at);
        let cells: Vec<&Cell> =
            levels.iter().flat_map(|level| self.across(Some(level), |at| self.cell(at))).collect();
        let Some(node) = split::busiest(&cells, &self.prefix()) else {
            return (Vec::new(), String::new());
        };
        let split = |at: &Levels| self.split(at, self.cell(at)?, &node);
        let stacks = levels
            .iter()
            .flat_map(|level| self.stack(&self.level(level), self.across(Some(level), split)))
            .collect();
        let alone = cells.iter().all(|cell| split::nodes(cell, &self.prefix()).len() <= 1);
        let name = match self.called(&node).as_str() {
            "master" => "the master".to_string(),
            other => other.to_string(),
        };
        let where_taken = match alone {
            true => format!("At {name}. "),
            false => format!("Every bar is of {name}, which has the most to do over all of them. "),
        };
        (stacks, where_taken)
    }

    /// A bar a node, with the parts of its time, at every place across.
    pub(super) fn nodes(&self) -> Vec<Series> {
        let places = self.places(&Levels::new());
        let cells: Vec<(Levels, &Cell)> =
            places.into_iter().filter_map(|at| Some((at.clone(), self.cell(&at)?))).collect();
        let known = cells.iter().flat_map(|(_, cell)| split::nodes(cell, &self.prefix()));
        let mut nodes: Vec<String> = known.collect::<BTreeSet<_>>().into_iter().collect();
        nodes.sort_by_key(|node| node.parse::<usize>().unwrap_or(usize::MAX));
        let splits =
            |node: &str| cells.iter().filter_map(|(at, cell)| self.split(at, cell, node)).collect::<Vec<_>>();
        nodes.iter().flat_map(|node| self.stack(&self.called(node), splits(node))).collect()
    }

    /// The parts as series of one bar.
    fn stack(&self, bar: &str, splits: Vec<Split>) -> Vec<Series> {
        let origin = splits.iter().map(|split| split.origin).max().unwrap_or(Origin::Measured);
        let mut by_part: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for Split { at, parts, .. } in splits {
            for (part, seconds) in parts {
                if let Some(point) = self.placed(&at, seconds) {
                    by_part.entry(part).or_default().push(point);
                }
            }
        }
        let series = |(part, points): (String, Vec<Point>)| Series {
            name: part::words(&part),
            group: bar.to_string(),
            origin,
            points,
        };
        by_part.into_iter().map(series).collect()
    }

    fn split(&self, at: &Levels, cell: &Cell, node: &str) -> Option<Split> {
        let prefix = self.prefix();
        let blocks: BTreeMap<usize, BTreeMap<String, f64>> = cell
            .counted()
            .filter_map(|(block, _)| Some((block, split::parts(cell, block, node, &prefix)?)))
            .collect();
        let names: BTreeSet<&String> = blocks.values().flat_map(BTreeMap::keys).collect();
        // A part that is not told in a block took no time there.
        let values = |name: &String| -> ByBlock {
            blocks.iter().map(|(block, parts)| (*block, parts.get(name).copied().unwrap_or(0.0))).collect()
        };
        let from = format!("{prefix}{}", names.first()?);
        let origin = origins([cell], &from).last().copied()?;
        let parts =
            names.iter().filter_map(|name| Some(((*name).clone(), estimate::of(values(name).values())?)));
        Some(Split { at: at.clone(), parts: parts.collect(), origin })
    }

    /// The one cell at some levels.
    fn cell(&self, at: &Levels) -> Option<&Cell<'_>> {
        let units = self.view.units(at);
        let &[cell] = units.first()?.cells.as_slice() else { return None };
        Some(cell)
    }

    /// What people call a node: work that is given `slaves` has its master on node 0.
    fn called(&self, node: &str) -> String {
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
