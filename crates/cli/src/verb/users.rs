//! The hidden verb of the workload `users`.

use std::io::{BufReader, stdin, stdout};
use std::process::ExitCode;

use crosstalk_core::Fault;

/// Starts the users of a group, by the orders on standard input, and reports how each ends.
pub fn run_driver() -> Result<ExitCode, Fault> {
    crosstalk_users::driver::run(BufReader::new(stdin()), stdout())?;
    Ok(ExitCode::SUCCESS)
}
