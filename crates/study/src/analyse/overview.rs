//! How the run went, and what limits its findings.

use crosstalk_core::record::{Origin, Status};
use crosstalk_stats::family::first_deciding_look;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{is_counted, is_faithful};
use super::data::Data;
use super::family::Family;
use super::machine;
use super::question::ClaimQuestion;
use crate::file::Study;
use crate::findings::{NoiseFloor, RunSummary};
use crate::host_speed::HostSpeed;
use crate::plan::budget;
use crate::plan::needs::unmet_by;
use crate::samples::Attempt;
use crate::words::{self, count_in_words, join_in_words};

/// How the run went. `noise` are its noise floors, with what was detectable.
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
            Status::Finished if !is_faithful(attempt) => "not faithful",
            Status::Finished => "finished",
            Status::Failed => "failed",
            Status::Started => "cut short",
            Status::Interrupted => "interrupted",
        };
        *counts.entry(status.to_string()).or_default() += 1;
    }
    counts
}

/// `stopped at interim analysis 2 of 3 (24 blocks)`, `the budget of 48 blocks was used up`, `ended after 17 of 48 blocks`.
fn ended(data: &Data, family: &Family) -> String {
    let (planned, most) = (family.looks.blocks(), family.looks.most_blocks());
    let each = data.plan.experiments.iter().map(|experiment| experiment.blocks_within(most));
    let budget = each.max().unwrap_or(most);
    let done = data.complete.len();
    let look = planned.iter().position(|blocks| *blocks == done);
    match look {
        _ if done >= budget => format!("the budget of {} was used up", count_in_words(budget, "block")),
        Some(look) if family.conclusions.settled() => {
            format!(
                "stopped at interim analysis {} of {} ({})",
                look + 1,
                planned.len(),
                count_in_words(done, "block")
            )
        }
        _ => format!("ended after {done} of {}", count_in_words(budget, "block")),
    }
}

/// What limits the findings, most important first.
pub fn warnings(study: &Study, data: &Data, family: &Family, about_places: Vec<String>) -> Vec<String> {
    let mut all = Vec::from_iter(data.run.busy.as_ref().map(|busy| {
        format!(
            "this machine was busy when the run began: {busy}, so runs took longer and varied more; end them (`top` \
             names them) and run again"
        )
    }));
    let doubted = data.run.host_speed.as_ref().is_some_and(HostSpeed::is_doubtful);
    let host_speed = || data.run.host_speed.as_ref().map(HostSpeed::sentence);
    all.extend(host_speed().filter(|_| doubted));
    // The plan warned already, where it knew how many questions there are.
    let warned_already = budget::warning(data.plan).is_some_and(|text| data.plan.warnings.contains(&text));
    all.extend(too_few_blocks(family).filter(|_| !warned_already));
    all.extend(machine::changes(data.run, has_background_work(data)));
    all.extend(failed_attempts(data));
    all.extend(repeated_attempts(data));
    all.extend(family.pairs.iter().filter_map(|(pair, _)| {
        let why = pair.datum.missing.first().filter(|_| pair.datum.values.is_empty())?;
        Some(format!("{} cannot be compared: {why}", pair.title()))
    }));
    all.extend(mixed_origins(family));
    if data.unplanned > 0 {
        all.push(format!(
            "{} of cells that the plan does not have (not counted)",
            count_in_words(data.unplanned, "attempt")
        ));
    }
    all.extend(data.run.warnings.iter().cloned());
    all.extend(host_speed().filter(|_| !doubted));
    all.extend(study.remark.iter().cloned());
    all.extend(remarks(study, data));
    all.extend(data.plan.warnings.iter().cloned());
    // The host of a report need not be the run's: what was run did not lack anything.
    let without_data = data.cells().filter(|cell| cell.never_has_data());
    all.extend(unmet_by(without_data.map(|cell| cell.planned)));
    all.extend(about_places);
    all
}

/// The study's remarks on experiments that are part of the run.
fn remarks(study: &Study, data: &Data) -> Vec<String> {
    let part = study.experiment.iter().filter(|(name, _)| data.experiment(name).is_some());
    part.flat_map(|(name, one)| one.remark.iter().map(move |text| format!("{name}: {text}"))).collect()
}

/// Whether the run has background work: work that lasts until other work has ended.
fn has_background_work(data: &Data) -> bool {
    data.plan.cells().flat_map(|cell| cell.scene.work.values()).any(|work| work.lasts)
}

/// A warning where even all planned blocks cannot decide so many questions.
fn too_few_blocks(family: &Family) -> Option<String> {
    let needed = family.blocks_needed(family.questions);
    (family.questions > 0 && first_deciding_look(&family.looks, family.questions).is_none()).then(|| {
        format!(
            "{} planned cannot decide {}: at least {needed} can (try: --runs {needed})",
            count_in_words(family.looks.most_blocks(), "block"),
            count_in_words(family.questions, "question"),
        )
    })
}

/// Attempts that failed or are not faithful, counted by reason. Reasons that differ in numbers alone are one, and the
/// first is its example.
fn failed_attempts(data: &Data) -> Vec<String> {
    let mut by_kind: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for attempt in &data.run.attempts {
        for reason in words::distinct_texts(&reasons(attempt)) {
            let key = (attempt.cell.experiment.as_str(), words::without_numbers(&reason));
            by_kind.entry(key).or_default().push(reason);
        }
    }
    let sentence = |((experiment, _), all): ((&str, String), Vec<String>)| {
        let example = if all.iter().any(|reason| *reason != all[0]) { "for example " } else { "" };
        format!("{} of {experiment}: {example}{}", count_in_words(all.len(), "attempt"), all[0])
    };
    by_kind.into_iter().map(sentence).collect()
}

/// A warning about attempts that were tried again in their block: the tries that count are then a selection.
fn repeated_attempts(data: &Data) -> Option<String> {
    let again = data.cells().map(|cell| {
        let repeated = |attempt: &&&Attempt| {
            let failed = attempt.status == Status::Failed;
            let unfaithful = attempt.status == Status::Finished && !is_faithful(attempt);
            // Where no try counts, nothing was selected.
            let counted = |last: &&Attempt| last.try_number > attempt.try_number && is_counted(last);
            (failed || unfaithful) && cell.last_try.get(&attempt.block).is_some_and(counted)
        };
        cell.attempts.iter().filter(repeated).count()
    });
    let again: usize = again.sum();
    (again > 0).then(|| {
        format!(
            "{} that failed or {} not faithful {} tried again in the same block, and the last try counts. What counts is then a selection: it favours a side that is unfaithful more often when it is slow",
            count_in_words(again, "attempt"),
            if again == 1 { "was" } else { "were" },
            if again == 1 { "was" } else { "were" },
        )
    })
}

/// Warnings about comparisons and claims whose numbers differ in origin: one for each set of origins.
fn mixed_origins(family: &Family) -> Vec<String> {
    let pairs = family.pairs.iter().map(|(pair, _)| (pair.title(), &pair.datum.origins));
    let claims = family.claims.iter().filter_map(|judged| match &judged.claim.question {
        ClaimQuestion::Number(number) => {
            Some((format!("claim {}", judged.claim.name), &number.datum.origins))
        }
        ClaimQuestion::Steps(_) | ClaimQuestion::NotAsked(_) => None,
    });
    let mut by_origins: BTreeMap<&BTreeSet<Origin>, Vec<String>> = BTreeMap::new();
    for (what, origins) in pairs.chain(claims).filter(|(_, origins)| origins.len() > 1) {
        by_origins.entry(origins).or_default().push(what);
    }
    let sentence = |(origins, all): (&BTreeSet<Origin>, Vec<String>)| {
        let origins: Vec<String> = origins.iter().map(|o| o.word().to_string()).collect();
        format!(
            "numbers of different origin, {}, are compared in {}",
            join_in_words(&origins),
            join_in_words(&all)
        )
    };
    by_origins.into_iter().map(sentence).collect()
}

/// Why an attempt does not count; empty where it counts or was interrupted.
fn reasons(attempt: &Attempt) -> Vec<String> {
    match (attempt.status, &attempt.fidelity) {
        (Status::Failed, _) => {
            let failure = attempt.failure.as_ref().map(ToString::to_string);
            vec![failure.unwrap_or_else(|| "failed for no given reason".into())]
        }
        (Status::Finished, Some(seen)) => seen.reasons.iter().map(|r| format!("not faithful: {r}")).collect(),
        _ => Vec::new(),
    }
}
