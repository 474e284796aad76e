//! `crosstalk resume DIR`.

use std::process::ExitCode;

use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::rundir::RunDir;

use crate::args::ResumeArgs;
use crate::conclude::{Resolved, Wanted};
use crate::out::Out;
use crate::verb::run::{Begin, How, finish, perform, resume_line};
use crate::{shell, signal};

pub fn main(args: &ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.how.export.check()?;
    let dir = RunDir::open(&args.dir)?.hold()?;
    let resolved = Resolved::load_unchanged(&dir)?;
    let before = dir.read()?;
    if before.finished {
        // More blocks after the rule has said "enough" would be a look that nobody planned.
        out.say(&format!("this run has ended ({}): nothing is left to measure", before.end));
        let wanted = Wanted { gate: args.how.gate, quiet: args.how.quiet, export: &args.how.export };
        return finish(&dir, resolved, &wanted, &interrupted, out);
    }
    let how = How::new(&args.how, &resolved.plan, interrupted).map_err(|fault| match fault.kind {
        FaultKind::Interrupted => fault.remedy(resume_line(&dir, args.how.testbed)),
        _ => fault,
    })?;
    perform(
        &dir,
        resolved,
        before,
        Begin { command: shell::command_line(), notes: Vec::new(), how: &how },
        out,
    )
}
