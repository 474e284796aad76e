//! `crosstalk resume DIR`.

use std::process::ExitCode;

use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::rundir::RunDir;

use crate::args::{HowArgs, ResumeArgs, TestbedKind};
use crate::conclude::{Outputs, Resolved, note_revision, note_testbed, testbed};
use crate::out::{Out, wait_at_the_end};
use crate::verb::run::{Begin, How, finish, perform};
use crate::{shell, signal};

pub fn main(args: ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    wait_at_the_end(&interrupted)?;
    args.how.export.check()?;
    let dir = RunDir::open(&args.dir)?.lock()?;
    let resolved = Resolved::load_unchanged(&dir)?;
    let before = dir.reopen()?;
    let next = match before.run().finished {
        true => resolved.next_stage(&dir, before.run())?,
        false => None,
    };
    if before.run().finished && next.is_none() {
        // More blocks after the rule has said "enough" would be a look that nobody planned.
        out.say(&format!("this run has ended ({}): nothing is left to measure", before.run().end));
        let outputs = Outputs { gate: args.how.gate, quiet: args.how.quiet, export: &args.how.export };
        return finish(&dir, resolved, &outputs, &interrupted, out);
    }
    let resolved = next.unwrap_or(resolved);
    let known = testbed(&dir)?;
    let go_on = shell::resume_line(&dir, &args.how.export);
    let how = HowArgs { testbed: same(args.how.testbed, known)?, ..args.how };
    let how = How::new(&how, &resolved.whole, interrupted).map_err(|fault| match fault.kind {
        FaultKind::Interrupted => fault.remedy(go_on),
        _ => fault,
    })?;
    if known.is_none() {
        note_testbed(&dir, how.testbed())?;
    }
    note_revision(&dir)?;
    perform(
        &dir,
        resolved,
        Some(before),
        Begin { command: shell::command_line(), notes: Vec::new(), how: &how },
        out,
    )
}

/// The testbed that a run was begun on: samples of different ones must not be mixed.
fn same(asked: TestbedKind, known: Option<TestbedKind>) -> Result<TestbedKind, Fault> {
    let Some(known) = known else { return Ok(asked) };
    if [TestbedKind::Auto, known].contains(&asked) {
        return Ok(known);
    }
    Err(Fault::usage("the run was begun on another testbed: samples of two must not be mixed")
        .at("--testbed")
        .remedy("leave it out"))
}
