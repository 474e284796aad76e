//! `crosstalk resume DIR`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;

use crate::args::ResumeArgs;
use crate::conclude::Resolved;
use crate::out::Out;
use crate::verb::run::perform;

pub fn main(args: &ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let dir = RunDir::open(&args.dir)?.hold()?;
    let resolved = Resolved::load_unchanged(&dir)?;
    let before = dir.read()?;
    perform(&dir, &resolved, before, &args.how, out)
}
