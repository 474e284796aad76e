//! Options of `groups tune`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct GroupsTuneArgs {
    /// What users do: a mix (shared, compute, dbase, fserver, readers, streaming, uneven), or the path of a mix file.
    #[arg(long, value_name = "MIX", group = "what")]
    pub mix: Option<String>,
    /// File of commands, one a line: each is a user, numbered from 1, and runs once, by `sh -c`.
    #[arg(long, value_name = "FILE", group = "what")]
    pub commands: Option<PathBuf>,
    /// Number of users, 2 to 10000 [default: the mix's own, else 16; of a command 2].
    #[arg(long, value_name = "N", conflicts_with = "commands", value_parser = clap::value_parser!(u32).range(2..=10_000), allow_negative_numbers = true)]
    pub users: Option<u32>,
    /// Memory of all of them together, such as `2 GiB`: at least 1 MiB [default: the host's].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// Bytes that all of them read a second from the disk at most, such as `200 MB` [default: as many as it can].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub read_rate: Option<String>,
    /// Jobs of each user of a mix, in a run.
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with_all = ["commands", "command"], value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pub jobs: u32,
    /// The share of its whole work that a job of a mix does.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, conflicts_with_all = ["commands", "command"], allow_negative_numbers = true)]
    pub work: f64,
    /// Most runs of the search, 5 to 30.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..=30), allow_negative_numbers = true)]
    pub runs: u32,
    /// Fresh pairs of runs, plain and grouped, which decide: 12 to 1000.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(12..=1000), allow_negative_numbers = true)]
    pub pairs: u32,
    /// Longest time of all runs together, such as `30 min`. A run of a command that hangs ends by it, too.
    #[arg(long, value_name = "DURATION", default_value = "2 h", allow_hyphen_values = true)]
    pub deadline: String,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// File for the result, which is replaced [default: tune-001.json, then -002 and so on].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Drop the page cache of the whole machine before each run, so that commands read their files from the disk. Other
    /// programs here read theirs again, too.
    #[arg(long)]
    pub drop_caches: bool,
    /// Run every grouping in so many blocks instead of searching; no fresh pairs.
    #[arg(long, value_name = "BLOCKS", hide = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub exhaustive: Option<u32>,
    /// Of these groupings, with the groups and limits that this file of JSON lists as `groupings` of a result.
    #[arg(long, value_name = "FILE", hide = true, requires = "exhaustive")]
    pub groupings: Option<PathBuf>,
    /// A command that each user runs once, with its arguments, after `--`.
    #[arg(last = true, value_name = "CMD", group = "what")]
    pub command: Vec<OsString>,
}
