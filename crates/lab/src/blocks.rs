//! Which attempts come next, and the estimated time of those that are left.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_core::cell::CellId;
use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::{Cell, Plan, PlannedExperiment};
use crosstalk_study::samples::Run;

/// Durations and failures of the attempts so far.
pub struct History {
    /// Seconds in which this machine computes what the reference machine computes in one.
    pace: f64,
    /// Cell → wall seconds of all its tries, and the number of their blocks.
    taken: BTreeMap<CellId, (f64, usize)>,
    /// Cell → consecutive blocks in which it failed, up to now.
    failures: BTreeMap<CellId, usize>,
}

impl History {
    /// No attempts yet, on a machine of that `pace`.
    pub fn new(pace: f64) -> Self {
        History { pace, taken: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// Notes the duration of an attempt, however it ended. `first`: it is the cell's first try in its block.
    pub fn add_duration(&mut self, cell: &CellId, seconds: f64, first: bool) {
        let taken = self.taken.entry(cell.clone()).or_default();
        taken.0 += seconds;
        taken.1 += usize::from(first);
    }

    /// Notes whether a cell's last try in a block finished. Returns true if the cell is given up now.
    pub fn end_block(&mut self, cell: &CellId, finished: bool) -> bool {
        let failures = self.failures.entry(cell.clone()).or_default();
        *failures = if finished { 0 } else { *failures + 1 };
        *failures == GIVE_UP_AFTER
    }

    /// Whether a cell has failed in so many blocks that it is not run any more.
    pub fn is_given_up(&self, cell: &CellId) -> bool {
        self.failures.get(cell).is_some_and(|n| *n >= GIVE_UP_AFTER)
    }

    /// The workload's estimate for a cell's first `blocks` blocks, in seconds.
    fn expected(&self, experiment: &PlannedExperiment, cell: &Cell, blocks: usize) -> f64 {
        experiment.effort(cell).seconds(blocks, self.pace)
    }

    /// The duration of all blocks so far, over its estimate.
    fn overall_ratio(&self, plan: &Plan) -> f64 {
        let (mut expected, mut taken) = (0.0, 0.0);
        for (experiment, cell) in cells(plan) {
            if let Some((seconds, blocks)) = self.taken.get(&cell.id) {
                expected += self.expected(experiment, cell, *blocks);
                taken += seconds;
            }
        }
        if expected > 0.0 { taken / expected } else { 1.0 }
    }

    /// Estimated seconds of `blocks` more blocks of a cell. The workload's estimate is corrected by the duration of
    /// the cell's earlier blocks over their estimate, or by `overall` if the cell has not run yet.
    fn seconds_of(&self, experiment: &PlannedExperiment, cell: &Cell, blocks: usize, overall: f64) -> f64 {
        let (taken, so_far) = self.taken.get(&cell.id).copied().unwrap_or_default();
        let before = self.expected(experiment, cell, so_far);
        let more = self.expected(experiment, cell, so_far + blocks) - before;
        if before > 0.0 { more * taken / before } else { more * overall }
    }

    /// Estimated seconds until the next interim analysis, and until the last block.
    /// `rest` are the cells still to run in this block, `block` is the next block.
    pub fn seconds_left(&self, plan: &Plan, block: usize, rest: &[&Cell]) -> (f64, f64) {
        let rest: BTreeSet<&CellId> = rest.iter().map(|cell| &cell.id).collect();
        let overall = self.overall_ratio(plan);
        let left = |until: usize| {
            let attempts = |experiment: &PlannedExperiment, cell: &Cell| {
                let blocks = experiment.blocks_within(until) - experiment.blocks_within(block);
                blocks + usize::from(rest.contains(&cell.id))
            };
            let cells = cells(plan).filter(|(_, cell)| !self.is_given_up(&cell.id));
            cells.map(|(of, cell)| self.seconds_of(of, cell, attempts(of, cell), overall)).sum()
        };
        (left(next_look(plan, block)), left(most_blocks(plan).max(block)))
    }
}

/// The cells of a plan that this machine can run, with their experiments.
fn cells(plan: &Plan) -> impl Iterator<Item = (&PlannedExperiment, &Cell)> {
    plan.experiments.iter().flat_map(|experiment| experiment.runnable().map(move |cell| (experiment, cell)))
}

/// The largest number of blocks that a plan runs.
pub fn most_blocks(plan: &Plan) -> usize {
    let last = plan.looks.last().copied().unwrap_or(0);
    plan.experiments.iter().map(|experiment| experiment.blocks_within(last)).max().unwrap_or(last)
}

/// The number of blocks at the next interim analysis (look); `block` is the next block.
fn next_look(plan: &Plan, block: usize) -> usize {
    plan.looks.iter().copied().find(|look| *look >= block).unwrap_or(block)
}

/// The number of attempts from `block` on until the next interim analysis (look).
pub fn attempts_until_look(plan: &Plan, block: usize) -> usize {
    let look = next_look(plan, block);
    let blocks = |(of, _): (&PlannedExperiment, &Cell)| of.blocks_within(look) - of.blocks_within(block);
    cells(plan).map(blocks).sum()
}

/// The number of tries of each cell in `block`. Cells without a try are absent.
pub fn count_tries(run: &Run, block: usize) -> BTreeMap<CellId, u32> {
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
            computed: false,
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
    fn the_duration_of_an_attempt_corrects_the_estimate_of_the_next() {
        // The first attempt takes 10 s more; the estimate of later ones must not contain that.
        let plan = plan(Effort { waiting: 0.0, computing: 2.0, startup: 10.0 });
        let mut history = History::new(1.5);
        assert_eq!(history.seconds_left(&plan, 0, &[]), (15.0 + 3.0 * 4.0, 15.0 + 3.0 * 4.0));
        history.add_duration(&id(1), 36.0, true);
        assert_eq!(history.seconds_left(&plan, 1, &[]).1, 2.0 * 3.0 * 3.0, "all took twice as long");
        history.add_duration(&id(1), 6.0, true);
        assert_eq!(history.seconds_left(&plan, 2, &[]).1, 2.0 * 2.0 * 3.0);
    }

    #[test]
    fn further_tries_count_and_cells_that_have_not_run_use_the_overall_ratio() {
        let mut plan = plan(Effort::waiting(2.0));
        let other = Cell { id: id(2), ..plan.experiments[0].cells[0].clone() };
        plan.experiments[0].cells.push(other);
        let mut history = History::new(1.0);
        // Two tries that failed: three times the estimate of one attempt.
        history.add_duration(&id(1), 2.0, true);
        history.add_duration(&id(1), 4.0, false);
        assert_eq!(
            history.seconds_left(&plan, 1, &[&plan.experiments[0].cells[1]]).1,
            3.0 * 2.0 * 3.0 + 4.0 * 2.0 * 3.0
        );
    }

    #[test]
    fn an_experiment_of_fewer_blocks_ends_earlier() {
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
        assert!(plan.cells_in_order(3).is_empty());
    }
}
