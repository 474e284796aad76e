//! Numbers that a model made, and that no replay over the ranges of its parameters moves.

use super::change::RANGES;
use super::family::Family;
use super::over_ranges::NumbersByCluster;
use super::question::ClaimQuestion;
use super::select::View;
use crate::findings::{ClaimFinding, Comparison};
use crate::plan::{Cell, Plan, Work};
use crate::words::first_of;
use crosstalk_core::value::Value;
use std::collections::BTreeSet;

/// Why a number is known on the cluster as it is alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutRanges {
    /// It was not replayed, and its interval holds this machine's noise.
    NoiseAlone,
    /// It was not replayed, and has no noise.
    NotReplayed,
    /// It was replayed, and is the same on all clusters.
    NothingChangesIt,
}

impl WithoutRanges {
    /// By whether it was replayed and stayed the same, and whether its numbers have noise.
    pub fn of(stayed: bool, has_noise: bool) -> Self {
        match (stayed, has_noise) {
            (true, _) => WithoutRanges::NothingChangesIt,
            (false, true) => WithoutRanges::NoiseAlone,
            (false, false) => WithoutRanges::NotReplayed,
        }
    }

    /// Why an agreement in size does not count.
    pub fn is_no_evidence(self) -> &'static str {
        match self {
            WithoutRanges::NoiseAlone => {
                "that is no evidence of size, since the interval holds this machine's noise, not the error of the model's \
                 parameters, over whose ranges this was not replayed"
            }
            WithoutRanges::NotReplayed => {
                "that is no evidence of size, since the model's parameters have errors, over whose ranges this was not replayed"
            }
            WithoutRanges::NothingChangesIt => {
                "that is no evidence of size, since no parameter that has a range changes it"
            }
        }
    }

    /// What follows a direction that holds, or an equality.
    pub fn in_words(self) -> String {
        match self {
            WithoutRanges::NoiseAlone => {
                format!("that is of this machine's noise alone: it was not replayed over {RANGES}")
            }
            WithoutRanges::NotReplayed => format!("it was not replayed over {RANGES}"),
            WithoutRanges::NothingChangesIt => "no parameter that has a range changes it".into(),
        }
    }
}

const RECORDED: &str = ". Work with `record = true` is not replayed: for verdicts over the ranges, leave `record` out; \
                        for this run, see `crosstalk replay --ranges`";

/// A note on what a model made, and was not replayed over the ranges of its parameters: its interval is too narrow.
pub fn not_replayed(
    family: &Family,
    found: &[Option<Comparison>],
    claimed: &[(ClaimFinding, Option<View>)],
    over_ranges: Option<&NumbersByCluster>,
    plan: &Plan,
) -> Option<String> {
    let pairs = family.pairs.iter().zip(found).filter(|((pair, _), found)| {
        let replayed = over_ranges.is_some_and(|over| over.has_pair(pair));
        pair.datum.modelled && !replayed && found.is_some()
    });
    let claims = family.claims.iter().zip(claimed).filter(|(judged, (claim, _))| {
        let modelled = match &judged.claim.question {
            ClaimQuestion::Number(question) => question.datum.modelled,
            ClaimQuestion::Steps(question) => question.modelled,
            ClaimQuestion::NotAsked(_) => false,
        };
        let replayed = over_ranges.is_some_and(|over| over.has_claim(&claim.name));
        modelled && judged.claim.written.is_evidence() && !replayed && claim.found.is_some()
    });
    let (mut all, mut experiments) = (Vec::new(), BTreeSet::new());
    for ((pair, _), _) in pairs {
        all.push(pair.title());
        experiments.insert(pair.view.experiment.name());
    }
    for (judged, (claim, _)) in claims {
        all.push(format!("claim {}", claim.name));
        experiments.extend(judged.claim.written.experiments().map(|(_, name)| name));
    }
    let which = first_of(&all);
    (!all.is_empty()).then(|| {
        format!(
            "{which}: not replayed over {RANGES}, so that intervals hold this machine's noise alone{}",
            if is_recorded(plan, &experiments) { RECORDED } else { "" }
        )
    })
}

/// Whether work of these experiments, which would be replayed, keeps its schedule as an artifact instead.
fn is_recorded(plan: &Plan, experiments: &BTreeSet<&str>) -> bool {
    let asks = |work: &Work| work.params.get("record") == Some(&Value::Bool(true));
    let recorded = |cell: &Cell| cell.can_be_replayed() && cell.scene.work.values().any(asks);
    plan.experiments
        .iter()
        .filter(|experiment| experiments.contains(experiment.name.as_str()))
        .any(|experiment| experiment.cells.iter().any(recorded))
}
