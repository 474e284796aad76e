//! Options of `boinc-project`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// A project keeps what it was created with. Options with other values are refused later.
#[derive(Args)]
pub struct BoincProjectArgs {
    /// Directory of the project; created if missing.
    pub dir: PathBuf,
    /// Listen at this address; port 0 takes a free one [default: the last one, at first 127.0.0.1:8470].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Give hosts this address, if it differs from the one of --listen.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Create N work units [default: without end].
    #[arg(long, value_name = "N")]
    pub units: Option<u64>,
    /// Size work units to take this long on one core of this machine [default: 10 s].
    #[arg(long, value_name = "TIME")]
    pub task: Option<String>,
    /// Require N results that agree [default: 1].
    #[arg(long, value_name = "N")]
    pub quorum: Option<u32>,
    /// Let one host return several results of a work unit.
    #[arg(long)]
    pub one_host: bool,
    /// Give a result out again if it is not reported within this time [default: 24 h].
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Let a host hold N results for each of its processors [default: 4].
    #[arg(long, value_name = "N")]
    pub ahead: Option<u32>,
    /// Compute N of the 128 blocks of each result again, to check it [default: 1].
    #[arg(long, value_name = "N")]
    pub checks: Option<u32>,
    /// End when every work unit has its answer.
    #[arg(long)]
    pub until_done: bool,
}
