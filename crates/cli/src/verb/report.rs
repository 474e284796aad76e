//! `crosstalk report DIR`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;

use crate::args::ReportArgs;
use crate::conclude::{Resolved, Wanted, conclude};
use crate::out::Out;
use crate::signal;

pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    let wanted = Wanted { gate: args.gate, quiet: false, export: &args.export };
    conclude(&dir, resolved, &wanted, &interrupted, out).map(|(code, _)| code)
}
