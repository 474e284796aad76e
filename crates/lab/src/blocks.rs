//! Which attempts come next, and how long the rest will take.

use std::collections::BTreeMap;

use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::Plan;
use crosstalk_study::samples::Run;

/// A cell of the plan: experiment and cell, by their places in it.
pub type CellId = (usize, usize);

/// What is known of the cells so far.
pub struct Book {
    /// How long this machine takes for what the reference machine does in a second.
    pace: f64,
    /// Cell → wall seconds of its attempts: sum and count.
    taken: BTreeMap<CellId, (f64, usize)>,
    /// Cell → blocks in a row in which it failed.
    failures: BTreeMap<CellId, usize>,
}

impl Book {
    pub fn new(pace: f64) -> Self {
        Book { pace, taken: BTreeMap::new(), failures: BTreeMap::new() }
    }

    pub fn took(&mut self, cell: CellId, seconds: f64) {
        let entry = self.taken.entry(cell).or_default();
        entry.0 += seconds;
        entry.1 += 1;
    }

    /// Notes how a cell's turn in a block ended. True when it is given up now.
    pub fn block_ended(&mut self, cell: CellId, finished: bool) -> bool {
        let failures = self.failures.entry(cell).or_default();
        *failures = if finished { 0 } else { *failures + 1 };
        *failures == GIVE_UP_AFTER
    }

    pub fn given_up(&self, cell: CellId) -> bool {
        self.failures.get(&cell).is_some_and(|n| *n >= GIVE_UP_AFTER)
    }

    /// Estimated seconds for one more attempt at a cell: as the workload expects,
    /// times what its earlier attempts took over what they were expected to.
    fn one_more(&self, plan: &Plan, cell: CellId) -> f64 {
        let effort = plan.experiments[cell.0].cells[cell.1].effort;
        let expected = |attempts: usize| effort.seconds(attempts, self.pace);
        let (taken, attempts) = self.taken.get(&cell).copied().unwrap_or_default();
        let more = expected(attempts + 1) - expected(attempts);
        if expected(attempts) > 0.0 { more * taken / expected(attempts) } else { more }
    }

    /// Estimated seconds for these attempts.
    pub fn estimate(&self, plan: &Plan, cells: &[CellId]) -> f64 {
        let left = cells.iter().filter(|cell| !self.given_up(**cell));
        left.map(|cell| self.one_more(plan, *cell)).sum()
    }

    /// Seconds until the next look and until the budget ends, when `rest` of
    /// this block is still to come and `block` is the next.
    pub fn seconds_left(&self, plan: &Plan, block: usize, rest: &[CellId]) -> (f64, f64) {
        let one_block = self.estimate(plan, &plan.order(0));
        let rest = self.estimate(plan, rest);
        (
            rest + one_block * blocks_until_look(plan, block) as f64,
            rest + one_block * budget(plan).saturating_sub(block) as f64,
        )
    }
}

/// The most blocks that a plan runs.
pub fn budget(plan: &Plan) -> usize {
    plan.looks.last().copied().unwrap_or(0)
}

/// Blocks from `block` on until the next look.
fn blocks_until_look(plan: &Plan, block: usize) -> usize {
    plan.looks.iter().find(|look| **look >= block).map_or(0, |look| look - block)
}

/// Attempts from `block` on until the next look.
pub fn attempts_until_look(plan: &Plan, block: usize) -> usize {
    blocks_until_look(plan, block) * plan.cells().count()
}

/// How many times each cell of `block` has been tried, by plan position.
pub fn turns(plan: &Plan, run: &Run, block: usize) -> BTreeMap<CellId, u32> {
    let mut turns = BTreeMap::new();
    for (e, experiment) in plan.experiments.iter().enumerate() {
        for (c, cell) in experiment.cells.iter().enumerate() {
            let tried = run
                .attempts
                .iter()
                .filter(|a| a.block == block && a.experiment == experiment.name && a.levels == cell.levels)
                .map(|a| a.turn)
                .max();
            turns.insert((e, c), tried.unwrap_or(0));
        }
    }
    turns
}
