//! What was counted in a run, of all users together.

use schemars::JsonSchema;
use serde::Serialize;

use crosstalk_observe::waits::Waits;

use crate::counts::GroupCounts;
use crate::outcome::{Outcome, UserOutcome};

/// What was counted in a run. `None` where it is not counted on this machine, or was not in this run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct RunCounts {
    /// Seconds that a user took, on average; those who stream do not count.
    pub time: f64,
    /// Of these, seconds of CPU time in user mode.
    pub cpu_user: f64,
    /// Seconds of CPU time in the kernel, a user: reclaim, locks, reading.
    pub cpu_system: f64,
    /// Seconds of waiting for a processor, a user: of the user's own process only, and so about none if a command does
    /// the work.
    pub run_delay: f64,
    /// Bytes that those who do not stream read from devices, all together.
    pub read: f64,
    /// Bytes that users' commands read by system calls, all together: from files, pipes and devices.
    pub read_by_commands: f64,
    /// Bytes that these users read from devices.
    pub read_by_commands_from_devices: f64,
    /// Pages that were reclaimed and needed again, of all groups together.
    pub refaults: Option<f64>,
    /// Pages that were reclaimed, of all groups together.
    pub reclaimed: Option<f64>,
    /// Seconds in which tasks reclaimed pages before they got one, over the number of users; by tracepoints.
    pub reclaim_time: Option<f64>,
    /// Seconds in which tasks waited for locks of the kernel that others held, over the number of users; by tracepoints.
    /// They may overlap with CPU time (spinning) and with reclaim.
    pub lock_wait: Option<f64>,
    /// Seconds in which some task waited for memory (PSI).
    pub memory_wait: Option<f64>,
    /// Seconds in which some task waited for devices (PSI).
    pub io_wait: Option<f64>,
    /// Bytes a second that those who stream read; `None` if nobody streams until it is stopped.
    pub stream_rate: Option<f64>,
}

impl RunCounts {
    /// What an outcome has.
    pub fn of(outcome: &Outcome) -> Self {
        let users: Vec<&UserOutcome> = outcome.users.iter().filter(|user| !user.streams).collect();
        let sum = |part: fn(&UserOutcome) -> f64| users.iter().map(|user| part(user)).sum::<f64>();
        let mean = |part| sum(part) / users.len().max(1) as f64;
        let all = outcome.users.len().max(1) as f64;
        let waits = waits(&outcome.counts);
        let GroupCounts { refaults, reclaimed, memory_wait, io_wait, .. } = outcome.machine;
        RunCounts {
            time: mean(|user| user.done.ended - user.done.began),
            cpu_user: mean(|user| user.done.cpu_user),
            cpu_system: mean(|user| user.done.cpu_system),
            run_delay: mean(|user| user.done.run_delay),
            read: sum(|user| user.device_reads as f64),
            read_by_commands: sum(|user| user.done.read_by_command as f64),
            read_by_commands_from_devices: sum(|user| match user.done.read_by_command {
                0 => 0.0,
                _ => user.device_reads as f64,
            }),
            refaults: refaults.map(|pages| pages as f64),
            // Version 1 does not count them.
            reclaimed: reclaimed.or(waits.map(|waits| waits.reclaimed)).map(|pages| pages as f64),
            reclaim_time: waits.map(|waits| waits.reclaiming.as_secs_f64() / all),
            lock_wait: waits.map(|waits| waits.locked_out.as_secs_f64() / all),
            memory_wait,
            io_wait,
            stream_rate: outcome.stream_rate(),
        }
    }

    /// Seconds of waiting for anything but a processor: memory, devices, locks, others, and pauses.
    pub fn other_waiting(&self) -> f64 {
        (self.time - self.cpu_user - self.cpu_system - self.run_delay).max(0.0)
    }

    /// The mean of several runs, of what was counted in all of them; `None` of no run.
    pub fn mean(runs: &[RunCounts]) -> Option<RunCounts> {
        let count = runs.len() as f64;
        let mean = |part: fn(&RunCounts) -> f64| runs.iter().map(part).sum::<f64>() / count;
        let known = |part: fn(&RunCounts) -> Option<f64>| {
            let values: Option<Vec<f64>> = runs.iter().map(part).collect();
            values.map(|values| values.iter().sum::<f64>() / count)
        };
        (!runs.is_empty()).then(|| RunCounts {
            time: mean(|run| run.time),
            cpu_user: mean(|run| run.cpu_user),
            cpu_system: mean(|run| run.cpu_system),
            run_delay: mean(|run| run.run_delay),
            read: mean(|run| run.read),
            read_by_commands: mean(|run| run.read_by_commands),
            read_by_commands_from_devices: mean(|run| run.read_by_commands_from_devices),
            refaults: known(|run| run.refaults),
            reclaimed: known(|run| run.reclaimed),
            reclaim_time: known(|run| run.reclaim_time),
            lock_wait: known(|run| run.lock_wait),
            memory_wait: known(|run| run.memory_wait),
            io_wait: known(|run| run.io_wait),
            stream_rate: known(|run| run.stream_rate),
        })
    }
}

/// What all groups' tasks waited for; `None` if one group's were not counted.
fn waits(groups: &[GroupCounts]) -> Option<Waits> {
    let each: Option<Vec<Waits>> = groups.iter().map(|group| group.waits).collect();
    each.filter(|each| !each.is_empty()).map(|each| {
        each.iter().fold(Waits::default(), |sum, one| Waits {
            reclaiming: sum.reclaiming + one.reclaiming,
            reclaimed: sum.reclaimed + one.reclaimed,
            contended: sum.contended + one.contended,
            locked_out: sum.locked_out + one.locked_out,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn group(locked_out: Option<u64>) -> GroupCounts {
        let waits = locked_out.map(|seconds| Waits {
            locked_out: Duration::from_secs(seconds),
            reclaimed: 7,
            ..Waits::default()
        });
        GroupCounts { waits, ..GroupCounts::default() }
    }

    #[test]
    fn waits_are_those_of_all_groups_or_of_none() {
        let sum = waits(&[group(Some(1)), group(Some(2))]).expect("all are counted");
        assert_eq!((sum.locked_out, sum.reclaimed), (Duration::from_secs(3), 14));
        assert_eq!(waits(&[group(Some(1)), group(None)]), None);
        assert_eq!(waits(&[]), None);
    }

    #[test]
    fn a_mean_has_what_was_counted_in_all_runs() {
        let run = |time, lock_wait| RunCounts { time, lock_wait, ..RunCounts::default() };
        let mean = RunCounts::mean(&[run(1.0, Some(2.0)), run(3.0, Some(4.0))]).expect("two");
        assert_eq!((mean.time, mean.lock_wait), (2.0, Some(3.0)));
        assert_eq!(
            RunCounts::mean(&[run(1.0, Some(2.0)), run(3.0, None)]).map(|mean| mean.lock_wait),
            Some(None)
        );
        assert_eq!(RunCounts::mean(&[]), None);
    }
}
