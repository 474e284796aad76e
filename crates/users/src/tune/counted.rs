//! What was counted in a run, of all users together.

use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::GroupCounts;
use crate::outcome::{Outcome, UserOutcome};

/// What was counted in a run. Times are seconds a user; `None` where the kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    /// Seconds that a user took, on average.
    pub time: f64,
    /// Of these, CPU time in user mode.
    pub cpu_user: f64,
    /// CPU time in the kernel: reclaim, locks, reading.
    pub cpu_system: f64,
    /// Waiting for a processor: of the user's own process only, and so about none where a command does the work.
    pub run_delay: f64,
    /// Bytes that those who do not stream read from devices, all together.
    pub read: f64,
    /// Pages that were reclaimed and needed again.
    pub refaults: Option<f64>,
    /// Pages that were reclaimed.
    pub reclaimed: Option<f64>,
    /// Seconds in which some task waited for memory.
    pub memory_wait: Option<f64>,
    /// Seconds in which some task waited for devices.
    pub io_wait: Option<f64>,
    /// Bytes a second that those who stream read; `None` if nobody streams until it is stopped.
    pub stream_rate: Option<f64>,
}

impl Counted {
    /// What an outcome has.
    pub fn of(outcome: &Outcome) -> Self {
        let users: Vec<&UserOutcome> = outcome.users.iter().filter(|user| !user.streams).collect();
        let sum = |part: fn(&UserOutcome) -> f64| users.iter().map(|user| part(user)).sum::<f64>();
        let mean = |part| sum(part) / users.len().max(1) as f64;
        let GroupCounts { refaults, reclaimed, memory_wait, io_wait, .. } = outcome.machine;
        Counted {
            time: mean(|user| user.done.ended - user.done.began),
            cpu_user: mean(|user| user.done.cpu_user),
            cpu_system: mean(|user| user.done.cpu_system),
            run_delay: mean(|user| user.done.run_delay),
            read: sum(|user| user.device_reads as f64),
            refaults: refaults.map(|pages| pages as f64),
            reclaimed: reclaimed.map(|pages| pages as f64),
            memory_wait,
            io_wait,
            stream_rate: outcome.stream_rate(),
        }
    }

    /// Waiting for anything but a processor: memory, devices, others, and pauses.
    pub fn other_waiting(&self) -> f64 {
        (self.time - self.cpu_user - self.cpu_system - self.run_delay).max(0.0)
    }

    /// The mean of several runs; `None` of none.
    pub fn mean(runs: &[Counted]) -> Option<Counted> {
        let count = runs.len() as f64;
        let mean = |part: fn(&Counted) -> f64| runs.iter().map(part).sum::<f64>() / count;
        let known = |part: fn(&Counted) -> Option<f64>| {
            let values: Option<Vec<f64>> = runs.iter().map(part).collect();
            values.map(|values| values.iter().sum::<f64>() / count)
        };
        (!runs.is_empty()).then(|| Counted {
            time: mean(|run| run.time),
            cpu_user: mean(|run| run.cpu_user),
            cpu_system: mean(|run| run.cpu_system),
            run_delay: mean(|run| run.run_delay),
            read: mean(|run| run.read),
            refaults: known(|run| run.refaults),
            reclaimed: known(|run| run.reclaimed),
            memory_wait: known(|run| run.memory_wait),
            io_wait: known(|run| run.io_wait),
            stream_rate: known(|run| run.stream_rate),
        })
    }
}
