//! Limits of a run.

use crate::rules::{MOST_BLOCKS, MOST_CELLS, MOST_LOOKS};
use crosstalk_core::Fault;
use crosstalk_core::value::Value;

/// Refuses interim analyses that do not ascend from 1, or are too many or too late.
pub(crate) fn looks(looks: &[usize]) -> Result<(), Fault> {
    if looks.len() > MOST_LOOKS {
        return Err(Fault::usage(format!(
            "expected at most {MOST_LOOKS} interim analyses (--looks), found {}",
            looks.len()
        ))
        .remedy("write for example looks = [12, 24, 48]"));
    }
    if let Some(many) = looks.iter().find(|look| **look > MOST_BLOCKS) {
        return Err(Fault::usage(format!(
            "expected interim analyses (--looks) of at most {MOST_BLOCKS} blocks, found {many}: such a run would not end"
        ))
        .remedy("write for example looks = [12, 24, 48]"));
    }
    let ascending = looks.windows(2).all(|pair| pair[0] < pair[1]);
    if looks.is_empty() || looks[0] < 1 || !ascending {
        return Err(Fault::usage(format!(
            "expected interim analyses (looks) that ascend from at least 1, found {looks:?}"
        ))
        .remedy("write for example looks = [12, 24, 48]"));
    }
    Ok(())
}

/// Refuses too many warm-up runs.
pub(crate) fn warmup(runs: usize) -> Result<(), Fault> {
    if runs <= MOST_BLOCKS {
        return Ok(());
    }
    Err(Fault::usage(format!("expected at most {MOST_BLOCKS} runs to warm up, found {runs}")))
}

/// Refuses no levels, too many, and a level that is listed twice.
pub(crate) fn distinct(levels: &[Value]) -> Result<(), Fault> {
    if levels.is_empty() {
        return Err(Fault::usage("expected at least one level"));
    }
    few(levels)?;
    match levels.iter().enumerate().find(|(i, level)| levels[..*i].contains(level)) {
        Some((_, twice)) => Err(Fault::usage(format!("level `{twice}` is listed twice"))),
        None => Ok(()),
    }
}

/// Refuses more levels than a run can have cells.
fn few(levels: &[Value]) -> Result<(), Fault> {
    if levels.len() <= MOST_CELLS {
        return Ok(());
    }
    Err(Fault::usage(format!("expected at most {MOST_CELLS} levels, found {}", levels.len()))
        .remedy("take fewer levels"))
}
