//! Whether a run may stop, and with which block it continues.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;

use super::data::Data;
use super::family::{Family, judge};
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::plan::Plan;
use crate::samples::{Attempt, Run};
use crate::words::count_in_words;

/// Whether a run may stop, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// True where all questions are decided or the budget is used up.
    pub stop: bool,
    /// The reason, in a sentence.
    pub why: String,
}

/// Whether to stop at an interim analysis: when all questions of the current stage are decided, or the budget is used up.
///
/// `look` is the analysis' index in `plan.looks`; later blocks are not analysed.
pub fn decide(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &Run, look: usize) -> Decision {
    let data = Data::new(plan, run);
    let blocks =
        plan.looks.get(look).map_or(data.complete.len(), |planned| data.complete.len().min(*planned));
    decision(&judge(study, catalogues, &data, blocks), plan.current_stage())
}

/// How many questions a plan judges together, before there are data.
pub fn count_questions(study: &Study, catalogues: &Catalogues, plan: &Plan) -> usize {
    let run = Run::default();
    // Claims about cells without an attempt are not asked.
    let attempt = Attempt {
        id: 0,
        cell: CellId::new("", Levels::new()),
        block: 0,
        try_number: 1,
        status: Status::Started,
        failure: None,
        fidelity: None,
        at: 0.0,
        readings: Vec::new(),
    };
    judge(study, catalogues, &Data::with_attempts(plan, &run, &attempt), 0).questions
}

/// The block with which a run continues: the one that was cut short, else the one after the last. A block that was cut
/// short is repeated as a whole, because its cells are compared with each other.
pub fn next_block(plan: &Plan, run: &Run) -> usize {
    Data::new(plan, run).complete.last().map_or(0, |last| last + 1)
}

/// The decision on a stage.
fn decision(family: &Family, stage: usize) -> Decision {
    let seen = &family.conclusions;
    let here = || seen.by_question.iter().zip(&family.stages).filter(|(_, of)| **of == stage);
    let (total, open) = (here().count(), here().filter(|(c, _)| c.settled_at.is_none()).count());
    let blocks = count_in_words(seen.blocks, "block");
    let questions = count_in_words(total, "question");
    if seen.blocks >= family.looks.most_blocks() {
        let left = if open == 0 { String::new() } else { format!("; {open} of {questions} not decided") };
        return Decision { stop: true, why: format!("the budget of {blocks} is used up{left}") };
    }
    if open == 0 && seen.blocks > 0 {
        let why = match total {
            0 => format!("there are no questions that more than {blocks} would decide"),
            _ => format!("all of {questions} decided after {blocks}"),
        };
        return Decision { stop: true, why };
    }
    Decision { stop: false, why: format!("{open} of {questions} not decided after {blocks}") }
}
