//! A planned cell with the attempts at it.
//!
//! Of several tries at a cell in one block the last counts: a resumed run
//! repeats the block that was cut short, and what came before stays, unpaired.
//! A try counts when it finished and was faithful.

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
    /// How many cells of the plan are before it.
    place: usize,
    /// Every try at it.
    pub attempts: Vec<&'a Attempt>,
    /// Block → the last try in it.
    pub last: BTreeMap<usize, &'a Attempt>,
    /// What it showed of the metrics that were asked for.
    pub(super) known: RefCell<HashMap<String, Rc<ByBlock>>>,
}

/// Whether an attempt's samples count.
pub fn counts(attempt: &Attempt) -> bool {
    attempt.status == Status::Finished && faithful(attempt)
}

/// Within the fidelity monitor's bounds, or not watched by it.
pub fn faithful(attempt: &Attempt) -> bool {
    attempt.fidelity.as_ref().is_none_or(|f| f.faithful())
}

impl<'a> Cell<'a> {
    /// One without attempts, behind `place` others of the plan.
    pub fn new(planned: &'a plan::Cell, place: usize) -> Self {
        Cell { planned, place, attempts: Vec::new(), last: BTreeMap::new(), known: RefCell::default() }
    }

    /// Which one it is.
    pub fn id(&self) -> &'a CellId {
        &self.planned.id
    }

    /// Its levels.
    pub fn levels(&self) -> &'a Levels {
        &self.planned.id.levels
    }

    /// Notes a try at it.
    pub fn add(&mut self, attempt: &'a Attempt) {
        self.attempts.push(attempt);
        let later = self.last.get(&attempt.block).is_none_or(|known| attempt.turn >= known.turn);
        if later {
            self.last.insert(attempt.block, attempt);
        }
    }

    /// Forgets the tries in other blocks than these.
    pub fn only_of(&mut self, blocks: &BTreeSet<usize>) {
        self.last.retain(|block, _| blocks.contains(block));
    }

    /// Whether this host cannot run it.
    pub fn lacks(&self) -> bool {
        self.planned.lacks.is_some()
    }

    /// Whether it has no data and will have none here.
    pub fn is_out(&self) -> bool {
        self.lacks() && self.attempts.is_empty()
    }

    /// Whether the runner has given it up, so that later blocks go without it.
    pub fn given_up(&self) -> bool {
        self.last.len() >= GIVE_UP_AFTER
            && self.last.values().rev().take(GIVE_UP_AFTER).all(|a| a.status == Status::Failed)
    }

    /// The tries that count, by block.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &'a Attempt)> + '_ {
        self.last.iter().filter(|(_, a)| counts(a)).map(|(block, a)| (*block, *a))
    }
}

/// Each of some cells once, in plan order.
pub fn in_order<'a, 'b>(cells: impl Iterator<Item = &'b Cell<'a>>) -> Vec<&'b Cell<'a>> {
    let mut cells: Vec<&Cell> = cells.collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

impl PartialEq for Cell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
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
        self.place.cmp(&other.place)
    }
}
