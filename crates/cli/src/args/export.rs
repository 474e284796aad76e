//! Files for other programs.

use std::path::PathBuf;

use clap::Args;

/// Where rows are written; a file that is there is overwritten, as hyperfine does.
#[derive(Args, Clone, Default)]
pub struct ExportArgs {
    /// Write the numbers to this file as CSV, in seconds and other base units; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Write the numbers to this file as JSON, each attempt's value included; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Write the numbers to this file as a Markdown table; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
}
