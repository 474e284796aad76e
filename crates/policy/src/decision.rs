//! What the policy says: what background work is granted, and why.

use std::time::Duration;

use serde::Serialize;

use super::memory::Shortage;

/// What can be done to background work here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offers {
    /// It is in the idle class where it meets foreground work: it never takes a processor from that.
    pub idle: bool,
    /// It can be paused and resumed within milliseconds.
    pub duty_cycle: bool,
    /// It can be paused.
    pub pause: bool,
    /// Its processors can be chosen.
    pub cores: bool,
}

/// What background work is granted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Grant {
    /// For which share of the time it may run.
    pub share: f64,
    /// On how many processors.
    pub cores: usize,
}

/// How far the guard goes, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Idle class, or the least weight: always.
    Base,
    /// Fewer processors.
    Cores,
    /// Running for a part of the time.
    DutyCycle,
    /// Paused.
    Paused,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is granted.
    pub grant: Grant,
    /// Whether background work runs at this moment.
    pub run: bool,
    /// How far that goes.
    pub grade: Grade,
    /// Time until the next snapshot.
    pub wake: Duration,
    /// Whether to take a probe then, before anything is changed.
    pub probe: bool,
    /// What it follows from.
    pub why: Why,
}

/// Why background work is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// It would take memory that foreground work needs.
    Memory,
    /// Foreground work leaves no room.
    Full,
    /// To see whether foreground work would use more processors.
    Trial,
    /// To see whether devices would serve foreground work faster.
    Devices,
}

/// What a decision follows from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Why {
    /// Foreground work is active.
    pub busy: bool,
    /// Background work is in the idle class where it meets foreground work: it gives processors back by itself.
    pub yields: bool,
    /// Why background work is paused, if it has to be.
    pub pause: Option<Pause>,
    /// What foreground work lacked memory for, where it is paused for that.
    pub shortage: Option<Shortage>,
    /// How many times as long a probe of each kind takes while background work runs.
    pub ratios: [f64; 3],
    /// How many pairs of probes say so.
    pub pairs: usize,
    /// By how much foreground work is slower by waiting for processors while background work has them.
    pub waiting: f64,
    /// By how much it is slower by waiting for devices while background work runs.
    pub devices: f64,
    /// Foreground work's slowdown that is to be expected of all this.
    pub expected: f64,
}

impl Grant {
    /// How far it goes on a host with so many processors.
    pub(super) fn grade(&self, cores: usize) -> Grade {
        match self {
            Grant { share, .. } if *share <= 0.0 => Grade::Paused,
            Grant { share, .. } if *share < 1.0 => Grade::DutyCycle,
            Grant { cores: some, .. } if *some < cores => Grade::Cores,
            _ => Grade::Base,
        }
    }
}
