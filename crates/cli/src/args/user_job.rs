//! Options of the hidden verb `user-job`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct UserJobArgs {
    /// Kind of test, such as `disk_rr`.
    pub name: String,
    /// Do so many jobs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: u64,
    /// Work of a job, relative to AIM7's.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub work: f64,
    /// Directory for the files of jobs; created if missing.
    #[arg(long, value_name = "DIR")]
    pub folder: PathBuf,
    /// Size of the files of the disk tests.
    #[arg(long, value_name = "SIZE", default_value = "10 KiB")]
    pub file_size: String,
    /// Seed of the user's random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}
