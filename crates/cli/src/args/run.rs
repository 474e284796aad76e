//! Options of running and planning a study.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ExportArgs;

/// Which study, changed how.
#[derive(Args, Clone)]
pub struct StudyArgs {
    /// A bundled study's name or a study file.
    pub study: Option<String>,
    /// Fewer cells and claims, the same rules: minutes instead of hours.
    #[arg(long)]
    pub quick: bool,
    /// Run the workloads on this engine: what the study has for it stands in the place of its own
    /// part. `spark`; or your own Spark cluster by its master's address, `spark://HOST:PORT`, for
    /// studies that emulate nothing, such as `analytics` [default: the study's, mostly `native`].
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// Change a factor's levels or a parameter: `graph.slaves=1,6`, `graph.pagerank.scale=18`; a
    /// shorter key such as `slaves` where it means one thing only.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Blocks (runs of every cell) after which to analyse whether the data suffice; the last is the
    /// budget [default: the study's; 12,24,48 for your own program].
    #[arg(long, value_name = "N,N…", value_delimiter = ',', allow_negative_numbers = true)]
    pub looks: Vec<usize>,
    /// Run every cell exactly N times and analyse once, at the end; a comparison needs 6 or more
    /// [default: as many as --looks says].
    #[arg(long, value_name = "N", conflicts_with = "looks", allow_negative_numbers = true, value_parser = at_least_one)]
    pub runs: Option<usize>,
    /// Run every cell N times first, without counting these runs [default: the study's, mostly 0].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warmup: Option<usize>,
    /// Your own program: before each of its runs, run this line with `sh -c` on node 0, not timed.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// Seed of the order and of generated inputs [default: the study's, mostly 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// A directory with further `fabrics/`, `systems/`, `components/`, `interconnects/` and `published/`.
    #[arg(long, value_name = "DIR")]
    pub catalogue: Vec<PathBuf>,
    /// Your own program: on how many nodes [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nodes: Option<usize>,
    /// Your own program: what is varied, `fabric=ethernet-1g,ethernet-10g`, or an environment
    /// variable of the program, `env.THREADS=1,2`; an argument is varied by a shell that takes it
    /// from such a variable. The first level is the base. It repeats: every combination of levels is run, the first
    /// factor's are compared at each of the others', and the sentence is about the others' first levels.
    #[arg(long, value_name = "FACTOR=A,B")]
    pub vary: Vec<String>,
    /// Your own program: differences within this do not matter. What lies inside is *equivalent*, and ends the run
    /// at the next interim analysis; at least 0.5 % [default: 2 %].
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<String>,
    /// Run every link at its fabric's rate over this, for rates that this machine cannot hold. Give
    /// your program as much less data to send, in as many messages: latency is not scaled. `crosstalk
    /// doctor` names the scale for each fabric [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Your own program and its arguments.
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
    pub how: HowArgs,
    /// The run's directory [default: runs/NAME-001, then -002 and so on].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the study to a file as well, to keep and change; refuses a file that is there.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Let --save overwrite its file.
    #[arg(long, requires = "save")]
    pub force: bool,
}

/// How a run is performed and judged.
#[derive(Args)]
pub struct HowArgs {
    /// Where nodes come from; a run that is resumed goes on where it was.
    #[arg(long, value_enum, default_value_t = TestbedKind::Auto)]
    pub testbed: TestbedKind,
    /// Give an attempt up after this long, such as `5 min` [default: 20 times its estimated time, at
    /// least 60 s].
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Exit with 1 when a claim is not reproduced or a comparison is worse, 3 when inconclusive.
    #[arg(long)]
    pub gate: bool,
    /// Print the deciding sentence and the report's place alone: no progress, no notes.
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
    #[command(flatten)]
    pub export: ExportArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestbedKind {
    /// Virtual where this host allows it and the study can be run on it, else local.
    Auto,
    /// Namespaces on this machine, joined by a switch of their own.
    Virtual,
    /// Processes on this machine, without isolation: enough for virtual time.
    Local,
}

#[derive(Args)]
pub struct ResumeArgs {
    /// The run's directory.
    pub dir: PathBuf,
    #[command(flatten)]
    pub how: HowArgs,
}

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// List every cell, however many there are.
    #[arg(long)]
    pub cells: bool,
}
