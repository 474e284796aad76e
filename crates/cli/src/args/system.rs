//! Options of an emulated cluster.

use clap::Args;

/// Which cluster virtual time emulates.
#[derive(Args)]
pub struct SystemArgs {
    /// Use this library's rules of message passing, such as `mpich-gm-1.2.6`, or `none` [default: the system's own].
    #[arg(long, value_name = "NAME", requires = "system")]
    pub mpi: Option<String>,
    /// Run this many ranks on each node.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "system")]
    pub ranks: u32,
}
