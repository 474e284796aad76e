//! Which attempts come next, and how long the rest will take.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::Plan;
use crosstalk_study::samples::{Attempt, Run};

/// A cell of the plan: experiment and cell, by their places in it.
pub type CellId = (usize, usize);

/// What is known of the cells so far.
pub struct Book {
    /// How long this machine takes for what the yardstick does in a second.
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

    /// Estimated seconds for so many more attempts at a cell: as the workload
    /// expects, times what its earlier attempts took over what they were expected to.
    fn more(&self, plan: &Plan, cell: CellId, attempts: usize) -> f64 {
        let effort = plan.experiments[cell.0].effort(cell.1);
        let expected = |attempts: usize| effort.seconds(attempts, self.pace);
        let (taken, so_far) = self.taken.get(&cell).copied().unwrap_or_default();
        let more = expected(so_far + attempts) - expected(so_far);
        if expected(so_far) > 0.0 { more * taken / expected(so_far) } else { more }
    }

    /// Seconds until the next look and until the budget ends, when `rest` of
    /// this block is still to come and `block` is the next.
    pub fn seconds_left(&self, plan: &Plan, block: usize, rest: &[CellId]) -> (f64, f64) {
        let rest: BTreeSet<CellId> = rest.iter().copied().collect();
        let left = |until: usize| {
            let attempts = |cell: &CellId| {
                let experiment = &plan.experiments[cell.0];
                let blocks = experiment.within(until) - experiment.within(block);
                blocks + usize::from(rest.contains(cell))
            };
            let cells = cells(plan).filter(|cell| !self.given_up(*cell));
            cells.map(|cell| self.more(plan, cell, attempts(&cell))).sum()
        };
        (left(next_look(plan, block)), left(budget(plan).max(block)))
    }
}

/// Every cell of a plan.
fn cells(plan: &Plan) -> impl Iterator<Item = CellId> {
    plan.experiments.iter().enumerate().flat_map(|(e, found)| (0..found.cells.len()).map(move |c| (e, c)))
}

/// The most blocks that a plan runs.
pub fn budget(plan: &Plan) -> usize {
    let last = plan.looks.last().copied().unwrap_or(0);
    plan.experiments.iter().map(|experiment| experiment.within(last)).max().unwrap_or(last)
}

/// The blocks that are run when it is looked next, `block` being the next one.
fn next_look(plan: &Plan, block: usize) -> usize {
    plan.looks.iter().copied().find(|look| *look >= block).unwrap_or(block)
}

/// Attempts from `block` on until the next look.
pub fn attempts_until_look(plan: &Plan, block: usize) -> usize {
    let look = next_look(plan, block);
    plan.experiments.iter().map(|e| e.cells.len() * (e.within(look) - e.within(block))).sum()
}

/// How many times each cell of `block` has been tried, by plan position.
pub fn turns(plan: &Plan, run: &Run, block: usize) -> BTreeMap<CellId, u32> {
    let those: Vec<&Attempt> = run.attempts.iter().filter(|a| a.block == block).collect();
    let tried = |(e, c): CellId| {
        let planned = &plan.experiments[e];
        let its = |a: &&&Attempt| a.experiment == planned.name && a.levels == planned.cells[c].levels;
        those.iter().filter(its).map(|a| a.turn).max().unwrap_or(0)
    };
    cells(plan).map(|cell| (cell, tried(cell))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Effort;
    use crosstalk_study::plan::{Cell, Place, PlannedExperiment, Scene};

    fn plan(effort: Effort) -> Plan {
        let place = Place::Outside { nodes: 1 };
        let scene = Scene { work: BTreeMap::new(), place, conditions: BTreeMap::new(), observe: Vec::new() };
        let cell = Cell { levels: Default::default(), scene, effort };
        let experiment = PlannedExperiment {
            name: "graph".into(),
            cells: vec![cell],
            metrics: Vec::new(),
            hard: Vec::new(),
            blocks: None,
            pending: None,
        };
        Plan {
            study: "my".into(),
            seed: 1,
            quick: false,
            cut: false,
            looks: vec![4],
            experiments: vec![experiment],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_an_attempt_took_corrects_what_the_next_is_expected_to_take() {
        // The first takes 10 s more: what it took must not be taken for what each takes.
        let plan = plan(Effort { waiting: 0.0, computing: 2.0, once: 10.0 });
        let mut book = Book::new(1.5);
        assert_eq!(book.seconds_left(&plan, 0, &[]), (15.0 + 3.0 * 4.0, 15.0 + 3.0 * 4.0));
        book.took((0, 0), 36.0);
        assert_eq!(book.seconds_left(&plan, 1, &[]).1, 2.0 * 3.0 * 3.0, "all took twice as long");
        book.took((0, 0), 6.0);
        assert_eq!(book.seconds_left(&plan, 2, &[]).1, 2.0 * 2.0 * 3.0);
    }

    #[test]
    fn an_experiment_of_fewer_blocks_is_not_waited_for_longer() {
        let mut plan = plan(Effort::waiting(2.0));
        plan.experiments[0].blocks = Some(3);
        let book = Book::new(1.0);
        assert_eq!((book.seconds_left(&plan, 0, &[]).1, attempts_until_look(&plan, 0)), (6.0, 3));
        assert_eq!((book.seconds_left(&plan, 2, &[]).1, attempts_until_look(&plan, 2)), (2.0, 1));
        assert_eq!((book.seconds_left(&plan, 3, &[(0, 0)]).1, attempts_until_look(&plan, 3)), (2.0, 0));
        assert!(plan.order(3).is_empty());
    }
}
