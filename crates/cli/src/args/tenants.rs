//! Options of what has to do with own and external work.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(group(clap::ArgGroup::new("kind").required(true)))]
pub struct ExecArgs {
    /// External work: it gives way to everything else on this host.
    #[arg(long, group = "kind")]
    pub external: bool,
    /// Own work: a group of its own, with the weight that everything has.
    #[arg(long, group = "kind")]
    pub own: bool,
    /// What its group is called; the guard finds it by this [default: the program's name].
    #[arg(long)]
    pub name: Option<String>,
    /// Memory that it never goes beyond, such as `4 GiB`: the rest is swapped out where there is swap, and
    /// what needs more all the same is killed [default: no limit].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// On how many processors it may run [default: all].
    #[arg(long, value_name = "N", value_parser = processors, allow_negative_numbers = true)]
    pub cores: Option<usize>,
    /// Processors' time that it may use at most, such as `1.5` [default: no limit].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub quota: Option<f64>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "CMD", required = true)]
    pub command: Vec<OsString>,
}

fn processors(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a number of processors, such as 2".into())
}

#[derive(Args)]
pub struct GuardArgs {
    /// Largest slowdown of own work, such as `1%` or `0.01` [default: the rules', else 1%].
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub slowdown: Option<String>,
    /// A control group that is external work: its path in its tree (`/batch`), its directory, or the name
    /// of what `crosstalk exec --external` has started (its `--name`, else its program's). All that that
    /// has started is guarded, too, unless BOINC's client can only be asked.
    #[arg(long, value_name = "GROUP")]
    pub external: Vec<PathBuf>,
    /// A process that is external work, with all that it has started and will start.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub pid: Vec<u32>,
    /// `boinc`: BOINC's client with its tasks, which is found by itself.
    #[arg(value_parser = donating, value_name = "boinc")]
    pub programs: Vec<Donating>,
    /// Where BOINC's client listens; selects one of several clients [default: the packaged one, then
    /// root's, then others'].
    #[arg(long, value_name = "ADDR:PORT", requires = "programs")]
    pub boinc_address: Option<SocketAddr>,
    /// The file with the client's password, for where its group cannot be set and it is asked
    /// instead [default: gui_rpc_auth.cfg in its data directory].
    #[arg(long, value_name = "FILE", requires = "programs")]
    pub boinc_password_file: Option<PathBuf>,
    /// Which programs are external, and which own in any case: a file of rules (docs/guard.md).
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Say in plain words what is seen, done, and why, whenever that changes, in the place of the
    /// picture that a terminal shows.
    #[arg(long)]
    pub explain: bool,
    /// Guard for two seconds, and say what was seen and done.
    #[arg(long, conflicts_with = "duration")]
    pub once: bool,
    /// How long, in seconds or with a unit [default: until interrupted].
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Tell numbers as OpenMetrics text: in a file, or over HTTP at an address such as 127.0.0.1:9273.
    #[arg(long, value_name = "FILE | ADDRESS")]
    pub metrics: Option<String>,
}

fn donating(text: &str) -> Result<Donating, String> {
    match text {
        "boinc" => Ok(Donating::Boinc),
        _ => Err("expected `boinc`; a control group is named by --external, a process by --pid".into()),
    }
}

/// Programs that donate work, which the guard finds by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Donating {
    /// BOINC's client and its tasks.
    Boinc,
}

/// What is given here is decided when the project is made; an old one has it already.
#[derive(Args)]
pub struct BoincProjectArgs {
    /// The project's directory; made where it is not there.
    pub dir: PathBuf,
    /// Listen there; port 0 takes a free one [default: where it listened before, else 127.0.0.1:8470].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// What hosts are told to find it at, where that is another address than it listens at.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// How many work units there are [default: without end].
    #[arg(long, value_name = "N")]
    pub units: Option<u64>,
    /// About how long each takes on one core of this machine [default: 10 s].
    #[arg(long, value_name = "TIME")]
    pub task: Option<String>,
    /// How many results must agree [default: 1].
    #[arg(long, value_name = "N")]
    pub quorum: Option<u32>,
    /// All of these may come from one host.
    #[arg(long)]
    pub one_host: bool,
    /// A result that is not reported after this long is given out again [default: 24 h].
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Results that a host may have at a time, for each of its processors [default: 4].
    #[arg(long, value_name = "N")]
    pub ahead: Option<u32>,
    /// Of the 128 blocks of each result, so many are done again to check it [default: 1].
    #[arg(long, value_name = "N")]
    pub checks: Option<u32>,
    /// End when every work unit has its answer.
    #[arg(long)]
    pub until_done: bool,
}
