//! What an attempt's users did, as metrics.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::Sink;

use crate::counts::GroupCounts;
use crate::orders::UserRecord;

/// What one user did.
#[derive(Debug, Clone, PartialEq)]
pub struct UserOutcome {
    /// Its number.
    pub number: usize,
    /// The group that it was in.
    pub group: usize,
    /// Whether it ran until it was stopped.
    pub streams: bool,
    /// What it reported.
    pub done: UserRecord,
    /// Bytes that it read from devices in all its life, preparations included.
    pub device_reads: u64,
}

/// What all users of an attempt did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// When they began, in seconds of CLOCK_MONOTONIC.
    pub began: f64,
    /// Each user's outcome.
    pub users: Vec<UserOutcome>,
    /// What was counted for each group; once for groups that are together.
    pub counts: Vec<GroupCounts>,
    /// The same for all of them together.
    pub machine: GroupCounts,
}

impl Outcome {
    /// Reports the metrics.
    ///
    /// # Errors
    /// If no user has jobs; those of `out`.
    pub fn report(&self, out: &mut dyn Sink) -> Result<(), Fault> {
        let makespan = self.makespan()?;
        let users: Vec<&UserOutcome> = self.users.iter().filter(|user| !user.streams).collect();
        let times: Vec<f64> = users.iter().map(|user| user.done.ended - self.began).collect();
        let jobs: u64 = users.iter().map(|user| user.done.jobs).sum();
        let (rate, summed) = (60.0 * jobs as f64 / makespan, self.summed_rate(&users));
        let sum = |part: fn(&UserOutcome) -> f64| users.iter().map(|user| part(user)).sum::<f64>();
        let values = [
            ("makespan", makespan),
            ("jobs_per_minute", rate),
            ("jobs_per_minute_summed", summed),
            ("sum_bias", summed / rate),
            ("jti", job_timing_index(&times)),
            ("cpu_user", sum(|user| user.done.cpu_user)),
            ("cpu_system", sum(|user| user.done.cpu_system)),
            ("run_delay", sum(|user| user.done.run_delay)),
            ("major_faults", sum(|user| user.done.major_faults as f64)),
        ];
        for (name, value) in values {
            out.take(Reading::value(name, value, Origin::Measured), users.len() as u64)?;
        }
        let mut spans = Histogram::default();
        times.iter().for_each(|time| spans.record((time * 1e9) as u64));
        out.take(Reading::histogram("user_time_span", spans, Origin::Measured), users.len() as u64)?;
        self.report_parts(&users, makespan, out)?;
        self.report_counts(makespan, out)?;
        if let Some(rate) = self.stream_rate() {
            let streamers = self.users.len() - users.len();
            out.take(Reading::value("stream_rate", rate, Origin::Measured), streamers as u64)?;
        }
        Ok(())
    }

    /// The parts of the makespan: what the user did who was done last.
    fn report_parts(&self, users: &[&UserOutcome], makespan: f64, out: &mut dyn Sink) -> Result<(), Fault> {
        let Some(last) = users.iter().max_by(|a, b| a.done.ended.total_cmp(&b.done.ended)) else {
            return Ok(());
        };
        let compute = last.done.cpu_user + last.done.cpu_system;
        let known = compute + last.done.run_delay + last.done.paused;
        // Children that run at the same time compute in parallel.
        let wait = (makespan - known).max(0.0);
        let parts = [
            ("time_compute", compute),
            ("time_queue", last.done.run_delay),
            ("time_pause", last.done.paused),
            ("time_wait", wait),
        ];
        parts.into_iter().try_for_each(|(name, value)| {
            out.take(Reading::value(name, value, Origin::Measured).label("node", 0), 1)
        })
    }

    /// What the kernel counted: sums over all groups, and each group's.
    fn report_counts(&self, makespan: f64, out: &mut dyn Sink) -> Result<(), Fault> {
        if let Some(refaults) = self.machine.refaults {
            out.take(Reading::value("refaults", refaults as f64, Origin::Measured), 1)?;
        }
        report_groups("group_refaults", self.counts.iter().map(|counts| Some(counts.refaults? as f64)), out)?;
        for (sum, of_group, count) in SUMS {
            let counted: Vec<f64> = self.counts.iter().filter_map(count).collect();
            if !counted.is_empty() {
                let all = Reading::value(sum, counted.iter().sum::<f64>(), Origin::Measured);
                out.take(all, counted.len() as u64)?;
            }
            report_groups(of_group, self.counts.iter().map(count), out)?;
        }
        for (metric, wait) in WAITS {
            let share = |counts| Some((wait(counts)? / makespan).min(1.0));
            report_groups(metric, self.counts.iter().map(share), out)?;
        }
        Ok(())
    }

    /// Seconds from the beginning until the last user has done its jobs; those who stream have none.
    ///
    /// # Errors
    /// If no user has jobs.
    pub fn makespan(&self) -> Result<f64, Fault> {
        let users = self.users.iter().filter(|user| !user.streams);
        let makespan = users.map(|user| user.done.ended - self.began).fold(0.0, f64::max);
        if makespan > 0.0 { Ok(makespan) } else { Err(Fault::attempt("no user did any job")) }
    }

    /// Bytes that those who stream read a second, together; `None` if nobody streams.
    pub fn stream_rate(&self) -> Option<f64> {
        let read = |user: &UserOutcome| user.done.read as f64 / (user.done.ended - user.done.began);
        let rates = self.users.iter().filter(|user| user.streams).map(read);
        rates.reduce(|sum, rate| sum + rate)
    }

    /// The groups' jobs a minute, each over its own time, summed.
    fn summed_rate(&self, users: &[&UserOutcome]) -> f64 {
        let groups = users.iter().map(|user| user.group).max().map_or(0, |last| last + 1);
        let rate = |group: usize| {
            let own = users.iter().filter(|user| user.group == group);
            let (jobs, end) = own
                .fold((0, self.began), |(jobs, end), user| (jobs + user.done.jobs, user.done.ended.max(end)));
            if jobs == 0 { 0.0 } else { 60.0 * jobs as f64 / (end - self.began) }
        };
        (0..groups).map(rate).sum()
    }
}

/// A number of a group that is summed over all of them.
type Count = fn(&GroupCounts) -> Option<f64>;

/// The metric of all groups, that of each, and the number.
const SUMS: [(&str, &str, Count); 3] = [
    ("reclaimed", "group_reclaimed", |counts| Some(counts.waits?.reclaimed as f64)),
    ("reclaim_time", "group_reclaim_time", |counts| Some(counts.waits?.reclaiming.as_secs_f64())),
    ("lock_time", "group_lock_time", |counts| Some(counts.waits?.locked_out.as_secs_f64())),
];

/// Seconds in which some task of a group waited.
type Wait = fn(&GroupCounts) -> Option<f64>;

/// The metric of each group, and for how long some task waited.
const WAITS: [(&str, Wait); 3] = [
    ("group_cpu_wait", |counts| counts.cpu_wait),
    ("group_memory_wait", |counts| counts.memory_wait),
    ("group_io_wait", |counts| counts.io_wait),
];

/// Reports each group's value, where it has one.
fn report_groups(
    metric: &str,
    values: impl Iterator<Item = Option<f64>>,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    for (group, value) in values.enumerate().filter_map(|(group, value)| Some((group, value?))) {
        out.take(Reading::value(metric, value, Origin::Measured).label("group", group), 1)?;
    }
    Ok(())
}

/// AIM7's job timing index: 1 where all take equally long.
fn job_timing_index(times: &[f64]) -> f64 {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    1.0 - variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(group: usize, jobs: u64, ended: f64) -> UserOutcome {
        let done = UserRecord {
            began: 10.0,
            ended,
            jobs,
            read: 0,
            read_by_command: 0,
            run_delay: 0.25,
            paused: 2.0,
            major_faults: 2,
            cpu_user: 1.0,
            cpu_system: 0.5,
        };
        UserOutcome { number: 0, group, streams: false, done, device_reads: 0 }
    }

    fn report(outcome: &Outcome) -> Vec<(String, f64)> {
        let mut readings: Vec<Reading> = Vec::new();
        outcome.report(&mut readings).expect("has jobs");
        readings.iter().filter_map(|r| Some((r.metric.clone(), r.number()?))).collect()
    }

    fn value(readings: &[(String, f64)], name: &str) -> f64 {
        readings.iter().find(|(known, _)| known == name).expect("is reported").1
    }

    #[test]
    fn summed_rates_of_groups_that_end_at_different_times_are_too_high() {
        // Two groups with 60 jobs each: one needs a minute, the other two.
        let users = vec![user(0, 60, 70.0), user(1, 60, 130.0)];
        let counts =
            [3, 4].map(|refaults| GroupCounts { refaults: Some(refaults), ..GroupCounts::default() });
        let readings = report(&Outcome {
            began: 10.0,
            users,
            counts: counts.into(),
            machine: GroupCounts { refaults: Some(9), ..GroupCounts::default() },
        });
        assert_eq!(value(&readings, "makespan"), 120.0);
        assert_eq!(value(&readings, "jobs_per_minute"), 60.0);
        assert_eq!(value(&readings, "jobs_per_minute_summed"), 60.0 + 30.0);
        assert_eq!(value(&readings, "sum_bias"), 1.5);
        // Those of the machine, whoever counted in a group.
        assert_eq!(value(&readings, "refaults"), 9.0);
        assert_eq!(value(&readings, "group_refaults"), 3.0, "the first group's");
        assert_eq!(value(&readings, "run_delay"), 0.5);
        // Mean 90 s, standard deviation 30 s.
        assert!((value(&readings, "jti") - (1.0 - 1.0 / 3.0)).abs() < 1e-9);
        // The last user: two minutes, of which two seconds were pauses.
        let parts =
            ["time_compute", "time_queue", "time_pause", "time_wait"].map(|part| value(&readings, part));
        assert_eq!(parts, [1.5, 0.25, 2.0, 120.0 - 3.75]);
    }

    #[test]
    fn streamers_have_no_jobs_and_do_not_count_in_the_makespan() {
        let mut streamer = user(1, 0, 60.0);
        (streamer.streams, streamer.done.read) = (true, 500);
        let users = vec![user(0, 10, 40.0), streamer];
        let readings =
            report(&Outcome { began: 10.0, users, counts: Vec::new(), machine: GroupCounts::default() });
        assert_eq!(value(&readings, "makespan"), 30.0);
        assert_eq!(value(&readings, "stream_rate"), 10.0);
        assert_eq!(value(&readings, "sum_bias"), 1.0);
        assert_eq!(value(&readings, "cpu_user"), 1.0);
        assert!(readings.iter().all(|(name, _)| name != "refaults"), "is not counted here");
    }
}
