//! Whether a run may stop, and where it goes on.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;

use super::data::Data;
use super::family::{Family, judge};
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::plan::Plan;
use crate::samples::{Attempt, Run};
use crate::words::counted;

/// Whether a run may stop, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Nothing that is asked could change, or the budget is used up.
    pub stop: bool,
    /// In a sentence.
    pub why: String,
}

/// At a planned look: stop when everything primary that the stage which is run now asks is decided, or the budget is
/// used up.
///
/// `look` is the place in `plan.looks`; blocks beyond it are not looked at.
pub fn decide(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &Run, look: usize) -> Decision {
    let data = Data::new(plan, run);
    let blocks =
        plan.looks.get(look).map_or(data.complete.len(), |planned| data.complete.len().min(*planned));
    decision(&judge(study, catalogues, &data, blocks), plan.stage())
}

/// How many questions a plan judges together, before there are any data.
pub fn questions(study: &Study, catalogues: &Catalogues, plan: &Plan) -> usize {
    let run = Run::default();
    // What is claimed of cells that no attempt was made at is not asked.
    let attempt = Attempt {
        id: 0,
        cell: CellId::new("", Levels::new()),
        block: 0,
        turn: 1,
        status: Status::Started,
        reason: None,
        fidelity: None,
        at: 0.0,
        readings: Vec::new(),
    };
    judge(study, catalogues, &Data::tried(plan, &run, &attempt), 0).questions
}

/// The block that a run goes on with: the one that was cut short, repeated whole
/// because its cells are to be compared with each other, or the one after the last.
pub fn next_block(plan: &Plan, run: &Run) -> usize {
    Data::new(plan, run).complete.last().map_or(0, |last| last + 1)
}

/// Whether to stop at this look.
fn decision(family: &Family, stage: usize) -> Decision {
    let seen = &family.conclusions;
    let here = || seen.by_question.iter().zip(&family.stages).filter(|(_, of)| **of == stage);
    let (asked, open) = (here().count(), here().filter(|(c, _)| c.settled_at.is_none()).count());
    let blocks = counted(seen.blocks, "block");
    let questions = counted(asked, "question");
    if seen.blocks >= family.looks.budget() {
        let left = if open == 0 { String::new() } else { format!("; {open} of {questions} not decided") };
        return Decision { stop: true, why: format!("the budget of {blocks} is used up{left}") };
    }
    if open == 0 && seen.blocks > 0 {
        let why = match asked {
            0 => format!("nothing is asked that more than {blocks} would decide"),
            _ => format!("all of {questions} decided after {blocks}"),
        };
        return Decision { stop: true, why };
    }
    Decision { stop: false, why: format!("{open} of {questions} not decided after {blocks}") }
}
