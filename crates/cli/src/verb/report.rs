//! `crosstalk report DIR`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;

use crate::args::ReportArgs;
use crate::conclude::{Resolved, conclude};
use crate::out::Out;
use crate::signal;

pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    conclude(&dir, resolved, args.gate, &interrupted, out).map(|(code, _)| code)
}
