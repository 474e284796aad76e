//! How the run went, and what a reader must know before believing.

use crosstalk_core::record::{Origin, Status};
use crosstalk_stats::family::first_deciding_look;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{counts, faithful};
use super::data::Data;
use super::family::Family;
use super::machine;
use super::question::Put;
use crate::file::Study;
use crate::findings::{NoiseFloor, RunSummary};
use crate::plan::budget;
use crate::samples::Attempt;
use crate::words::{self, counted, list};

/// How the run went. `noise` is what it could tell.
pub fn summary(data: &Data, family: &Family, noise: Vec<NoiseFloor>) -> RunSummary {
    let run = data.run;
    RunSummary {
        began: run.began,
        seconds: (run.ended - run.began).max(0.0),
        version: run.version.clone(),
        seed: data.plan.seed,
        quick: run.quick,
        blocks: data.complete.len(),
        ended: ended(data, family),
        attempts: attempts(data),
        noise,
        absences: run.absences.clone(),
    }
}

fn attempts(data: &Data) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for attempt in &data.run.attempts {
        let status = match attempt.status {
            Status::Finished if !faithful(attempt) => "not faithful",
            Status::Finished => "finished",
            Status::Failed => "failed",
            Status::Started => "cut short",
            Status::Interrupted => "interrupted",
        };
        *counts.entry(status.to_string()).or_default() += 1;
    }
    counts
}

/// "stopped at look 2 of 3 (24 blocks)", "the budget of 48 blocks was used up", "cut short after 17 of 48 blocks".
fn ended(data: &Data, family: &Family) -> String {
    let (planned, budget) = (family.looks.blocks(), family.looks.budget());
    let done = data.complete.len();
    let look = planned.iter().position(|blocks| *blocks == done);
    match look {
        _ if done >= budget => format!("the budget of {} was used up", counted(budget, "block")),
        Some(look) if family.conclusions.settled() => {
            format!("stopped at look {} of {} ({})", look + 1, planned.len(), counted(done, "block"))
        }
        _ => format!("ended after {done} of {}", counted(budget, "block")),
    }
}

/// Everything a reader must know, most important first.
pub fn warnings(study: &Study, data: &Data, family: &Family, caveats: Vec<String>) -> Vec<String> {
    let mut all = Vec::from_iter(data.run.busy.as_ref().map(|busy| {
        format!(
            "this machine was busy when the run began: {busy}, so runs took longer and varied more; end them (`top` \
             names them) and run again"
        )
    }));
    // The plan says it already, where it knew what is asked.
    let said = budget::warning(data.plan).is_some_and(|text| data.plan.warnings.contains(&text));
    all.extend(hopeless(family).filter(|_| !said));
    all.extend(machine::changes(data.run, external(data)));
    all.extend(cell_troubles(data));
    all.extend(repeats(data));
    all.extend(family.pairs.iter().filter_map(|(pair, _)| {
        let why = pair.datum.missing.first().filter(|_| pair.datum.values.is_empty())?;
        Some(format!("{} cannot be compared: {why}", pair.title()))
    }));
    all.extend(mixed(family));
    if data.unplanned > 0 {
        all.push(format!(
            "{} of cells that the plan does not have, and count for nothing",
            counted(data.unplanned, "attempt")
        ));
    }
    all.extend(data.run.warnings.iter().cloned());
    all.extend(study.remark.iter().cloned());
    all.extend(remarks(study, data));
    all.extend(data.plan.warnings.iter().cloned());
    all.extend(caveats);
    all
}

/// What is remarked of the experiments that are part of the run: of others there is nothing to believe.
fn remarks(study: &Study, data: &Data) -> Vec<String> {
    let part = study.experiment.iter().filter(|(name, _)| data.experiment(name).is_some());
    part.flat_map(|(name, one)| one.remark.iter().map(move |text| format!("{name}: {text}"))).collect()
}

/// Whether any of its work is external: that makes as much load as it is asked to.
fn external(data: &Data) -> bool {
    data.plan.cells().flat_map(|cell| cell.scene.work.values()).any(|work| work.lasts)
}

/// When no number of planned blocks could decide so much at once.
fn hopeless(family: &Family) -> Option<String> {
    let needed = family.blocks_needed(family.questions);
    (family.questions > 0 && first_deciding_look(&family.looks, family.questions).is_none()).then(|| {
        format!(
            "{} planned cannot decide {}: at least {needed} can (try: --runs {needed})",
            counted(family.looks.budget(), "block"),
            counted(family.questions, "question"),
        )
    })
}

/// Attempts that failed or are not faithful, counted by what they have in
/// common: reasons that differ in numbers alone are one, told by the first.
fn cell_troubles(data: &Data) -> Vec<String> {
    let mut troubles: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for attempt in &data.run.attempts {
        for reason in words::distinct(&reasons(attempt)) {
            let key = (attempt.cell.experiment.as_str(), words::shape(&reason));
            troubles.entry(key).or_default().push(reason);
        }
    }
    let told = |((experiment, _), all): ((&str, String), Vec<String>)| {
        let example = if all.iter().any(|reason| *reason != all[0]) { "for example " } else { "" };
        format!("{} of {experiment}: {example}{}", counted(all.len(), "attempt"), all[0])
    };
    troubles.into_iter().map(told).collect()
}

/// Attempts that were tried again in their block: what counts is then a selection.
fn repeats(data: &Data) -> Option<String> {
    let again = data.cells().map(|cell| {
        let repeated = |attempt: &&&Attempt| {
            let failed = attempt.status == Status::Failed;
            let doubted = attempt.status == Status::Finished && !faithful(attempt);
            // Where none counts, nothing was selected.
            let counted = |last: &&Attempt| last.turn > attempt.turn && counts(last);
            (failed || doubted) && cell.last.get(&attempt.block).is_some_and(counted)
        };
        cell.attempts.iter().filter(repeated).count()
    });
    let again: usize = again.sum();
    (again > 0).then(|| {
        format!(
            "{} that failed or {} not faithful {} tried again in the same block, and the last try counts: what counts is a selection, which favours one side if doubts befall it more when it is slow",
            counted(again, "attempt"),
            if again == 1 { "was" } else { "were" },
            if again == 1 { "was" } else { "were" },
        )
    })
}

/// Comparisons and claims of numbers that do not come from the same place.
fn mixed(family: &Family) -> Vec<String> {
    let pairs = family.pairs.iter().map(|(pair, _)| (pair.title(), &pair.datum.origins));
    let claims = family.claims.iter().filter_map(|judged| match &judged.stated.put {
        Put::One(one) => Some((format!("claim {}", judged.stated.name), &one.datum.origins)),
        Put::Steps(_) | Put::Not(_) => None,
    });
    let told = |(what, origins): (String, &BTreeSet<Origin>)| {
        let origins: Vec<String> = origins.iter().map(|o| o.word().to_string()).collect();
        (origins.len() > 1)
            .then(|| format!("{what} compares numbers of different origin: {}", list(&origins)))
    };
    pairs.chain(claims).filter_map(told).collect()
}

/// Why an attempt does not count; nothing where it does, or was cut short.
fn reasons(attempt: &Attempt) -> Vec<String> {
    match (attempt.status, &attempt.fidelity) {
        (Status::Failed, _) => {
            vec![attempt.reason.clone().unwrap_or_else(|| "failed for no given reason".into())]
        }
        (Status::Finished, Some(seen)) => seen.reasons.iter().map(|r| format!("not faithful: {r}")).collect(),
        _ => Vec::new(),
    }
}
