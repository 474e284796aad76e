//! What will be run: every cell, in which order, until when.

pub(crate) mod budget;
pub(crate) mod cells;
pub(crate) mod make;
mod metrics;
pub mod options;
mod order;
mod place;
mod same;
mod scene;

pub use options::PlanOptions;
pub use order::WallTime;

use crosstalk_core::cell::CellId;
use crosstalk_core::emulation::Placement;
use crosstalk_core::fabric::Links;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::Effort;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, Value};
use std::collections::BTreeMap;

/// A study made concrete.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The study's name.
    pub study: String,
    /// Seed of the order of cells and of the workloads' inputs.
    pub seed: u64,
    /// Whether it was asked for by `--quick`.
    pub quick: bool,
    /// Whether the study's `quick` section cut it down.
    pub cut: bool,
    /// Blocks at which to look whether the data suffice, ascending; the last is the budget.
    pub looks: Vec<usize>,
    /// Attempts at each cell before the first block, which do not count.
    pub warmup: usize,
    /// How many questions are judged together: comparisons and primary claims.
    pub questions: usize,
    /// How many of them are about experiments that still wait for an earlier one's result.
    pub to_come: usize,
    /// Its experiments.
    pub experiments: Vec<PlannedExperiment>,
    /// What this host cannot do of it, each with its remedy.
    pub warnings: Vec<String>,
}

/// One experiment with its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedExperiment {
    /// Its name in the study file.
    pub name: String,
    /// What its workloads report, in the order of their parts' names, then its observers.
    /// The first is decided on where the study does not say otherwise.
    pub metrics: Vec<Metric>,
    /// Factors that are costly to change: their levels are grouped within a block.
    pub hard: Vec<String>,
    /// The most blocks it runs in, where those are fewer than the plan's.
    pub blocks: Option<usize>,
    /// Every combination of levels that is not excluded.
    pub cells: Vec<Cell>,
    /// Why there are no cells yet: a factor waits for an earlier experiment's result.
    pub pending: Option<String>,
    /// How many stages of experiments are run before it.
    pub stage: usize,
}

/// One combination of levels and the scene it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Which one it is.
    pub id: CellId,
    /// What happens in it.
    pub scene: Scene,
    /// About how long attempts take.
    pub effort: Effort,
    /// What this host lacks for it, with the remedy: it is not run.
    pub lacks: Option<String>,
}

/// What happens in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Work by its name in the study (`own`, `external`, `graph`), `$factor`s filled in.
    pub work: BTreeMap<String, Work>,
    /// Where it happens.
    pub place: Place,
    /// Conditions other than the place: registered name → value.
    pub conditions: BTreeMap<String, Value>,
    /// Observers' registered names.
    pub observe: Vec<String>,
}

/// One workload of a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Registered name of the workload.
    pub kind: String,
    /// Its parameters without `kind`.
    pub params: Params,
    /// How many nodes take part in it: the first ones.
    pub nodes: usize,
    /// Whether it begins first, and goes on until the others have ended.
    pub lasts: bool,
}

/// Where a scene happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// Virtual time on a catalogued system (`kosmos-srio`).
    Virtual {
        /// The system, network included.
        system: String,
        /// What is different about its links.
        links: Links,
        /// Memory a node, where it is not the system's own.
        memory: Option<Bytes>,
        /// How nodes are spread over boards.
        placement: Placement,
        /// Nodes.
        nodes: usize,
    },
    /// Real time over links that behave so.
    Real {
        /// The fabric's name, or `none`.
        fabric: String,
        /// What its links are shaped to.
        link: Link,
        /// The fabric's rate over the link's: above 1 where rates and data are scaled down together.
        scale: f64,
        /// Nodes.
        nodes: usize,
    },
    /// Real time on machines of the user's, which the work reaches by itself from here.
    Outside {
        /// Nodes here.
        nodes: usize,
    },
}

impl Plan {
    /// Every cell of every experiment.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.experiments.iter().flat_map(|experiment| &experiment.cells)
    }

    /// The cells that this host can run.
    pub fn runnable(&self) -> impl Iterator<Item = &Cell> {
        self.cells().filter(|cell| cell.lacks.is_none())
    }

    /// The stage that is run now: the last of which there are cells.
    pub fn stage(&self) -> usize {
        let there = self.experiments.iter().filter(|experiment| !experiment.cells.is_empty());
        there.map(|experiment| experiment.stage).max().unwrap_or(0)
    }

    /// The same plan with the experiments of the stage that is run now alone.
    #[must_use]
    pub fn now(&self) -> Plan {
        let mut now = self.clone();
        let stage = self.stage();
        now.experiments.retain(|experiment| experiment.stage == stage);
        now
    }

    /// The experiment that a cell is of.
    ///
    /// # Panics
    /// Where it is of another plan.
    pub fn experiment(&self, cell: &CellId) -> &PlannedExperiment {
        let found = self.experiments.iter().find(|experiment| experiment.name == cell.experiment);
        found.expect("a cell of this plan")
    }

    /// Behind how many cells of its experiment a cell is planned.
    pub fn place_of(&self, cell: &CellId) -> usize {
        let all = &self.experiment(cell).cells;
        all.iter().position(|planned| planned.id == *cell).unwrap_or(all.len())
    }

    /// The nodes of the largest cell that this host can run.
    pub fn nodes(&self) -> usize {
        self.runnable().map(|cell| cell.scene.place.nodes()).max().unwrap_or(0)
    }
}

impl PlannedExperiment {
    /// The cells that this host can run.
    pub fn runnable(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.lacks.is_none())
    }

    /// How many of the first `count` blocks it runs in.
    pub fn within(&self, count: usize) -> usize {
        self.blocks.map_or(count, |most| most.min(count))
    }

    /// About how long a cell's attempts take in a run. What only the first attempt takes, such
    /// as starting a cluster that is then kept, the first of all cells with the same work takes.
    pub fn effort(&self, cell: &Cell) -> Effort {
        let Cell { effort, scene, .. } = cell;
        let first = || self.cells.iter().find(|earlier| earlier.scene.work == scene.work);
        let again = effort.startup > 0.0 && first().is_some_and(|first| first.id != cell.id);
        Effort { startup: if again { 0.0 } else { effort.startup }, ..*effort }
    }

    /// Whether it runs in `block`.
    pub fn runs_in(&self, block: usize) -> bool {
        self.within(block + 1) > block
    }
}

impl Place {
    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        match self {
            Place::Virtual { nodes, .. } | Place::Real { nodes, .. } | Place::Outside { nodes } => *nodes,
        }
    }
}
