//! The hidden verbs: what the program is when another of its processes starts it.

use std::process::ExitCode;

use crosstalk_core::Fault;

use crate::args::Words;
use crate::{parts, signal};

pub fn main() -> Result<ExitCode, Fault> {
    signal::leave_to_the_runner()?;
    let served =
        crosstalk_lab::agent::serve(&parts::registry(), parts::facts, std::io::stdin(), std::io::stdout());
    // What was kept between attempts. Where this is not reached, the testbed ends
    // it with the agent.
    crosstalk_apps::engine::spark::close();
    crosstalk_tools::sysbench::close();
    served.map(|()| ExitCode::SUCCESS)
}

pub fn end() -> Result<ExitCode, Fault> {
    let (orders, out) = (std::io::stdin().lock(), std::io::stdout().lock());
    crosstalk_probe::wire::serve(orders, out).map(|()| ExitCode::SUCCESS)
}

pub fn hold(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_testbed::holder_main(&args.words))
}

pub fn reap(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_host::reaper_main(&args.words))
}
