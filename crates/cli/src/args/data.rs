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
    /// List the data sets, each with its licence and whether it is present.
    #[command(after_help = "Example:\n  crosstalk data list")]
    List(DataPlaceArgs),
    /// Fetch a data set, check it, and unpack it; prints its licence first.
    #[command(after_help = "Examples:
  crosstalk data get movielens
  crosstalk data get movielens --dir /srv/data

It fetches with curl, else with wget, and keeps a file only if its SHA-256 is the catalogue's. For a data \
set that must be fetched by hand it prints the steps.")]
    Get {
        /// Name of the data set.
        name: String,
        #[command(flatten)]
        place: DataPlaceArgs,
    },
}

#[derive(Args)]
pub struct DataPlaceArgs {
    /// Directory of the data [default: $CROSSTALK_DATA, else ./data].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Catalogue of data sets, in the format of datasets/datasets.toml [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}
