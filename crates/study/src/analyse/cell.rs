//! A planned cell with the attempts at it.
//!
//! Of several tries at a cell in one block only the last can count: a resumed run repeats the block that was cut short.
//! The last try counts where it finished and was faithful.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::plan;
use crate::rules::GIVE_UP_AFTER;
use crate::samples::Attempt;

/// Block → the number a cell showed in it.
pub type ByBlock = BTreeMap<usize, f64>;

/// A planned cell with its attempts. Cells are in the order of the plan.
pub struct Cell<'a> {
    /// What was planned.
    pub planned: &'a plan::Cell,
    /// Its index among all cells of the plan.
    index: usize,
    /// Every attempt at it.
    pub attempts: Vec<&'a Attempt>,
    /// Block → the last try in it.
    pub last_try: BTreeMap<usize, &'a Attempt>,
    /// Metric queries that were answered, with their numbers by block.
    pub(super) cache: RefCell<HashMap<String, Rc<ByBlock>>>,
}

/// Whether an attempt's samples count in the analysis.
pub fn is_counted(attempt: &Attempt) -> bool {
    attempt.status == Status::Finished && is_faithful(attempt)
}

/// Whether the attempt stayed within the fidelity monitor's bounds, or was not watched by it.
pub fn is_faithful(attempt: &Attempt) -> bool {
    attempt.fidelity.as_ref().is_none_or(|f| f.faithful())
}

impl<'a> Cell<'a> {
    /// A cell without attempts; `index` is its index in the plan.
    pub fn new(planned: &'a plan::Cell, index: usize) -> Self {
        Cell { planned, index, attempts: Vec::new(), last_try: BTreeMap::new(), cache: RefCell::default() }
    }

    /// The cell's identity.
    pub fn id(&self) -> &'a CellId {
        &self.planned.id
    }

    /// The cell's levels.
    pub fn levels(&self) -> &'a Levels {
        &self.planned.id.levels
    }

    /// Adds an attempt at this cell.
    pub fn add_attempt(&mut self, attempt: &'a Attempt) {
        self.attempts.push(attempt);
        let later =
            self.last_try.get(&attempt.block).is_none_or(|known| attempt.try_number >= known.try_number);
        if later {
            self.last_try.insert(attempt.block, attempt);
        }
    }

    /// Leaves out the tries in all other blocks.
    pub fn keep_blocks(&mut self, blocks: &BTreeSet<usize>) {
        self.last_try.retain(|block, _| blocks.contains(block));
    }

    /// Whether this host cannot run it.
    pub fn cannot_run(&self) -> bool {
        self.planned.unmet_need.is_some()
    }

    /// Whether this host cannot run it and no attempt was made at it.
    pub fn never_has_data(&self) -> bool {
        self.cannot_run() && self.attempts.is_empty()
    }

    /// Whether the runner has given it up: later blocks do without it.
    pub fn is_given_up(&self) -> bool {
        self.last_try.len() >= GIVE_UP_AFTER
            && self.last_try.values().rev().take(GIVE_UP_AFTER).all(|a| a.status == Status::Failed)
    }

    /// The attempts that count, with their blocks.
    pub fn counted_attempts(&self) -> impl Iterator<Item = (usize, &'a Attempt)> + '_ {
        self.last_try.iter().filter(|(_, a)| is_counted(a)).map(|(block, a)| (*block, *a))
    }
}

/// Each of these cells once, in the order of the plan.
pub fn in_plan_order<'a, 'b>(cells: impl Iterator<Item = &'b Cell<'a>>) -> Vec<&'b Cell<'a>> {
    let mut cells: Vec<&Cell> = cells.collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

impl PartialEq for Cell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for Cell<'_> {}

impl PartialOrd for Cell<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cell<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.cmp(&other.index)
    }
}
