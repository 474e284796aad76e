//! Files for other programs.

use std::path::PathBuf;

use clap::Args;

/// Files to export rows to. An existing file is overwritten, as hyperfine does.
#[derive(Args, Clone, Default)]
pub struct ExportArgs {
    /// Write the numbers to this file as CSV, in base units such as seconds, each with its origin; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Write the numbers to this file as JSON, with each attempt's value and its origin; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Write the numbers to this file as a Markdown table; overwrites it.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
}
