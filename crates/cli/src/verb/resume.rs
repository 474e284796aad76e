//! `crosstalk resume DIR`.

use std::process::ExitCode;

use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::rundir::RunDir;

use crate::args::{PerformArgs, ResumeArgs, TestbedKind};
use crate::conclude::Outputs;
use crate::out::Out;
use crate::perform::{RunSettings, RunStart, conclude_ended_run, perform};
use crate::resolved::{Resolved, note_revision, note_testbed, testbed};
use crate::streams::wait_for_readers_at_end;
use crate::{shell, signal};

/// Runs `crosstalk resume`.
pub fn main(args: ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    wait_for_readers_at_end(&interrupted)?;
    args.perform.export.check()?;
    let dir = RunDir::open(&args.dir)?.lock()?;
    let resolved = Resolved::load_unchanged(&dir)?;
    let before = dir.reopen_journal()?;
    let next = match before.run().finished {
        true => resolved.next_stage(&dir, before.run())?,
        false => None,
    };
    if before.run().finished && next.is_none() {
        // More blocks after the stopping rule's end would be an unplanned interim analysis.
        out.say(&format!("this run has ended ({}): nothing is left to measure", before.run().end));
        let outputs =
            Outputs { gate: args.perform.gate, quiet: args.perform.quiet, export: &args.perform.export };
        return conclude_ended_run(&dir, resolved, &outputs, &interrupted, out);
    }
    let resolved = next.unwrap_or(resolved);
    let known = testbed(&dir)?;
    let resume = shell::resume_line(&dir, &args.perform.export);
    let args = PerformArgs { testbed: same(args.perform.testbed, known)?, ..args.perform };
    let settings =
        RunSettings::new(&args, &resolved.whole, interrupted).map_err(|fault| match fault.kind {
            FaultKind::Interrupted => fault.remedy(resume),
            _ => fault,
        })?;
    if known.is_none() {
        note_testbed(&dir, settings.testbed_name())?;
    }
    note_revision(&dir)?;
    perform(
        &dir,
        resolved,
        Some(before),
        RunStart { command: shell::this_command_line(), notes: Vec::new(), settings: &settings },
        out,
    )
}

/// The testbed that a run was started on: samples of different ones must not be mixed.
fn same(requested: TestbedKind, known: Option<TestbedKind>) -> Result<TestbedKind, Fault> {
    let Some(known) = known else { return Ok(requested) };
    if [TestbedKind::Auto, known].contains(&requested) {
        return Ok(known);
    }
    Err(Fault::usage("the run was started on another testbed: samples of two must not be mixed")
        .at("--testbed")
        .remedy("leave it out"))
}
