//! Whom the machine's memory would cost, as things are: for the line at the beginning.

use crosstalk_core::units::Bytes;
use serde::Serialize;

use super::limited_group::kept;
use super::victim::{Candidate, Reason, victim};
use crate::name::GroupName;
use crate::standing::Standing;

/// A group that may be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextEnd {
    /// Which one.
    pub group: GroupName,
    /// Why it would be chosen.
    pub reason: Reason,
    /// What it has, file pages left out.
    pub memory: Bytes,
}

/// These groups in the order in which they would be ended, those left out that never are.
pub fn order(leaves: &[&Standing]) -> Vec<NextEnd> {
    let candidates = leaves.iter().map(|one| Candidate::of(one, kept(&one.group)));
    let mut left: Vec<(&GroupName, Candidate)> = leaves.iter().map(|one| &one.name).zip(candidates).collect();
    let mut ordered = Vec::new();
    while let Some((at, reason)) =
        victim(&left.iter().map(|(_, candidate)| *candidate).collect::<Vec<_>>(), Bytes(0))
    {
        let (name, candidate) = left.remove(at);
        ordered.push(NextEnd { group: name.clone(), reason, memory: candidate.memory });
    }
    ordered
}
