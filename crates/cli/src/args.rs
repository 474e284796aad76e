//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod data;
mod export;
mod probe;
mod run;
mod tenants;

#[cfg(test)]
mod examples;

pub use data::{Data, DataArgs, DataPlaceArgs};
pub use export::ExportArgs;
pub use probe::{BandwidthArgs, MachineArgs, Probe, ProbeArgs, SetArgs, WireArgs};
pub use run::{HowArgs, PlanArgs, ResumeArgs, RunArgs, StudyArgs, TestbedKind};
pub use tenants::{BoincProjectArgs, Donating, ExecArgs, GuardArgs};

/// Measures what wires and neighbours cost your applications, explains where
/// the time goes, and says so with an interval.
#[derive(Parser)]
#[command(name = "crosstalk", version, max_term_width = 120, after_help = EXAMPLES)]
pub struct Cli {
    /// Print NDJSON instead of text: events as they happen, the result as the last line.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "Examples:
  crosstalk run --nodes 2 --scale 50 --vary fabric=ethernet-1g,ethernet-10g -- ./my-job
  crosstalk run kosmos --quick
  crosstalk probe latency

Exit codes: 0 finished; 1 failed and 3 inconclusive (with --gate); 2 the command line or a file is \
wrong; 4 the environment failed; 130 interrupted.";

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

Your program is started on every node, with CROSSTALK_HOSTS (the nodes' addresses by number, separated \
by commas), CROSSTALK_NODE (its number, from 0) and CROSSTALK_NODES (how many). All nodes start together: \
a client tries again until the other node listens. An attempt ends when node 0's program ends. \
No shell is asked: write sh -c '…' for pipes, env NAME=VALUE … for variables. \
What it prints is shown only where it fails; --set log=DIR keeps the last 64 KiB of the latest attempt \
in DIR/node-N.out and DIR/node-N.err.")]
    Run(RunArgs),
    /// Go on with a run that was cut short.
    #[command(after_help = "Example:\n  crosstalk resume runs/kosmos-001")]
    Resume(ResumeArgs),
    /// Show what a study would run, how long it takes, and what this host cannot do of it.
    #[command(after_help = "Example:\n  crosstalk plan kosmos --quick")]
    Plan(PlanArgs),
    /// List the catalogues: studies, fabrics, systems, workloads; published figures when asked for.
    #[command(after_help = "Examples:\n  crosstalk list fabrics\n  crosstalk list published")]
    List(ListArgs),
    /// Show one entry of a catalogue whole.
    #[command(
        after_help = "Examples:\n  crosstalk show srio\n  crosstalk show kosmos > my.toml\n  crosstalk show systems/kosmos"
    )]
    Show(ShowArgs),
    /// Fetch real data for the applications from where its authors publish it.
    #[command(after_help = "Examples:
  crosstalk data list
  crosstalk data get movielens --dir ./data")]
    Data(DataArgs),
    /// Use one instrument, now.
    #[command(after_help = "Examples:
  crosstalk probe latency     between two virtual nodes of this machine
  crosstalk probe memory      of this machine")]
    Probe(ProbeArgs),
    /// Add up an end-to-end latency from components: a catalogued interconnect, or a path of your own.
    #[command(after_help = "Examples:
  crosstalk path                          every interconnect, beside what is published
  crosstalk path pcie-fabric              one, with its components
  crosstalk path memory-to-nic 'cable 5 m' infiniband-switch 'cable 40 m' memory-to-nic
  crosstalk path tia-942-ethernet --size '1500 B' --utilisation '70 %'
  crosstalk path qpi --with qpi-hop='92 ns'    a time of your own in a component's place
  crosstalk path cpu-to-memory cpu-to-pcie-device --measured runs/latency-001    what a run measured

`crosstalk list components` tells which there are; files of your own go into components/ and \
interconnects/ of a --catalogue.")]
    Path(PathArgs),
    /// Say where the time of requests to a live service goes, without touching it; needs root.
    #[command(after_help = "Examples:
  crosstalk trace --port 6379                      whoever listens there
  crosstalk trace --pid $(pidof -s redis-server) --for '30 s' --html redis.html
  crosstalk trace --cgroup system.slice/nginx.service --perfetto nginx.json

A request is what a client sends on a TCP connection until it is answered. Where the client is on this \
machine its part is told, too; of other clients the server's part. Open the file of --perfetto at \
ui.perfetto.dev. docs/explanation/trace.md says what each stage is.")]
    Trace(TraceArgs),
    /// Run a command in a control group of its own, as background or as foreground work.
    #[command(after_help = "Examples:
  crosstalk exec --background -- make -j8   it runs on what others leave
  crosstalk exec --background --cores 2 --memory 4GiB --name night -- ./simulate
  crosstalk exec --foreground -- ./service  a group of the usual weight

Background work is put into the idle class (cpu.idle) where its group meets all others: a nice value \
has no effect there. Signals go to the command, and its exit code is returned (128 and the signal's \
number where a signal ended it). What it has started ends with it, also where crosstalk is killed. \
More: docs/how-to/background-work.md.")]
    Exec(ExecArgs),
    /// Keep foreground work within an agreed slowdown, and give background work the rest.
    #[command(after_help = "Examples:
  crosstalk guard                           what exec --background runs
  crosstalk guard --slowdown 1% boinc       and BOINC's client with its tasks
  crosstalk guard --background /batch --pid 4711 --for 60s --explain
  crosstalk guard --metrics 127.0.0.1:9273  serve OpenMetrics at /metrics

Everything that is not declared background work is foreground work. All settings are put back at the \
end, also after kill -9. More: docs/how-to/guard.md.")]
    Guard(GuardArgs),
    /// Analyse what a run has measured, again; never measures.
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
    /// Undo what earlier runs have left behind.
    #[command(after_help = "Example:\n  crosstalk clean")]
    Clean,
    /// Run a BOINC project: give work to BOINC clients, and check what they return.
    #[command(after_help = "Examples:
  crosstalk boinc-project ./project --units 100 --task '10 s'
  boinccmd --project_attach http://127.0.0.1:8470/project/ KEY  elsewhere

It prints its address and the account's key, and goes on until it is interrupted. The directory has all \
that it knows: killed at any moment and started again, it goes on where it was. \
Started by root, it runs as the user nobody, to whom the directory then belongs. \
docs/how-to/boinc-project.md says how a client is set up for it.")]
    BoincProject(BoincProjectArgs),
    /// Print a script that completes commands and flags in a shell.
    #[command(after_help = "Examples:
  crosstalk completions bash > ~/.local/share/bash-completion/completions/crosstalk
  crosstalk completions zsh > ~/.zfunc/_crosstalk
  crosstalk completions fish > ~/.config/fish/completions/crosstalk.fish")]
    Completions(CompletionsArgs),
    /// Write manual pages, one a command, into a directory.
    #[command(after_help = "Example:\n  crosstalk man ~/.local/share/man/man1    then: man crosstalk-run")]
    Man(ManArgs),
    /// Write the reference's pages, from the code that they describe, into a directory.
    #[command(hide = true)]
    Docs(DocsArgs),
    /// Serve a runner on this node, over stdin and stdout.
    #[command(hide = true)]
    Agent(Words),
    /// Have an end of a wire, told over stdin.
    #[command(hide = true)]
    End,
    /// Hold the namespaces of a virtual cluster.
    #[command(hide = true)]
    Hold(Words),
    /// Undo what is open in a ledger when its owner is gone.
    #[command(hide = true)]
    Reap(Words),
    /// Do a work unit of `boinc-project`, in the slot directory of a BOINC client.
    #[command(hide = true)]
    BoincApp(Words),
}

/// Words for a hidden verb.
#[derive(Args)]
pub struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

#[derive(Args)]
pub struct PathArgs {
    /// An interconnect's name; or components from one end to the other, cables with their length.
    #[arg(value_name = "NAME | HOP")]
    pub path: Vec<String>,
    /// Of a message, such as `64 B`: what follows its head takes time, too.
    #[arg(long)]
    pub size: Option<String>,
    /// Of the links, such as `10 Gbit/s` [default: the interconnect's].
    #[arg(long, requires = "size")]
    pub rate: Option<String>,
    /// The share of the time that every port on the way is busy with other messages, such as `70 %` or
    /// `0.7` [default: 0 %].
    #[arg(long, value_name = "SHARE")]
    pub utilisation: Option<String>,
    /// Another time in a component's place: `cpu-to-memory='92 ns'`, `memory-to-nic='300 ns..410 ns'`.
    #[arg(long, value_name = "NAME=TIME")]
    pub with: Vec<String>,
    /// Put what was measured into components' places: a run's directory, or what a probe printed with
    /// --json. A component says itself which metric stands for it; else --put does.
    #[arg(long, value_name = "RUN|FILE")]
    pub measured: Vec<PathBuf>,
    /// Which metric stands in a component's place: `cpu-to-memory='load_time[size=65536]'`.
    #[arg(long, value_name = "NAME=METRIC", requires = "measured")]
    pub put: Vec<String>,
    /// A directory with further `components/`, `interconnects/` and `published/`.
    #[arg(long, value_name = "DIR")]
    pub catalogue: Vec<PathBuf>,
}

#[derive(Args)]
#[command(group(clap::ArgGroup::new("service").required(true).multiple(true)))]
pub struct TraceArgs {
    /// The service's TCP ports, such as `6379` or `80,443`, in this network namespace; with --pid or
    /// --cgroup only these of its ports.
    #[arg(long, value_name = "N", value_delimiter = ',', group = "service", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// The process that listens; its threads and children count with it. In a container, too.
    #[arg(
        long,
        group = "service",
        conflicts_with = "cgroup",
        value_name = "P",
        allow_negative_numbers = true
    )]
    pub pid: Option<u32>,
    /// The control group of the processes that listen, below /sys/fs/cgroup.
    #[arg(long, group = "service", value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// How long, in seconds or with a unit.
    #[arg(long = "for", value_name = "TIME", default_value = "10 s", allow_hyphen_values = true)]
    pub duration: String,
    /// Write a page with pictures to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write some requests, each with its stages, to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write the result, as --json prints it, to this file.
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
    /// Only this catalogue.
    #[arg(value_enum)]
    pub what: Option<Catalogue>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Catalogue {
    Studies,
    Fabrics,
    Systems,
    Components,
    Interconnects,
    Workloads,
    Published,
}

#[derive(Args)]
pub struct ShowArgs {
    /// The name of a study, fabric, system, workload or published figure, where several share it with
    /// its catalogue before it (`systems/kosmos`); or `schema` for the study file's JSON Schema.
    pub name: String,
}

#[derive(Args)]
pub struct ReportArgs {
    /// The run's directory.
    pub dir: PathBuf,
    /// Exit with 1 when a claim is not reproduced or a comparison is worse, 3 when inconclusive.
    #[arg(long)]
    pub gate: bool,
    /// Write the findings to this file as a Markdown page with date, machine and revision, such as
    /// `docs/studies/kosmos.md`; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    pub export: ExportArgs,
}

#[derive(Args)]
pub struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// The directory; made where it is not there.
    pub dir: PathBuf,
}

#[derive(Args)]
pub struct DocsArgs {
    /// The directory; made where it is not there. Pages in it are overwritten.
    pub dir: PathBuf,
}
