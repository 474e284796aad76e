//! `crosstalk resume DIR`.

use std::process::ExitCode;

use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::rundir::RunDir;

use crate::args::ResumeArgs;
use crate::conclude::Resolved;
use crate::out::Out;
use crate::signal;
use crate::verb::run::{How, perform, resume_line};

pub fn main(args: &ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let dir = RunDir::open(&args.dir)?.hold()?;
    let resolved = Resolved::load_unchanged(&dir)?;
    let before = dir.read()?;
    let how = How::new(&args.how, &resolved.plan, interrupted).map_err(|fault| match fault.kind {
        FaultKind::Interrupted => fault.remedy(resume_line(&dir, args.how.testbed)),
        _ => fault,
    })?;
    perform(&dir, resolved, before, &how, out)
}
