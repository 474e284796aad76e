//! The metrics of users, with their meaning.

use crosstalk_core::record::{Better, Metric};

/// The metrics; the study decides on the first one.
pub fn metrics() -> Vec<Metric> {
    METRICS
        .iter()
        .map(|(name, unit, better, meaning)| {
            let metric = Metric::new(name, unit, *better).meaning(meaning);
            if *name == MAKESPAN { metric.above_zero() } else { metric }
        })
        .collect()
}

const MAKESPAN: &str = "makespan";

/// Name, unit, which way is better, meaning.
type Row = (&'static str, &'static str, Better, &'static str);

use Better::{Higher, Lower, Neither};

const METRICS: [Row; 26] = [
    (MAKESPAN, "s", Lower, "from the beginning until the last user has done its jobs; streamers have none"),
    ("jobs_per_minute", "/min", Higher, "all users' jobs over the makespan"),
    (
        "jobs_per_minute_summed",
        "/min",
        Higher,
        "the sum of the groups' rates, each over its own time: the published metric",
    ),
    (
        "sum_bias",
        "ratio",
        Neither,
        "that sum over `jobs_per_minute`: rates of groups that end at different times do not add up",
    ),
    ("jti", "%", Higher, "AIM7's job timing index: 1 − standard deviation over mean, of the users' times"),
    ("user_time_span", "s", Lower, "distribution: a user's time, from the beginning to its end"),
    (
        "time_compute",
        "s",
        Neither,
        "part of the makespan: what the user who was done last spent computing, with its children; label `node`",
    ),
    (
        "time_queue",
        "s",
        Neither,
        "part of the makespan: that user's own process ready to run without a processor; its children's is in \
         `time_wait`, as the kernel does not add it up",
    ),
    ("time_pause", "s", Neither, "part of the makespan: that user's own pauses"),
    (
        "time_wait",
        "s",
        Neither,
        "part of the makespan: the rest, in which that user waited for a disk, memory, locks or children",
    ),
    ("cpu_user", "s", Lower, "CPU time of all users in user mode, without streamers'"),
    ("cpu_system", "s", Lower, "CPU time of all users in system mode, without streamers'"),
    (
        "run_delay",
        "s",
        Lower,
        "that users' own processes were ready to run while others ran, without their children's and streamers'",
    ),
    ("major_faults", "faults", Lower, "page faults of users that read from a disk, without streamers'"),
    (
        "refaults",
        "pages",
        Lower,
        "pages of the users that had been pushed out and were needed again, streamers' included",
    ),
    (
        "group_refaults",
        "pages",
        Lower,
        "the same of one group; label `group`, from 0. Users who are together are group 0; none where groups \
         share their memory group",
    ),
    (
        "reclaimed",
        "pages",
        Lower,
        "pages that tasks took away, from others or themselves, before they got one (with `waits`)",
    ),
    ("group_reclaimed", "pages", Lower, "the same of one group; label `group`"),
    ("reclaim_time", "s", Lower, "how long that took, added up over tasks (with `waits`)"),
    ("group_reclaim_time", "s", Lower, "the same of one group; label `group`"),
    (
        "lock_time",
        "s",
        Lower,
        "how long tasks were locked out of the kernel's data by others, added up over tasks (with `waits`)",
    ),
    ("group_lock_time", "s", Lower, "the same of one group; label `group`"),
    (
        "group_cpu_wait",
        "%",
        Lower,
        "the share of the makespan in which some task of a group waited for a processor (PSI); label `group`",
    ),
    ("group_memory_wait", "%", Lower, "the same for memory"),
    ("group_io_wait", "%", Lower, "the same for a disk"),
    ("stream_rate", "B/s", Higher, "what streamers read"),
];
