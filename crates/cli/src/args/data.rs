//! Options of data sets.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub what: Data,
}

#[derive(Subcommand)]
pub enum Data {
    /// List the data sets: what each is, its licence, and whether it is there.
    #[command(after_help = "Example:\n  crosstalk data list")]
    List(DataPlaceArgs),
    /// Fetch a data set from its authors, check it, and unpack it; prints its licence first.
    #[command(after_help = "Examples:
  crosstalk data get movielens
  crosstalk data get movielens --dir /srv/data

Fetches with curl, else wget. Keeps nothing whose SHA-256 differs from the catalogue's. Prints the steps \
of a data set that is got by hand.")]
    Get {
        /// The data set's name.
        name: String,
        #[command(flatten)]
        place: DataPlaceArgs,
    },
}

#[derive(Args)]
pub struct DataPlaceArgs {
    /// The directory of the data [default: $CROSSTALK_DATA, else ./data].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Another catalogue of data sets, as datasets/datasets.toml is written [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}
