//! Options of what has to do with foreground and background work.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(group(clap::ArgGroup::new("kind").required(true)))]
pub struct ExecArgs {
    /// Background work: it yields to everything else on this host.
    #[arg(long, alias = "external", group = "kind")]
    pub background: bool,
    /// Foreground work: a control group of its own, of the usual weight.
    #[arg(long, alias = "own", group = "kind")]
    pub foreground: bool,
    /// Begin in this group of `crosstalk groups`, and leave there what the command has started.
    #[arg(long, value_name = "NAME", group = "kind", conflicts_with_all = ["name", "memory", "cores", "quota"])]
    pub group: Option<String>,
    /// Name of the group, by which the guard finds it [default: the program's name].
    #[arg(long)]
    pub name: Option<String>,
    /// Largest memory, such as `4 GiB`: more is swapped out where there is swap, else the command is
    /// killed [default: no limit].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// Number of processors that it may run on [default: all].
    #[arg(long, value_name = "N", value_parser = processors, allow_negative_numbers = true)]
    pub cores: Option<usize>,
    /// Largest CPU time, in processors, such as `1.5` [default: no limit].
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
    /// Largest slowdown of foreground work, such as `1%` or `0.01` [default: the rules', else 1%].
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub slowdown: Option<String>,
    /// A control group that is background work: its path in its tree (`/batch`), its directory, or the name
    /// of what `crosstalk exec --background` has started. All that `exec` has started is guarded anyway,
    /// unless BOINC's client can only be asked.
    #[arg(long, alias = "external", value_name = "GROUP")]
    pub background: Vec<PathBuf>,
    /// A process that is background work, with its descendants.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub pid: Vec<u32>,
    /// `boinc`: find BOINC's client, and guard it with its tasks.
    #[arg(value_parser = donating, value_name = "boinc")]
    pub programs: Vec<Donating>,
    /// Address of BOINC's client; selects one of several [default: the packaged one, then root's, then
    /// others'].
    #[arg(long, value_name = "ADDR:PORT", requires = "programs")]
    pub boinc_address: Option<SocketAddr>,
    /// File with the client's password, needed where its group cannot be set [default: gui_rpc_auth.cfg
    /// in its data directory].
    #[arg(long, value_name = "FILE", requires = "programs")]
    pub boinc_password_file: Option<PathBuf>,
    /// File of rules: which programs are background, and which are foreground in any case.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Print sentences on what is seen, done, and why, instead of the picture.
    #[arg(long)]
    pub explain: bool,
    /// Guard for two seconds, and print what was seen and done.
    #[arg(long, conflicts_with = "duration")]
    pub once: bool,
    /// How long, in seconds or with a unit [default: until interrupted].
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Export metrics as OpenMetrics: to a file, or over HTTP at an address such as 127.0.0.1:9273.
    #[arg(long, value_name = "FILE | ADDRESS")]
    pub metrics: Option<String>,
}

fn donating(text: &str) -> Result<Donating, String> {
    match text {
        "boinc" => Ok(Donating::Boinc),
        _ => Err("expected `boinc`; a control group is named by --background, a process by --pid".into()),
    }
}

/// Programs that the guard finds by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Donating {
    /// BOINC's client and its tasks.
    Boinc,
}
