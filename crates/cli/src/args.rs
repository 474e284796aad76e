//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod boinc;
mod data;
mod export;
mod groups;
mod probe;
mod run;
mod system;
mod tenants;
mod tune;
mod user_job;

#[cfg(test)]
mod examples;

pub use boinc::BoincProjectArgs;
pub use data::{Data, DataArgs, DataPlaceArgs};
pub use export::ExportArgs;
pub use groups::{
    GroupsArgs, GroupsCreateArgs, GroupsKeepArgs, GroupsRemoveArgs, GroupsSetArgs, GroupsShowArgs,
    GroupsVerb, GroupsWatchArgs,
};
pub use probe::{BandwidthArgs, CollectiveArgs, MachineArgs, Probe, ProbeArgs, SetArgs, UsersArgs, WireArgs};
pub use run::{PerformArgs, PlanArgs, ResumeArgs, RunArgs, StudyArgs, TestbedKind};
pub use system::SystemArgs;
pub use tenants::{Donating, ExecArgs, GuardArgs};
pub use tune::GroupsTuneArgs;
pub use user_job::UserJobArgs;

/// Measure what networks and background work cost your applications, and where the time goes.
#[derive(Parser)]
#[command(name = "crosstalk", version, max_term_width = 120, after_help = EXAMPLES)]
pub struct Cli {
    /// Print NDJSON instead of text: a line for each event, the last one for the result.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "Examples:
  crosstalk run --nodes 2 --scale 50 --vary fabric=ethernet-1g,ethernet-10g -- ./my-job
  crosstalk run kosmos --quick
  crosstalk probe latency

Exit codes: 0 finished; 1 failed and 3 undecided (with --gate); 2 wrong command line or file; \
4 failure of the environment; 130 interrupted.";

#[derive(Subcommand)]
pub enum Verb {
    /// Run a study, or your own program over different networks.
    #[command(after_help = "Examples:
  crosstalk run kosmos --quick
  crosstalk run my.toml --set graph.slaves=1,6 --out runs/six
  crosstalk run --nodes 2 --scale 50 --vary fabric=ethernet-1g,ethernet-10g -- examples/job.py
  crosstalk run --nodes 2 --scale 50 --vary fabric=ethernet-1g,ethernet-10g -- ./my-job --its-own-flag
  crosstalk run --vary env.OMP_NUM_THREADS=1,2 -- ./my-job
  crosstalk run --vary env.N=1,2 -- sh -c './my-job --threads $N'     varies an argument
  crosstalk run --runs 10 --warmup 1 --prepare 'rm -rf cache' --export-json times.json -- ./my-job

Crosstalk starts your program on every node at the same time. A client must try again until the other \
node listens. The program finds the nodes' addresses in CROSSTALK_HOSTS (by number, separated by commas), \
its own number, from 0, in CROSSTALK_NODE, and how many nodes there are in CROSSTALK_NODES. An attempt \
ends when the program on node 0 ends.

No shell is used: write sh -c '…' for pipes, and env NAME=VALUE … for variables. The program's output is \
printed only if it fails. --set log=DIR keeps the last 64 KiB of the latest attempt in DIR/node-N.out and \
DIR/node-N.err.")]
    Run(RunArgs),
    /// Continue a run that was interrupted.
    #[command(after_help = "Example:\n  crosstalk resume runs/kosmos-001")]
    Resume(ResumeArgs),
    /// Show what a study would run, how long it takes, and what this host cannot run.
    #[command(after_help = "Example:\n  crosstalk plan kosmos --quick")]
    Plan(PlanArgs),
    /// List the catalogues: studies, fabrics, systems, interconnects, components, workloads.
    #[command(after_help = "Examples:\n  crosstalk list fabrics\n  crosstalk list published")]
    List(ListArgs),
    /// Show one entry of a catalogue.
    #[command(
        after_help = "Examples:\n  crosstalk show srio\n  crosstalk show kosmos > my.toml\n  crosstalk show systems/kosmos"
    )]
    Show(ShowArgs),
    /// Fetch real data for the applications from their authors.
    #[command(after_help = "Examples:
  crosstalk data list
  crosstalk data get movielens --dir ./data")]
    Data(DataArgs),
    /// Measure with one instrument, once.
    #[command(after_help = "Examples:
  crosstalk probe latency     between two virtual nodes of this machine
  crosstalk probe memory      of this machine")]
    Probe(ProbeArgs),
    /// Add up an end-to-end latency from components.
    #[command(after_help = "Examples:
  crosstalk path                 every interconnect, with its published latency
  crosstalk path pcie-fabric     one interconnect, with its components
  crosstalk path memory-to-nic 'cable 5 m' infiniband-switch memory-to-nic
  crosstalk path tia-942-ethernet --size '1500 B' --utilisation '70 %'
  crosstalk path qpi --with qpi-hop='92 ns'
  crosstalk path cpu-to-memory 'cable 3 m' --measured runs/latency-001

`crosstalk list components` lists the components. Files of your own go into components/ and \
interconnects/ of a --catalogue.")]
    Path(PathArgs),
    /// Replay a recorded run's schedule on another network, with another MPI library, or with its ranks placed otherwise.
    #[command(after_help = "Examples:
  crosstalk run kosmos --quick --runs 1 --set graph.slaves=6 --set graph.pagerank.record=true --out recorded
  crosstalk replay recorded/artifacts/FILE.schedule --system kosmos-ethernet
  crosstalk replay FILE.schedule --system kisti-2006-myrinet --mpi mvapich-0.9.4

Messages are computed again. Each rank's computing is the CPU time that was recorded, scaled to the speed of the system's \
nodes. On the system of the recording, with the same library and as many ranks on each node, every clock is the recorded one. The cluster is not in the file, but its \
name is in the title. Changed rates, latencies and memory (conditions of a study) cannot be replayed.")]
    Replay(ReplayArgs),
    /// Split the time of requests to a running service into stages; needs root.
    #[command(after_help = "Examples:
  crosstalk trace --port 6379
  crosstalk trace --pid $(pidof -s redis-server) --for '30 s' --html redis.html
  crosstalk trace --cgroup system.slice/nginx.service --perfetto nginx.json

A request is what a client sends on a TCP connection until it is answered. The client's stages are \
reported too if the client is on this machine. Open the file of --perfetto at ui.perfetto.dev. \
docs/explanation/trace.md explains each stage.")]
    Trace(TraceArgs),
    /// Run a command in a control group of its own, as background or as foreground work.
    #[command(after_help = "Examples:
  crosstalk exec --background -- make -j8   it runs on what others leave
  crosstalk exec --background --cores 2 --memory 4GiB --name night -- ./simulate
  crosstalk exec --foreground -- ./service  a group of the usual weight
  crosstalk exec --group lab/alice -- ./job  in a group of crosstalk groups

Background work is put into the idle class (cpu.idle) where its group meets all others: a nice value \
has no effect there. Signals go to the command, and its exit code is returned (128 and the signal's \
number where a signal ended it). What it has started ends with it, also where crosstalk is killed; in a \
group of --group it stays. More: docs/how-to/background-work.md, docs/how-to/pack-users.md.")]
    Exec(ExecArgs),
    /// Make named control groups for the users and programs of this machine.
    #[command(after_help = "Examples:
  crosstalk groups create lab lab/alice lab/bob
  crosstalk exec --group lab/alice -- ./job
  crosstalk groups show

A group has memory of its own to reuse (its LRU), so that who reads much pushes out nobody else's pages. \
More: docs/how-to/pack-users.md.")]
    Groups(GroupsArgs),
    /// Keep foreground work within an agreed slowdown, and give background work the rest.
    #[command(after_help = "Examples:
  crosstalk guard                           what exec --background runs
  crosstalk guard --slowdown 1% boinc       and BOINC's client with its tasks
  crosstalk guard --background /batch --pid 4711 --for 60s --explain
  crosstalk guard --metrics 127.0.0.1:9273  serve OpenMetrics at /metrics

Everything that is not declared background work is foreground work. All settings are put back at the \
end, also after kill -9. More: docs/how-to/guard.md.")]
    Guard(GuardArgs),
    /// Analyse a run again, and write its report; measures nothing.
    #[command(after_help = "Examples:
  crosstalk report runs/kosmos-001
  crosstalk report runs/kosmos-001 --page docs/studies/kosmos.md")]
    Report(ReportArgs),
    /// Check what this host can do, what is missing, and print the command that mends it.
    #[command(after_help = "Examples:
  crosstalk doctor
  crosstalk doctor --no-load       on a machine that others are using

It measures for a few seconds what links between virtual nodes hold. Where background work (BOINC's \
client, or niced processes) competes with foreground work and computes at the moment, it measures what \
that costs: one thread on each processor where that work runs, for about a second. Nothing else loads \
this machine, and no setting is changed.")]
    Doctor(DoctorArgs),
    /// Undo changes that earlier runs have left on this host.
    #[command(after_help = "Example:\n  crosstalk clean")]
    Clean,
    /// Run a BOINC project: give work to BOINC clients, and check their results.
    #[command(after_help = "Examples:
  crosstalk boinc-project ./project --units 100 --task '10 s'
  boinccmd --project_attach http://127.0.0.1:8470/project/ KEY  elsewhere

It prints its address and the account's key, and runs until it is interrupted. Its state is in the \
directory: killed at any moment and started again, it continues. \
Started by root, it runs as the user nobody, to whom the directory then belongs. \
docs/how-to/boinc-project.md \
explains how to set a client up.")]
    BoincProject(BoincProjectArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "Examples:
  crosstalk completions bash > ~/.local/share/bash-completion/completions/crosstalk
  crosstalk completions zsh > ~/.zfunc/_crosstalk
  crosstalk completions fish > ~/.config/fish/completions/crosstalk.fish")]
    Completions(CompletionsArgs),
    /// Write manual pages into a directory, one for each command.
    #[command(after_help = "Example:\n  crosstalk man ~/.local/share/man/man1    then: man crosstalk-run")]
    Man(ManArgs),
    /// Write the pages of the reference into a directory.
    #[command(hide = true)]
    Docs(DocsArgs),
    /// Run the agent of a node; messages from the runner come on stdin.
    #[command(hide = true)]
    Agent(Words),
    /// Run one endpoint of a wire; its settings come on stdin.
    #[command(name = "end", hide = true)]
    Endpoint,
    /// Hold the namespaces of a virtual cluster.
    #[command(hide = true)]
    Hold(Words),
    /// Watch which programs are started, for `groups watch`; settings come on stdin.
    #[command(hide = true)]
    Place,
    /// Undo the open entries of an undo ledger when its owner has ended.
    #[command(hide = true)]
    Reap(Words),
    /// Start the users of a group, for the workload `users`; its orders come on stdin.
    #[command(hide = true)]
    UsersDriver,
    /// Do a work unit of `boinc-project`, in the slot directory of a BOINC client.
    #[command(hide = true)]
    BoincApp(Words),
    /// Do jobs of one kind of test of the multi-user load, and print what they use.
    #[command(hide = true)]
    UserJob(UserJobArgs),
}

/// The words after a hidden verb.
#[derive(Args)]
pub struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// The recorded schedule.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replay it on this system.
    #[arg(long, value_name = "NAME")]
    pub system: String,
    #[command(flatten)]
    pub system_args: SystemArgs,
    /// Also replay it on N clusters whose parameters are drawn from their ranges, and say between what the time lies, and
    /// which parameter matters most; at least 20, usually 200. Only systems whose sources carry ranges have them:
    /// `crosstalk show systems/kosmos` prints those of the systems kosmos-srio and kosmos-ethernet.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub ranges: Option<u32>,
    /// Add the catalogues of a directory: `fabrics/`, `systems/`, `mpi/`.
    #[arg(long, value_name = "DIR")]
    pub catalogue: Vec<PathBuf>,
}

#[derive(Args)]
pub struct PathArgs {
    /// An interconnect, or the components of a path; a cable has a length [default: list all].
    #[arg(value_name = "NAME | HOP")]
    pub path: Vec<String>,
    /// Add the time to send a message of this size, such as `64 B`.
    #[arg(long)]
    pub size: Option<String>,
    /// Set the rate of the links, such as `10 Gbit/s` [default: the interconnect's].
    #[arg(long, requires = "size")]
    pub rate: Option<String>,
    /// Add waiting at ports that other messages keep busy for this share, such as `70 %` [default: 0 %].
    #[arg(long, value_name = "SHARE")]
    pub utilisation: Option<String>,
    /// Use another time for a component: `cpu-to-memory='92 ns'`, `memory-to-nic='300 ns..410 ns'`.
    #[arg(long, value_name = "NAME=TIME")]
    pub with: Vec<String>,
    /// Use measured times for components: a run's directory, or a probe's output with --json. A component
    /// names its metric; --put names it for others.
    #[arg(long, value_name = "RUN|FILE")]
    pub measured: Vec<PathBuf>,
    /// Use this metric for a component: `cpu-to-memory='load_time[size=65536]'`.
    #[arg(long, value_name = "NAME=METRIC", requires = "measured")]
    pub put: Vec<String>,
    /// Add the catalogues of a directory: `components/`, `interconnects/`, `published/`.
    #[arg(long, value_name = "DIR")]
    pub catalogue: Vec<PathBuf>,
}

#[derive(Args)]
#[command(group(clap::ArgGroup::new("service").required(true).multiple(true)))]
pub struct TraceArgs {
    /// Trace TCP ports, such as `6379` or `80,443` [default with --pid or --cgroup: all of its ports].
    #[arg(long, value_name = "PORT", value_delimiter = ',', group = "service", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// Trace the process that listens, with its threads and children; also in a container.
    #[arg(
        long,
        group = "service",
        conflicts_with = "cgroup",
        value_name = "PID",
        allow_negative_numbers = true
    )]
    pub pid: Option<u32>,
    /// Trace the processes of a control group, by its path below /sys/fs/cgroup.
    #[arg(long, group = "service", value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// Trace for this long, in seconds or with a unit.
    #[arg(long = "for", value_name = "TIME", default_value = "10 s", allow_hyphen_values = true)]
    pub duration: String,
    /// Write a page with figures to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write some requests with their stages to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write the result of --json to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct DoctorArgs {
    /// Only look: measure nothing that would load this machine.
    #[arg(long)]
    pub no_load: bool,
}

#[derive(Args)]
pub struct ListArgs {
    /// List one catalogue [default: all but `published`].
    #[arg(value_enum)]
    pub what: Option<Catalogue>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Catalogue {
    Studies,
    Fabrics,
    Systems,
    Mpi,
    Components,
    Interconnects,
    Workloads,
    Published,
}

#[derive(Args)]
pub struct ShowArgs {
    /// Name of the entry; with its catalogue if several share it (`systems/kosmos`). `schema` is the study
    /// file's JSON Schema.
    pub name: String,
}

#[derive(Args)]
pub struct ReportArgs {
    /// The run's directory.
    pub dir: PathBuf,
    /// Exit with 1 if a claim is not reproduced or a comparison is worse, with 3 if undecided: inconclusive, or depends on.
    #[arg(long)]
    pub gate: bool,
    /// Write the findings to this file as a Markdown page with date, machine and revision; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Put another run of the same study on the page, such as on another engine: its comparisons, claims and figures, and
    /// rows in the tables under this name. `--page kosmos.md --beside spark=runs/kosmos-spark-001`; needs --page.
    #[arg(long, value_name = "NAME=DIR", requires = "page")]
    pub beside: Vec<String>,
    /// Print only the deciding sentence and the path of the report.
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
    #[command(flatten)]
    pub export: ExportArgs,
}

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// The directory; created if missing.
    pub dir: PathBuf,
}

#[derive(Args)]
pub struct DocsArgs {
    /// The directory; created if missing. Overwrites its pages.
    pub dir: PathBuf,
}
