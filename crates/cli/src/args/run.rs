//! Options of the verbs that run, continue and plan a study.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ExportArgs;

/// The study, and changes to it.
#[derive(Args, Clone)]
pub struct StudyArgs {
    /// Name of a bundled study, or a study file.
    pub study: Option<String>,
    /// Run fewer cells, in minutes instead of hours; the rules stay the same.
    #[arg(long)]
    pub quick: bool,
    /// Run the workloads on `native`, `spark`, or your Spark cluster, `spark://HOST:PORT` [default: the
    /// study's, mostly `native`].
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// Change a factor's levels or a parameter: `graph.slaves=1,6`, `graph.pagerank.scale=18`, or
    /// `slaves=6` if it is unambiguous.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Analyse after these numbers of blocks, and end if the data suffice; a block runs every cell once
    /// [default: the study's; 12,24,48 for your own program].
    #[arg(long, value_name = "N,N…", value_delimiter = ',', allow_negative_numbers = true)]
    pub looks: Vec<usize>,
    /// Run every cell exactly N times, and analyse once; a comparison needs 6 [default: as --looks says].
    #[arg(long, value_name = "N", conflicts_with = "looks", allow_negative_numbers = true, value_parser = at_least_one)]
    pub runs: Option<usize>,
    /// Run every cell N times first, without counting [default: the study's, mostly 0].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warmup: Option<usize>,
    /// Run this line with `sh -c` on node 0 before each run of your program, not timed.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// Set the seed of the random order and of generated inputs [default: the study's, mostly 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Add the catalogues of a directory: `fabrics/`, `systems/`, `mpi/`, `components/`, `interconnects/`,
    /// `published/`.
    #[arg(long, value_name = "DIR")]
    pub catalogue: Vec<PathBuf>,
    /// Run your program on N nodes [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nodes: Option<usize>,
    /// Vary the network of your program, `fabric=ethernet-1g,ethernet-10g`, or an environment variable,
    /// `env.THREADS=1,2`. The first level is the base. With several --vary every combination is run, and
    /// the first factor is compared at each of them.
    #[arg(long, value_name = "FACTOR=A,B")]
    pub vary: Vec<String>,
    /// Count differences within this as equivalent, at least 0.5 %; for your program [default: 2 %].
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<String>,
    /// Divide the rate of every link by N, if this machine cannot hold it; let your program send 1/N of its
    /// data in as many messages. `crosstalk doctor` names the scale for each fabric [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Your program and its arguments.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a number of at least 1".into())
}

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub perform: PerformArgs,
    /// Write to this directory, which must be new [default: runs/NAME-001, then -002 and so on].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the study to a new file as well, to keep and change.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Let --save overwrite a file.
    #[arg(long, requires = "save")]
    pub force: bool,
}

/// How a run is performed, and what it outputs.
#[derive(Args)]
pub struct PerformArgs {
    /// Take the nodes from here; a continued run keeps its testbed.
    #[arg(long, value_enum, default_value_t = TestbedKind::Auto)]
    pub testbed: TestbedKind,
    /// Give an attempt up after this time, such as `5 min` [default: 20 times its estimate, at least 60 s].
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Exit with 1 if a claim is not reproduced or a comparison is worse, with 3 if undecided: inconclusive, or depends on.
    #[arg(long)]
    pub gate: bool,
    /// Print only the deciding sentence and the path of the report.
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
    #[command(flatten)]
    pub export: ExportArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestbedKind {
    /// Virtual if this host allows it and the study can use it, else local.
    Auto,
    /// Namespaces on this machine, joined by a virtual switch.
    Virtual,
    /// Processes on this machine, without isolation; enough for virtual time.
    Local,
}

#[derive(Args)]
pub struct ResumeArgs {
    /// The run's directory.
    pub dir: PathBuf,
    #[command(flatten)]
    pub perform: PerformArgs,
}

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// List every cell, however many there are.
    #[arg(long)]
    pub cells: bool,
}
