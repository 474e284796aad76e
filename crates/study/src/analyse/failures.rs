//! Cells that failed, as the deciding sentence tells them: what was never measured is news, too.

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;

use super::cell::Cell;
use super::data::Data;
use crate::level;
use crate::words::{counted, list};

/// More than so many are counted, not named.
const NAMED: usize = 2;

/// `; N 2 failed in all 3 blocks (exit code 7)`, `; N 3 failed in 2 of 12 blocks (…)`, or nothing.
pub fn told(data: &Data) -> String {
    let (mut whole, mut part) = (Vec::new(), Vec::new());
    for experiment in &data.experiments {
        let varied: Vec<&Levels> = experiment.cells.iter().map(Cell::levels).collect();
        for cell in &experiment.cells {
            let failed = cell.last.values().filter(|attempt| attempt.status == Status::Failed).count();
            let name = || named(experiment.name(), cell, &varied);
            match (failed, cell.last.len()) {
                (0, _) => {}
                (failed, tries) if failed == tries => {
                    whole.push(format!("{} failed in all {}{}", name(), counted(tries, "block"), why(cell)));
                }
                (failed, tries) => {
                    let blocks = counted(tries, "block");
                    part.push(format!("{} failed in {failed} of {blocks}{}", name(), why(cell)));
                }
            }
        }
    }
    let clause = |all: Vec<String>, how: &str| match all.len() {
        0 => String::new(),
        few if few <= NAMED => format!("; {}", list(&all)),
        many => format!("; {many} cells failed in {how}"),
    };
    clause(whole, "all their blocks") + &clause(part, "some of their blocks")
}

/// The levels that tell it from the experiment's other cells.
fn named(experiment: &str, cell: &Cell, all: &[&Levels]) -> String {
    let mut own = cell.levels().clone();
    own.retain(|factor, level| all.iter().any(|other| other.get(factor) != Some(level)));
    match own.len() {
        0 => experiment.to_string(),
        1 => own.iter().map(|(factor, only)| level::called(factor, only)).collect(),
        _ => level::describe(&own),
    }
}

fn why(cell: &Cell) -> String {
    let failed = cell.last.values().rev().find(|attempt| attempt.status == Status::Failed);
    let reason = failed.and_then(|attempt| attempt.reason.as_deref());
    // What to do about it stands in the warnings.
    let reason = reason.map(|why| why.split_once(" (try: ").map_or(why, |(why, _)| why));
    reason.map(|why| format!(" ({why})")).unwrap_or_default()
}
