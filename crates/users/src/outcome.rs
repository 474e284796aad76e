//! What an attempt's users did, as metrics.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `makespan` | s | from the beginning until the last user has done its jobs; streamers have none |
//! | `jobs_per_minute` | /min | all users' jobs over the makespan |
//! | `jobs_per_minute_summed` | /min | the sum of the groups' rates, each over its own time: the published metric |
//! | `sum_bias` | ratio | the second over the first: rates of parts that end at different times do not add up |
//! | `jti` | % | AIM7's job timing index: (1 − standard deviation over mean) × 100, of the users' times |
//! | `user_time_span` | s | distribution: a user's time, from the beginning to its end |
//! | `cpu_user`, `cpu_system` | s | CPU time of all users in user and system mode, without streamers' |
//! | `run_delay` | s | that users were ready to run while others ran, without streamers' |
//! | `major_faults` | faults | page faults of users with a read, without streamers' |
//! | `refaults` | pages | pages of the users that were reclaimed and needed again, streamers' included |
//! | `stream_rate` | B/s | what streamers read |

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Sink;

use crate::counts::GroupCounts;
use crate::orders::{Done, UserUsage};

/// The metrics; the study decides on the first one.
pub fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("makespan", "s", Better::Lower),
        Metric::new("jobs_per_minute", "/min", Better::Higher),
        Metric::new("jobs_per_minute_summed", "/min", Better::Higher),
        Metric::new("sum_bias", "ratio", Better::Neither),
        Metric::new("jti", "%", Better::Higher),
        Metric::new("user_time_span", "s", Better::Lower),
        Metric::new("cpu_user", "s", Better::Lower),
        Metric::new("cpu_system", "s", Better::Lower),
        Metric::new("run_delay", "s", Better::Lower),
        Metric::new("major_faults", "faults", Better::Lower),
        Metric::new("refaults", "pages", Better::Lower),
        Metric::new("stream_rate", "B/s", Better::Higher),
    ]
}

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
    pub done: Done,
    /// What it used.
    pub usage: UserUsage,
}

/// What all users of an attempt did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// When they were told to begin, in seconds of CLOCK_MONOTONIC.
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
            ("cpu_user", sum(|user| user.usage.cpu_user)),
            ("cpu_system", sum(|user| user.usage.cpu_system)),
            ("run_delay", sum(|user| user.done.run_delay)),
            ("major_faults", sum(|user| user.done.major_faults as f64)),
        ];
        for (name, value) in values {
            out.take(Reading::value(name, value, Origin::Measured), users.len() as u64)?;
        }
        let mut spans = Histogram::default();
        times.iter().for_each(|time| spans.record((time * 1e9) as u64));
        out.take(Reading::histogram("user_time_span", spans, Origin::Measured), users.len() as u64)?;
        let refaults: Vec<u64> = self.counts.iter().filter_map(|counts| counts.refaults).collect();
        if !refaults.is_empty() {
            let all = refaults.iter().sum::<u64>() as f64;
            out.take(Reading::value("refaults", all, Origin::Measured), refaults.len() as u64)?;
        }
        if let Some(rate) = self.stream_rate() {
            let streamers = self.users.len() - users.len();
            out.take(Reading::value("stream_rate", rate, Origin::Measured), streamers as u64)?;
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

/// AIM7's job timing index, in per cent: 100 where all take equally long.
fn job_timing_index(times: &[f64]) -> f64 {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    (1.0 - variance.sqrt() / mean) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(group: usize, jobs: u64, ended: f64) -> UserOutcome {
        let done = Done { began: 10.0, ended, jobs, read: 0, run_delay: 0.25, major_faults: 2 };
        let usage = UserUsage { cpu_user: 1.0, cpu_system: 0.5, read: 0 };
        UserOutcome { number: 0, group, streams: false, done, usage }
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
        let readings =
            report(&Outcome { began: 10.0, users, counts: counts.into(), machine: GroupCounts::default() });
        assert_eq!(value(&readings, "makespan"), 120.0);
        assert_eq!(value(&readings, "jobs_per_minute"), 60.0);
        assert_eq!(value(&readings, "jobs_per_minute_summed"), 60.0 + 30.0);
        assert_eq!(value(&readings, "sum_bias"), 1.5);
        assert_eq!(value(&readings, "refaults"), 7.0);
        assert_eq!(value(&readings, "run_delay"), 0.5);
        // Mean 90 s, standard deviation 30 s.
        assert!((value(&readings, "jti") - 100.0 * (1.0 - 1.0 / 3.0)).abs() < 1e-9);
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
