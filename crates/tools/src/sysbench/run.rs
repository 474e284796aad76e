//! sysbench, run to its end.

use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_work::peer::Deadline;
use crosstalk_work::program::find;

use crate::external::run_to_end;

/// Runs sysbench to its end, and returns what it printed.
///
/// # Errors
/// Where it is missing, fails, or does not end in time.
pub fn sysbench(arguments: &[String], until: &Deadline) -> Result<String, Fault> {
    run_to_end("sysbench", Command::new(find("sysbench")?).args(arguments), until)
}
