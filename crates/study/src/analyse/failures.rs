//! Cells and runs that failed, as the deciding sentence names them.

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;

use super::cell::Cell;
use super::data::Data;
use crate::findings::Headline;
use crate::level;
use crate::samples::{Attempt, Failure, Run};
use crate::words::{self, join_in_words};

/// More cells than this are counted, not named.
const NAMED: usize = 2;

/// The deciding sentence of a run in which every attempt failed, with the last cause. The second sentence is the remedy.
pub fn nothing_measured(name: &str, run: &Run) -> Headline {
    let failed: Vec<&Attempt> = run.attempts.iter().filter(|one| one.status == Status::Failed).collect();
    let failures: Vec<&Failure> = failed.iter().filter_map(|one| one.failure.as_ref()).collect();
    let causes: Vec<String> = failures.iter().map(|failure| failure.cause.clone()).collect();
    let cause = causes.last().map(|last| match words::distinct_texts(&causes).len() {
        1 => format!(" ({last})"),
        _ => format!(" (the last: {last})"),
    });
    let text = format!(
        "`{name}` failed {}{}; nothing was measured",
        words::in_all(failed.len(), "attempt"),
        cause.unwrap_or_default()
    );
    let remedy = failures.last().and_then(|failure| failure.remedy.as_ref());
    Headline {
        text,
        context: remedy.map(|remedy| format!("Try: {remedy}.")).unwrap_or_default(),
        bars: Vec::new(),
        unit: String::new(),
        decided: false,
        command: run.command.clone(),
    }
}

/// The failed attempts as the end of a sentence: `; N 2 failed in all 3 blocks (exit code 7)`, `; N 3 failed in
/// 2 of 12 blocks (…)`; empty where none failed.
pub fn clause(data: &Data) -> String {
    let (mut in_all, mut in_some) = (Vec::new(), Vec::new());
    for experiment in &data.experiments {
        let all: Vec<&Levels> = experiment.cells.iter().map(Cell::levels).collect();
        for cell in &experiment.cells {
            let failed = cell.last_try.values().filter(|attempt| attempt.status == Status::Failed).count();
            let name = || cell_name(experiment.name(), cell, &all);
            match (failed, cell.last_try.len()) {
                (0, _) => {}
                (failed, tries) => {
                    let cells = if failed == tries { &mut in_all } else { &mut in_some };
                    let blocks = words::in_some(failed, tries, "block");
                    cells.push(format!("{} failed {blocks}{}", name(), cause(cell)));
                }
            }
        }
    }
    let clause = |cells: Vec<String>, blocks: &str| match cells.len() {
        0 => String::new(),
        few if few <= NAMED => format!("; {}", join_in_words(&cells)),
        many => format!("; {many} cells failed in {blocks}"),
    };
    clause(in_all, "all their blocks") + &clause(in_some, "some of their blocks")
}

/// The levels in which a cell differs from the experiment's other cells.
fn cell_name(experiment: &str, cell: &Cell, all: &[&Levels]) -> String {
    let mut varied = cell.levels().clone();
    varied.retain(|factor, level| all.iter().any(|other| other.get(factor) != Some(level)));
    match varied.len() {
        0 => experiment.to_string(),
        1 => varied.iter().map(|(factor, only)| level::level_in_sentence(factor, only)).collect(),
        _ => level::describe_levels(&varied),
    }
}

/// Why its last failed try failed, in parentheses. The remedy stands in the warnings.
fn cause(cell: &Cell) -> String {
    let failed = cell.last_try.values().rev().find(|attempt| attempt.status == Status::Failed);
    let failure = failed.and_then(|attempt| attempt.failure.as_ref());
    failure.map(|failure| format!(" ({})", failure.cause)).unwrap_or_default()
}
