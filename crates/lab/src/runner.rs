//! A run under way: blocks of attempts and planned interim analyses (looks), until the
//! data suffice or all blocks are done.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::{AttemptId, JOURNAL_SCHEMA, Line, Reading, Status};
use crosstalk_core::value::describe_levels;
use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::{Cell, Plan};

use crate::agent_pool::AgentPool;
use crate::attempt::{AttemptContext, AttemptResult, perform};
use crate::blocks::{History, attempts_until_look, count_tries, most_blocks};
use crate::journal::Journal;
use crate::lab::{Ending, RunInputs};
use crate::progress::{Event, Progress};

/// The deadline of an attempt is this many times its estimate …
const DEADLINE_FACTOR: f64 = 20.0;
/// … but at least this many seconds.
const MIN_DEADLINE_SECONDS: f64 = 60.0;

/// The most tries of an unfaithful attempt in its block. Further tries are made at the end of
/// the block, when a passing disturbance may be over.
const MAX_TRIES: u32 = 3;

/// Runs the blocks of one stage of a plan, and writes the journal.
pub struct Runner<'a> {
    lab: &'a RunInputs<'a>,
    /// The part of the plan that is run now.
    stage: &'a Plan,
    journal: Journal,
    /// The number of the next attempt.
    next_attempt: AttemptId,
    history: History,
    /// Attempts that have ended, since the run began or was resumed.
    attempts_done: usize,
    /// Whether any attempt has finished, also before the run was resumed.
    any_finished: bool,
    pub progress: &'a mut dyn Progress,
}

impl<'a> Runner<'a> {
    /// A run that continues `journal`. `next_attempt` is the number of its next attempt.
    pub fn new(
        lab: &'a RunInputs<'a>,
        stage: &'a Plan,
        journal: Journal,
        next_attempt: AttemptId,
        progress: &'a mut dyn Progress,
    ) -> Self {
        Runner {
            lab,
            stage,
            journal,
            next_attempt,
            history: History::new(lab.pace),
            attempts_done: 0,
            any_finished: false,
            progress,
        }
    }

    /// Writes the journal's first lines: the run, and the metrics that it reports.
    pub fn write_first_lines(&mut self) -> Result<(), Fault> {
        let plan = self.lab.plan;
        let mut declared: BTreeSet<String> =
            self.journal.run().metrics.iter().map(|metric| metric.name.clone()).collect();
        self.journal.write(Line::Run {
            schema: JOURNAL_SCHEMA.into(),
            study: plan.study.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: plan.seed,
            command: self.lab.command.clone(),
            quick: plan.quick,
            at: self.lab.clock.now(),
        })?;
        self.journal.number().map_or(Ok(()), |run| self.lab.dir.note_run(run))?;
        for metric in plan.experiments.iter().flat_map(|e| &e.metrics) {
            if declared.insert(metric.name.clone()) {
                self.journal.write(Line::Metric(metric.clone()))?;
            }
        }
        Ok(())
    }

    /// Writes the journal's last line: how the run ended.
    pub fn write_last_line(&mut self, ending: &Ending) -> Result<(), Fault> {
        self.journal.write(Line::End {
            status: ending.status,
            why: ending.why.clone(),
            at: self.lab.clock.now(),
        })
    }

    /// Runs the blocks that are left, until an interim analysis ends the run.
    pub fn run_blocks(&mut self, pool: &mut AgentPool) -> Result<Ending, Fault> {
        let plan = self.stage;
        let most_blocks = most_blocks(plan);
        let before = self.journal.run();
        self.any_finished = before.attempts.iter().any(|attempt| attempt.status == Status::Finished);
        let first = crosstalk_study::next_block(plan, before);
        let (to_look, to_end) = self.history.seconds_left(plan, first, &[]);
        let warm = plan.warmup_seconds(self.lab.pace);
        self.progress.event(Event::Began {
            cells: plan.runnable().count(),
            blocks: most_blocks,
            until_look: attempts_until_look(plan, first),
            seconds_to_look: warm + to_look,
            seconds_to_end: warm + to_end,
        });
        // The run may have been killed between an analysis that ended it and its last line.
        // To measure on then would be an analysis that was not planned.
        if let Some(ending) = self.look(first)? {
            return Ok(ending);
        }
        if self.warm_up(pool)? == Status::Interrupted {
            return Ok(Ending::interrupted());
        }
        for block in first..most_blocks {
            let status = self.run_block(pool, block)?;
            if let Err(fault) = self.lab.dir.save_schedules(pool.shared_folder().as_deref()) {
                let text = format!("a resumed run would record its work anew: {}", fault.sentence());
                self.progress.event(Event::Warning { text });
            }
            if status == Status::Interrupted {
                return Ok(Ending::interrupted());
            }
            if let Some(ending) = self.look(block + 1)? {
                return Ok(ending);
            }
            if plan.cells_in_order(block).iter().all(|cell| self.history.is_given_up(&cell.id)) {
                let why = format!("every cell failed in {GIVE_UP_AFTER} blocks running");
                return Ok(Ending { status: Status::Finished, why });
            }
        }
        Ok(Ending { status: Status::Finished, why: format!("the budget of {most_blocks} blocks ended") })
    }

    /// Runs every cell a few times, to warm caches. Nothing of it is written to the journal.
    fn warm_up(&mut self, pool: &mut AgentPool) -> Result<Status, Fault> {
        let lab = self.lab;
        for round in 1..=self.stage.warmup {
            for cell in self.stage.cells_in_order(0) {
                if lab.is_interrupted() {
                    return Ok(Status::Interrupted);
                }
                let at = describe_levels(&cell.id.levels);
                let what = format!("warm-up {round} of {} {at}", lab.plan.warmup);
                let what = what.trim_end();
                self.progress.event(Event::Preparing { what: what.into() });
                let context = AttemptContext { keep_schedule: false, ..self.context(cell)? };
                let result = perform(pool, &cell.scene, &context, &mut |_, _, _| Ok(()))?;
                match result.status {
                    Status::Interrupted => return Ok(Status::Interrupted),
                    Status::Failed => {
                        let why = result.reason.as_deref().unwrap_or("no reason given");
                        self.progress.event(Event::Warning { text: format!("{what} failed: {why}") });
                    }
                    Status::Started | Status::Finished => {}
                }
            }
        }
        Ok(Status::Finished)
    }

    /// The inputs of an attempt at a cell, besides its scene.
    fn context(&self, cell: &Cell) -> Result<AttemptContext<'a>, Fault> {
        let lab = self.lab;
        let by_estimate = || (cell.effort.seconds(1, lab.pace) * DEADLINE_FACTOR).max(MIN_DEADLINE_SECONDS);
        Ok(AttemptContext {
            registry: lab.registry,
            emulation: self.emulation(cell)?,
            artifacts: Some(lab.dir.artifacts_path()),
            keep_schedule: cell.can_be_replayed(),
            seed: lab.plan.seed,
            deadline: lab.deadline.unwrap_or_else(|| Duration::from_secs_f64(by_estimate())),
            interrupted: lab.interrupted,
        })
    }

    /// Runs the cells of one block in their order. Those that failed or were unfaithful are tried
    /// again at its end, in the same order.
    ///
    /// # Errors
    /// Of the journal. Also if no attempt of the run has finished and all of this block had a usage
    /// fault, which would occur again.
    fn run_block(&mut self, pool: &mut AgentPool, block: usize) -> Result<Status, Fault> {
        let mut tries = count_tries(self.journal.run(), block);
        let order = self.stage.cells_in_order(block);
        let mut round: Vec<&Cell> =
            order.into_iter().filter(|cell| !self.history.is_given_up(&cell.id)).collect();
        let (mut usage_fault, mut any_other) = (None, false);
        for earlier_rounds in 0..MAX_TRIES {
            let mut again = Vec::new();
            for (place, &cell) in round.iter().enumerate() {
                if self.lab.is_interrupted() {
                    return Ok(Status::Interrupted);
                }
                let try_number = tries.entry(cell.id.clone()).or_default();
                *try_number += 1;
                let rest: Vec<&Cell> = round[place + 1..].iter().chain(&again).copied().collect();
                let result = self.attempt(pool, cell, block, (*try_number, earlier_rounds == 0), &rest)?;
                if result.status == Status::Interrupted {
                    return Ok(Status::Interrupted);
                }
                let is_unfaithful = result.fidelity.as_ref().is_some_and(|f| !f.faithful());
                match &result.reason {
                    Some(reason) if result.is_usage_fault => {
                        usage_fault = usage_fault.or_else(|| Some(reason.clone()));
                    }
                    _ => any_other = true,
                }
                // A failure mostly occurs again, so it is tried once more only. A usage fault
                // always occurs again.
                let may_pass =
                    result.status == Status::Failed && !result.is_usage_fault && earlier_rounds == 0;
                if (is_unfaithful || may_pass) && earlier_rounds + 1 < MAX_TRIES {
                    again.push(cell);
                } else {
                    self.end_block(&cell.id, &result);
                }
            }
            round = again;
        }
        match usage_fault {
            Some(reason) if !any_other && !self.any_finished => Err(Fault::usage(reason)),
            _ => Ok(Status::Finished),
        }
    }

    /// Notes the result of a cell's last try in a block. Warns if the cell is given up now.
    fn end_block(&mut self, cell: &CellId, result: &AttemptResult) {
        if !self.history.end_block(cell, result.status == Status::Finished) {
            return;
        }
        self.progress.event(Event::Warning {
            text: format!(
                "{cell} failed in {GIVE_UP_AFTER} blocks running and is given up: {}",
                result.reason.as_deref().unwrap_or("no reason given")
            ),
        });
    }

    /// One attempt at a cell, with its lines in the journal and its events. `rest` are the attempts
    /// still to come in this block.
    fn attempt(
        &mut self,
        pool: &mut AgentPool,
        cell: &Cell,
        block: usize,
        (try_number, is_first): (u32, bool),
        rest: &[&Cell],
    ) -> Result<AttemptResult, Fault> {
        let lab = self.lab;
        let CellId { experiment, levels } = &cell.id;
        let index = lab.plan.index_of(&cell.id);
        let id = self.next_attempt;
        self.next_attempt += 1;
        let line = |status, reason: Option<String>, fidelity, at| Line::Attempt {
            attempt: id,
            experiment: experiment.clone(),
            cell: index,
            levels: levels.clone(),
            block,
            try_number,
            status,
            reason,
            fidelity,
            at,
        };
        self.journal.write(line(Status::Started, None, None, lab.clock.now()))?;
        self.progress.event(Event::Attempt {
            experiment: experiment.clone(),
            levels: levels.clone(),
            block,
            try_number,
        });
        let context = self.context(cell)?;
        let began = Instant::now();
        let journal = &mut self.journal;
        let mut write =
            |reading: Reading, at: f64, n: u64| journal.write(Line::Sample { attempt: id, reading, at, n });
        let earlier_notes = pool.link_notes().len();
        let mut result = perform(pool, &cell.scene, &context, &mut write)?;
        // What follows from parameters alone does not depend on how undisturbed this machine was.
        if lab.plan.experiment(&cell.id).computed {
            result.fidelity = None;
        }
        for note in &pool.link_notes()[earlier_notes..] {
            self.progress.event(Event::Warning { text: note.clone() });
        }
        let seconds = began.elapsed().as_secs_f64();
        self.journal.write(line(
            result.status,
            result.reason.clone(),
            result.fidelity.clone(),
            lab.clock.now(),
        ))?;
        // Every further attempt would fail too.
        if result.status == Status::Failed && !pool.is_up() {
            let why = result.reason.as_deref().unwrap_or("no reason given");
            return Err(Fault::environment(format!("the {} cluster is gone: {why}", lab.testbed.name())));
        }
        self.any_finished |= result.status == Status::Finished;
        self.history.add_duration(&cell.id, seconds, is_first);
        self.attempts_done += 1;
        let (seconds_to_look, seconds_to_end) = self.history.seconds_left(self.stage, block + 1, rest);
        self.progress.event(Event::Ended {
            experiment: experiment.clone(),
            levels: levels.clone(),
            status: result.status,
            reason: result.reason.clone(),
            seconds,
            done: self.attempts_done,
            until_look: rest.len() + attempts_until_look(self.stage, block + 1),
            seconds_to_look,
            seconds_to_end,
        });
        Ok(result)
    }

    fn emulation(&self, cell: &Cell) -> Result<Option<Emulation>, Fault> {
        crosstalk_study::emulation(self.lab.catalogues, &cell.scene.place)
    }

    /// The interim analysis after `blocks` blocks, if one is planned there (a look).
    /// Returns how the run ends, if it ends it.
    fn look(&mut self, blocks: usize) -> Result<Option<Ending>, Fault> {
        let Some(look) = self.lab.plan.looks.iter().position(|l| *l == blocks) else {
            return Ok(None);
        };
        let lab = self.lab;
        let decision = crosstalk_study::decide(lab.study, lab.catalogues, lab.plan, self.journal.run(), look);
        self.journal.write(Line::Decision {
            look,
            blocks,
            stop: decision.stop,
            why: decision.why.clone(),
        })?;
        self.progress.event(Event::Look { look, blocks, stop: decision.stop, why: decision.why.clone() });
        Ok(decision.stop.then_some(Ending { status: Status::Finished, why: decision.why }))
    }
}
