//! A run under way: blocks of attempts, a look now and then, until the data
//! suffice or the budget ends.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::{AttemptId, JOURNAL_SCHEMA, Line, Reading, Status};
use crosstalk_core::value::describe;
use crosstalk_study::GIVE_UP_AFTER;
use crosstalk_study::plan::{Cell, Plan};

use crate::attempt::{Ended, Given, perform};
use crate::blocks::{History, attempts_until_look, budget, tries};
use crate::journal::Journal;
use crate::lab::{Ending, Lab};
use crate::progress::{Event, Progress};
use crate::troupe::Troupe;

/// An attempt may take this many times its estimate before it is called hung …
const DEADLINE_FACTOR: f64 = 20.0;
/// … but never less than this many seconds.
const DEADLINE_LEAST: f64 = 60.0;

/// An attempt beyond the fidelity monitor's bounds is tried again at the end of its
/// block, so many times in all: a passing disturbance must not cost the whole block.
const TRIES: u32 = 3;

/// A run under way.
pub struct Runner<'a> {
    lab: &'a Lab<'a>,
    /// What is run now of the plan.
    stage: &'a Plan,
    journal: Journal,
    next: AttemptId,
    history: History,
    done: usize,
    /// Whether any attempt has finished, also before this run was resumed.
    finished: bool,
    pub progress: &'a mut dyn Progress,
}

impl<'a> Runner<'a> {
    /// `next` is the first number that no attempt has.
    pub fn new(
        lab: &'a Lab<'a>,
        stage: &'a Plan,
        journal: Journal,
        next: AttemptId,
        progress: &'a mut dyn Progress,
    ) -> Self {
        Runner {
            lab,
            stage,
            journal,
            next,
            history: History::new(lab.pace),
            done: 0,
            finished: false,
            progress,
        }
    }

    /// Writes what is run, and what it reports.
    pub fn open(&mut self) -> Result<(), Fault> {
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

    /// Writes how the run ended.
    pub fn close(&mut self, ending: &Ending) -> Result<(), Fault> {
        self.journal.write(Line::End {
            status: ending.status,
            why: ending.why.clone(),
            at: self.lab.clock.now(),
        })
    }

    /// All blocks that are left, until a look says that it is enough.
    pub fn blocks(&mut self, troupe: &mut Troupe) -> Result<Ending, Fault> {
        let plan = self.stage;
        let budget = budget(plan);
        let before = self.journal.run();
        self.finished = before.attempts.iter().any(|attempt| attempt.status == Status::Finished);
        let first = crosstalk_study::next_block(plan, before);
        let (to_look, to_end) = self.history.seconds_left(plan, first, &[]);
        let warm = plan.seconds_of_warmup(self.lab.pace);
        self.progress.event(Event::Began {
            cells: plan.runnable().count(),
            blocks: budget,
            until_look: attempts_until_look(plan, first),
            seconds_to_look: warm + to_look,
            seconds_to_end: warm + to_end,
        });
        // Who was killed between a look and its consequence asks again: to measure on
        // after "enough" would be a look that nobody planned.
        if let Some(ending) = self.look(first)? {
            return Ok(ending);
        }
        if self.warm_up(troupe)? == Status::Interrupted {
            return Ok(Ending::interrupted());
        }
        for block in first..budget {
            if self.block(troupe, block)? == Status::Interrupted {
                return Ok(Ending::interrupted());
            }
            if let Some(ending) = self.look(block + 1)? {
                return Ok(ending);
            }
            if plan.order(block).iter().all(|cell| self.history.given_up(&cell.id)) {
                let why = format!("every cell failed in {GIVE_UP_AFTER} blocks running");
                return Ok(Ending { status: Status::Finished, why });
            }
        }
        Ok(Ending { status: Status::Finished, why: format!("the budget of {budget} blocks ended") })
    }

    /// Every cell so many times that its caches are warm, whatever comes of it: nothing of it is written down.
    fn warm_up(&mut self, troupe: &mut Troupe) -> Result<Status, Fault> {
        let lab = self.lab;
        for round in 1..=self.stage.warmup {
            for cell in self.stage.order(0) {
                if lab.is_interrupted() {
                    return Ok(Status::Interrupted);
                }
                let at = describe(&cell.id.levels);
                let what = format!("warm-up {round} of {} {at}", lab.plan.warmup);
                let what = what.trim_end();
                self.progress.event(Event::Preparing { what: what.into() });
                let ended = perform(troupe, &cell.scene, &self.given(cell)?, &mut |_, _, _| Ok(()))?;
                match ended.status {
                    Status::Interrupted => return Ok(Status::Interrupted),
                    Status::Failed => {
                        let why = ended.reason.as_deref().unwrap_or("no reason given");
                        self.progress.event(Event::Warning { text: format!("{what} failed: {why}") });
                    }
                    Status::Started | Status::Finished => {}
                }
            }
        }
        Ok(Status::Finished)
    }

    /// What an attempt at a cell is given besides its scene.
    fn given(&self, planned: &Cell) -> Result<Given<'a>, Fault> {
        let lab = self.lab;
        let by_estimate = || (planned.effort.seconds(1, lab.pace) * DEADLINE_FACTOR).max(DEADLINE_LEAST);
        Ok(Given {
            registry: lab.registry,
            emulation: self.emulation(planned)?,
            artifacts: Some(lab.dir.artifacts()),
            seed: lab.plan.seed,
            deadline: lab.deadline.unwrap_or_else(|| Duration::from_secs_f64(by_estimate())),
            interrupted: lab.interrupted,
        })
    }

    /// The cells of one block in their order; then, in the same order, those that failed or
    /// were doubted, so that what disturbed them has time to pass.
    ///
    /// # Errors
    /// Of the journal; and where nothing has finished and all of the block failed because of what
    /// was asked for, as it would again.
    fn block(&mut self, troupe: &mut Troupe, block: usize) -> Result<Status, Fault> {
        let mut tries = tries(self.journal.run(), block);
        let order = self.stage.order(block);
        let mut round: Vec<&Cell> =
            order.into_iter().filter(|cell| !self.history.given_up(&cell.id)).collect();
        let (mut wrong, mut otherwise) = (None, false);
        for earlier in 0..TRIES {
            let mut troubled = Vec::new();
            for (place, &cell) in round.iter().enumerate() {
                if self.lab.is_interrupted() {
                    return Ok(Status::Interrupted);
                }
                let turn = tries.entry(cell.id.clone()).or_default();
                *turn += 1;
                let rest: Vec<&Cell> = round[place + 1..].iter().chain(&troubled).copied().collect();
                let ended = self.attempt(troupe, cell, block, (*turn, earlier == 0), &rest)?;
                if ended.status == Status::Interrupted {
                    return Ok(Status::Interrupted);
                }
                let doubtful = ended.fidelity.as_ref().is_some_and(|f| !f.faithful());
                match &ended.reason {
                    Some(reason) if ended.asked => drop(wrong.get_or_insert_with(|| reason.clone())),
                    _ => otherwise = true,
                }
                // A failure mostly fails again: it has one more chance, a doubt two; none where
                // what was asked for is wrong.
                let again = doubtful || ended.status == Status::Failed && !ended.asked && earlier == 0;
                if again && earlier + 1 < TRIES {
                    troubled.push(cell);
                } else {
                    self.block_ended(&cell.id, &ended);
                }
            }
            round = troubled;
        }
        match wrong {
            Some(reason) if !otherwise && !self.finished => Err(Fault::usage(reason)),
            _ => Ok(Status::Finished),
        }
    }

    /// Notes how a cell's last attempt in a block ended, and tells if it is given up.
    fn block_ended(&mut self, cell: &CellId, ended: &Ended) {
        if !self.history.block_ended(cell, ended.status == Status::Finished) {
            return;
        }
        self.progress.event(Event::Warning {
            text: format!(
                "{cell} failed in {GIVE_UP_AFTER} blocks running and is given up: {}",
                ended.reason.as_deref().unwrap_or("no reason given")
            ),
        });
    }

    fn attempt(
        &mut self,
        troupe: &mut Troupe,
        cell: &Cell,
        block: usize,
        (turn, is_first): (u32, bool),
        rest: &[&Cell],
    ) -> Result<Ended, Fault> {
        let lab = self.lab;
        let CellId { experiment, levels } = &cell.id;
        let place = lab.plan.index_of(&cell.id);
        let id = self.next;
        self.next += 1;
        let line = |status, reason: Option<String>, fidelity, at| Line::Attempt {
            attempt: id,
            experiment: experiment.clone(),
            cell: place,
            levels: levels.clone(),
            block,
            turn,
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
            turn,
        });
        let given = self.given(cell)?;
        let began = Instant::now();
        let journal = &mut self.journal;
        let mut keep =
            |reading: Reading, at: f64, n: u64| journal.write(Line::Sample { attempt: id, reading, at, n });
        let noted = troupe.notes().len();
        let ended = perform(troupe, &cell.scene, &given, &mut keep)?;
        for note in &troupe.notes()[noted..] {
            self.progress.event(Event::Warning { text: note.clone() });
        }
        let seconds = began.elapsed().as_secs_f64();
        self.journal.write(line(
            ended.status,
            ended.reason.clone(),
            ended.fidelity.clone(),
            lab.clock.now(),
        ))?;
        // Every further attempt would fail too, and the run end without its data.
        if ended.status == Status::Failed && !troupe.is_up() {
            let why = ended.reason.as_deref().unwrap_or("no reason given");
            return Err(Fault::environment(format!("the {} cluster is gone: {why}", lab.testbed.name())));
        }
        self.finished |= ended.status == Status::Finished;
        self.history.took(&cell.id, seconds, is_first);
        self.done += 1;
        let (seconds_to_look, seconds_to_end) = self.history.seconds_left(self.stage, block + 1, rest);
        self.progress.event(Event::Ended {
            experiment: experiment.clone(),
            levels: levels.clone(),
            status: ended.status,
            reason: ended.reason.clone(),
            seconds,
            done: self.done,
            until_look: rest.len() + attempts_until_look(self.stage, block + 1),
            seconds_to_look,
            seconds_to_end,
        });
        Ok(ended)
    }

    fn emulation(&self, cell: &Cell) -> Result<Option<Emulation>, Fault> {
        crosstalk_study::emulation(self.lab.catalogues, &cell.scene.place)
    }

    /// After `blocks` blocks: asks the stopping rule if this is a planned look.
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
