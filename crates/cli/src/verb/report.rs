//! `crosstalk report DIR`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;

use crate::args::ReportArgs;
use crate::conclude::{Outputs, Resolved, conclude};
use crate::out::Out;
use crate::signal;

pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    let outputs = Outputs { gate: args.gate, quiet: false, export: &args.export };
    conclude(&dir, resolved, &outputs, &interrupted, out).map(|(code, _)| code)
}
