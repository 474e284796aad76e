//! A work unit, and its results.

use std::collections::{BTreeMap, BTreeSet};

use super::line::Outcome;

/// The stage of a result: sent, reported, uploaded, …
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Its host has it.
    Out,
    /// Not reported in time.
    Lost,
    /// Reported.
    Ended(Outcome),
}

/// A result of a work unit on one host, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The host that has it, or had it.
    pub host: u64,
    /// When it must be reported, in Unix time.
    pub deadline: f64,
    /// Its stage.
    pub stage: Stage,
    /// The outcome of its output, once it is uploaded.
    pub output: Option<Outcome>,
    /// Its reported CPU time, in seconds.
    pub cpu: f64,
}

/// A work unit that was sent at least once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkUnit {
    /// Its results, by instance.
    pub instances: Vec<Instance>,
    /// The instance that is its answer.
    pub answer: Option<u32>,
    /// Whether it had too many failed results.
    pub given_up: bool,
}

impl WorkUnit {
    /// The largest number of results that have the same answer, and the first of these. With
    /// `one_host`, results of the same host count.
    pub fn largest_agreement(&self, one_host: bool) -> (u32, Option<u32>) {
        let mut groups: BTreeMap<&str, (u32, BTreeSet<u64>, u32)> = BTreeMap::new();
        for (index, instance) in self.instances.iter().enumerate() {
            if let Some(answer) = valid_digest(instance) {
                let group = groups.entry(answer).or_insert((0, BTreeSet::new(), index as u32));
                group.0 += 1;
                group.1.insert(instance.host);
            }
        }
        let count = |group: &(u32, BTreeSet<u64>, u32)| if one_host { group.0 } else { group.1.len() as u32 };
        let largest = groups.values().max_by_key(|group| (count(group), std::cmp::Reverse(group.2)));
        largest.map_or((0, None), |group| (count(group), Some(group.2)))
    }
}

/// The digest of a valid result.
pub fn valid_digest(instance: &Instance) -> Option<&str> {
    match &instance.stage {
        Stage::Ended(Outcome::Valid { answer }) => Some(answer),
        _ => None,
    }
}

/// Whether a result ended without an answer.
pub fn has_failed(instance: &Instance) -> bool {
    matches!(&instance.stage, Stage::Ended(Outcome::Failed { .. }))
}
