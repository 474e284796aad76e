//! Which attempts come next, and how long the rest will take.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_core::cell::CellId;
use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::{Cell, Plan, PlannedExperiment};
use crosstalk_study::samples::Run;

/// How the cells' attempts went so far.
pub struct History {
    /// How long this machine takes for what the yardstick does in a second.
    pace: f64,
    /// Cell → wall seconds of all its tries, and the blocks that they were in.
    taken: BTreeMap<CellId, (f64, usize)>,
    /// Cell → blocks in a row in which it failed.
    failures: BTreeMap<CellId, usize>,
}

impl History {
    pub fn new(pace: f64) -> Self {
        History { pace, taken: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// Notes how long an attempt took, however it ended; whether it is the cell's `first` try in its block.
    pub fn took(&mut self, cell: &CellId, seconds: f64, first: bool) {
        let taken = self.taken.entry(cell.clone()).or_default();
        taken.0 += seconds;
        taken.1 += usize::from(first);
    }

    /// Notes how a cell's turn in a block ended. True when it is given up now.
    pub fn block_ended(&mut self, cell: &CellId, finished: bool) -> bool {
        let failures = self.failures.entry(cell.clone()).or_default();
        *failures = if finished { 0 } else { *failures + 1 };
        *failures == GIVE_UP_AFTER
    }

    pub fn given_up(&self, cell: &CellId) -> bool {
        self.failures.get(cell).is_some_and(|n| *n >= GIVE_UP_AFTER)
    }

    /// Seconds that a cell's first `blocks` blocks are expected to take, by its workload.
    fn expected(&self, experiment: &PlannedExperiment, cell: &Cell, blocks: usize) -> f64 {
        experiment.effort(cell).seconds(blocks, self.pace)
    }

    /// What the blocks so far took, over what they were expected to: of all cells.
    fn overall(&self, plan: &Plan) -> f64 {
        let (mut expected, mut taken) = (0.0, 0.0);
        for (experiment, cell) in cells(plan) {
            if let Some((seconds, blocks)) = self.taken.get(&cell.id) {
                expected += self.expected(experiment, cell, *blocks);
                taken += seconds;
            }
        }
        if expected > 0.0 { taken / expected } else { 1.0 }
    }

    /// Estimated seconds of so many more blocks of a cell: as the workload expects, times what its earlier
    /// blocks took, with all their tries, over what they were expected to. A cell that has not run yet is taken
    /// to differ from what is expected as the others do, `overall`.
    fn more(&self, experiment: &PlannedExperiment, cell: &Cell, blocks: usize, overall: f64) -> f64 {
        let (taken, so_far) = self.taken.get(&cell.id).copied().unwrap_or_default();
        let before = self.expected(experiment, cell, so_far);
        let more = self.expected(experiment, cell, so_far + blocks) - before;
        if before > 0.0 { more * taken / before } else { more * overall }
    }

    /// Seconds until the next look and until the budget ends, when `rest` of
    /// this block is still to come and `block` is the next.
    pub fn seconds_left(&self, plan: &Plan, block: usize, rest: &[&Cell]) -> (f64, f64) {
        let rest: BTreeSet<&CellId> = rest.iter().map(|cell| &cell.id).collect();
        let overall = self.overall(plan);
        let left = |until: usize| {
            let attempts = |experiment: &PlannedExperiment, cell: &Cell| {
                let blocks = experiment.blocks_within(until) - experiment.blocks_within(block);
                blocks + usize::from(rest.contains(&cell.id))
            };
            let cells = cells(plan).filter(|(_, cell)| !self.given_up(&cell.id));
            cells.map(|(of, cell)| self.more(of, cell, attempts(of, cell), overall)).sum()
        };
        (left(next_look(plan, block)), left(budget(plan).max(block)))
    }
}

/// Every cell of a plan that this host can run, with its experiment.
fn cells(plan: &Plan) -> impl Iterator<Item = (&PlannedExperiment, &Cell)> {
    plan.experiments.iter().flat_map(|experiment| experiment.runnable().map(move |cell| (experiment, cell)))
}

/// The most blocks that a plan runs.
pub fn budget(plan: &Plan) -> usize {
    let last = plan.looks.last().copied().unwrap_or(0);
    plan.experiments.iter().map(|experiment| experiment.blocks_within(last)).max().unwrap_or(last)
}

/// The blocks that are run when it is looked next, `block` being the next one.
fn next_look(plan: &Plan, block: usize) -> usize {
    plan.looks.iter().copied().find(|look| *look >= block).unwrap_or(block)
}

/// Attempts from `block` on until the next look.
pub fn attempts_until_look(plan: &Plan, block: usize) -> usize {
    let look = next_look(plan, block);
    let blocks = |(of, _): (&PlannedExperiment, &Cell)| of.blocks_within(look) - of.blocks_within(block);
    cells(plan).map(blocks).sum()
}

/// How many times each cell has been tried in `block`; none where it was not.
pub fn tries(run: &Run, block: usize) -> BTreeMap<CellId, u32> {
    let mut tries = BTreeMap::new();
    for attempt in run.attempts.iter().filter(|attempt| attempt.block == block) {
        let most: &mut u32 = tries.entry(attempt.cell.clone()).or_default();
        *most = attempt.try_number.max(*most);
    }
    tries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Effort;
    use crosstalk_core::value::Levels;
    use crosstalk_study::plan::{Place, Scene};

    fn id(number: i64) -> CellId {
        CellId::new("graph", Levels::from([("slaves".into(), number.into())]))
    }

    fn plan(effort: Effort) -> Plan {
        let place = Place::Outside { nodes: 1 };
        let scene = Scene { work: BTreeMap::new(), place, conditions: BTreeMap::new(), observe: Vec::new() };
        let cell = Cell { id: id(1), scene, effort, unmet_need: None };
        let experiment = PlannedExperiment {
            name: "graph".into(),
            cells: vec![cell],
            metrics: Vec::new(),
            hard: Vec::new(),
            blocks: None,
            pending: None,
            stage: 0,
        };
        Plan {
            study: "my".into(),
            seed: 1,
            quick: false,
            reduced: false,
            looks: vec![4],
            warmup: 0,
            questions: 0,
            pending_questions: 0,
            experiments: vec![experiment],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_an_attempt_took_corrects_what_the_next_is_expected_to_take() {
        // The first takes 10 s more: what it took must not be taken for what each takes.
        let plan = plan(Effort { waiting: 0.0, computing: 2.0, once: 10.0 });
        let mut history = History::new(1.5);
        assert_eq!(history.seconds_left(&plan, 0, &[]), (15.0 + 3.0 * 4.0, 15.0 + 3.0 * 4.0));
        history.took(&id(1), 36.0, true);
        assert_eq!(history.seconds_left(&plan, 1, &[]).1, 2.0 * 3.0 * 3.0, "all took twice as long");
        history.took(&id(1), 6.0, true);
        assert_eq!(history.seconds_left(&plan, 2, &[]).1, 2.0 * 2.0 * 3.0);
    }

    #[test]
    fn tries_count_and_cells_that_have_not_run_are_expected_to_differ_as_the_others_do() {
        let mut plan = plan(Effort::waiting(2.0));
        let other = Cell { id: id(2), ..plan.experiments[0].cells[0].clone() };
        plan.experiments[0].cells.push(other);
        let mut history = History::new(1.0);
        // Failed, and again: three times what one attempt was expected to take.
        history.took(&id(1), 2.0, true);
        history.took(&id(1), 4.0, false);
        assert_eq!(
            history.seconds_left(&plan, 1, &[&plan.experiments[0].cells[1]]).1,
            3.0 * 2.0 * 3.0 + 4.0 * 2.0 * 3.0
        );
    }

    #[test]
    fn an_experiment_of_fewer_blocks_is_not_waited_for_longer() {
        let mut plan = plan(Effort::waiting(2.0));
        plan.experiments[0].blocks = Some(3);
        let history = History::new(1.0);
        assert_eq!((history.seconds_left(&plan, 0, &[]).1, attempts_until_look(&plan, 0)), (6.0, 3));
        assert_eq!((history.seconds_left(&plan, 2, &[]).1, attempts_until_look(&plan, 2)), (2.0, 1));
        assert_eq!(
            (
                history.seconds_left(&plan, 3, &[&plan.experiments[0].cells[0]]).1,
                attempts_until_look(&plan, 3)
            ),
            (2.0, 0)
        );
        assert!(plan.order(3).is_empty());
    }
}
