//! What will be run: every cell, in which order, until when.

pub(crate) mod base;
pub(crate) mod budget;
pub(crate) mod cells;
mod certain;
mod equal_levels;
pub(crate) mod make;
mod metrics;
pub(crate) mod needs;
pub mod options;
mod order;
mod place;
mod scene;

pub use certain::refuse_certain;
pub use options::PlanOptions;
pub use order::WallTime;

use crosstalk_core::cell::CellId;
use crosstalk_core::emulation::Placement;
use crosstalk_core::fabric::Links;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::Effort;
use crosstalk_core::system::Disk;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::{BitRate, Bytes};
use crosstalk_core::value::{Params, Value};
use std::collections::BTreeMap;

/// A study with all of its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The study's name.
    pub study: String,
    /// Seed of the order of cells and of the workloads' inputs.
    pub seed: u64,
    /// Whether it was made with `--quick`.
    pub quick: bool,
    /// Whether it is the part of the study that `quick` or an engine's section names.
    pub reduced: bool,
    /// The interim analyses: the numbers of blocks after which to analyse whether the data suffice, ascending. The last is
    /// the budget.
    pub looks: Vec<usize>,
    /// Attempts at each cell before the first block, which do not count.
    pub warmup: usize,
    /// How many questions are judged together: comparisons and primary claims.
    pub questions: usize,
    /// How many of these questions are about experiments that wait for an earlier result.
    pub pending_questions: usize,
    /// Its experiments.
    pub experiments: Vec<PlannedExperiment>,
    /// What limits it on this host, each with its remedy, apart from the cells that it cannot run: see [`Plan::limits`].
    pub warnings: Vec<String>,
}

/// One experiment with its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedExperiment {
    /// Its name in the study file.
    pub name: String,
    /// What its workloads report, in the order of their parts' names, then its observers.
    /// The first is the deciding metric [default].
    pub metrics: Vec<Metric>,
    /// Factors that are costly to change: their levels are grouped within a block.
    pub hard: Vec<String>,
    /// The most blocks that it runs in [default: all of the plan's].
    pub blocks: Option<usize>,
    /// Whether all its numbers follow from the parameters of emulated clusters: it runs in one block.
    pub computed: bool,
    /// Every combination of levels that is not excluded.
    pub cells: Vec<Cell>,
    /// Why it has no cells yet: a factor waits for an earlier experiment's result. `None` where none does.
    pub pending: Option<String>,
    /// Its stage, from 0: experiments of earlier stages run first.
    pub stage: usize,
}

/// One combination of factor levels to measure, with its scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its identity.
    pub id: CellId,
    /// What happens in it.
    pub scene: Scene,
    /// An estimate of how long attempts take.
    pub effort: Effort,
    /// What this host does not have for it, with the remedy: the cell is not run. `None` where it can run.
    pub unmet_need: Option<String>,
}

impl Cell {
    /// Whether its work can be replayed over ranges: it is the only work on an emulated cluster whose links are the
    /// system's own. Other links are set, not uncertain.
    pub fn can_be_replayed(&self) -> bool {
        let own_links = matches!(&self.scene.place, Place::Virtual { links, .. } if links.is_unchanged());
        own_links && self.scene.work.len() == 1
    }
}

/// What happens in one cell: the workloads, where they run, and the conditions and observers around them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Work by its name in the study (`graph`), with levels in the place of `$factor`.
    pub work: BTreeMap<String, Work>,
    /// Where it happens.
    pub place: Place,
    /// Conditions other than the place: registered name → value.
    pub conditions: BTreeMap<String, Value>,
    /// Observers' registered names.
    pub observe: Vec<String>,
}

/// One workload of a scene, with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Registered name of the workload.
    pub kind: String,
    /// Its parameters without `kind`.
    pub params: Params,
    /// The number of its nodes: the first ones of the scene.
    pub nodes: usize,
    /// Whether it is background work: it begins first, and ends when all other work has ended.
    pub lasts: bool,
}

/// Where a scene happens: in virtual time, on real nodes, or on a cluster of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// Virtual time on a catalogued system (`kosmos-srio`).
    Virtual {
        /// The system, network included.
        system: String,
        /// What differs from the system's own links.
        links: Links,
        /// The link of a board to the others.
        uplink: Uplink,
        /// The memory of a node [default: the system's].
        memory: Option<Bytes>,
        /// The disk of a node [default: the system's].
        disk: Option<Disk>,
        /// The MPI profile's name. `None`: the message-passing library costs nothing.
        mpi: Option<String>,
        /// How nodes are spread over boards.
        placement: Placement,
        /// The number of nodes.
        nodes: usize,
        /// How many ranks each node has.
        ranks: u32,
    },
    /// Real time over shaped links.
    Real {
        /// The fabric's name, or `none`.
        fabric: String,
        /// How its links are shaped.
        link: Link,
        /// The fabric's rate over the link's: above 1 where rates are scaled down.
        scale: f64,
        /// The number of nodes.
        nodes: usize,
    },
    /// Real time on a cluster of the user's, which the work reaches by itself from this host.
    Outside {
        /// The number of nodes on this host.
        nodes: usize,
    },
}

/// The link of a board to the others, which its nodes share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Uplink {
    /// That of the system's network.
    #[default]
    OfSystem,
    /// It delays nothing.
    Unlimited,
    /// Of this rate, in each direction.
    Rate(BitRate),
    /// The rate of the links of all of a board's nodes together, over this: `4:1` is 4.
    Oversubscribed(f64),
}

impl Plan {
    /// Every cell of every experiment.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.experiments.iter().flat_map(|experiment| &experiment.cells)
    }

    /// The cells that this host can run.
    pub fn runnable(&self) -> impl Iterator<Item = &Cell> {
        self.cells().filter(|cell| cell.unmet_need.is_none())
    }

    /// The current stage: the last one that has cells.
    pub fn current_stage(&self) -> usize {
        let there = self.experiments.iter().filter(|experiment| !experiment.cells.is_empty());
        there.map(|experiment| experiment.stage).max().unwrap_or(0)
    }

    /// The plan with the experiments of the current stage alone.
    #[must_use]
    pub fn of_current_stage(&self) -> Plan {
        let mut current = self.clone();
        let stage = self.current_stage();
        current.experiments.retain(|experiment| experiment.stage == stage);
        current
    }

    /// A cell's experiment.
    ///
    /// # Panics
    /// Where the cell is of another plan.
    pub fn experiment(&self, cell: &CellId) -> &PlannedExperiment {
        let found = self.experiments.iter().find(|experiment| experiment.name == cell.experiment);
        found.expect("a cell of this plan")
    }

    /// A cell's index among the cells of its experiment; their number where it is not among them.
    pub fn index_of(&self, cell: &CellId) -> usize {
        let all = &self.experiment(cell).cells;
        all.iter().position(|planned| planned.id == *cell).unwrap_or(all.len())
    }

    /// The number of nodes of the largest cell that this host can run.
    pub fn nodes(&self) -> usize {
        self.runnable().map(|cell| cell.scene.place.nodes()).max().unwrap_or(0)
    }
}

impl PlannedExperiment {
    /// The cells that this host can run.
    pub fn runnable(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.unmet_need.is_none())
    }

    /// How many of the first `count` blocks it runs in.
    pub fn blocks_within(&self, count: usize) -> usize {
        self.blocks.map_or(count, |most| most.min(count))
    }

    /// An estimate of how long a cell's attempts take in a run. What only the first attempt takes, such as starting a
    /// cluster that is kept, counts for the first of all cells with the same work.
    pub fn effort(&self, cell: &Cell) -> Effort {
        let Cell { effort, scene, .. } = cell;
        let first = || self.cells.iter().find(|earlier| earlier.scene.work == scene.work);
        let again = effort.startup > 0.0 && first().is_some_and(|first| first.id != cell.id);
        Effort { startup: if again { 0.0 } else { effort.startup }, ..*effort }
    }

    /// Whether it runs in `block`.
    pub fn runs_in(&self, block: usize) -> bool {
        self.blocks_within(block + 1) > block
    }
}

impl Place {
    /// The number of its nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Place::Virtual { nodes, .. } | Place::Real { nodes, .. } | Place::Outside { nodes } => *nodes,
        }
    }
}
