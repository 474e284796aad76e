//! `crosstalk resume DIR`.

use std::path::{self, Path};
use std::process::ExitCode;
use std::{env, io, iter};

use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::rundir::RunDir;

use crate::args::{PerformArgs, ResumeArgs, TestbedKind};
use crate::conclude::Outputs;
use crate::out::Out;
use crate::perform::{RunSettings, RunStart, conclude_ended_run, perform};
use crate::resolved::{Resolved, first_folder, note_revision, note_testbed, testbed};
use crate::streams::wait_for_readers_at_end;
use crate::{shell, signal};

/// Runs `crosstalk resume`.
pub fn main(args: ResumeArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    wait_for_readers_at_end(&interrupted)?;
    let (dir, args) = in_first_folder(args)?;
    args.perform.export.check()?;
    let dir = dir.lock()?;
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

/// Enters the folder in which the run began. Returns the run's directory, and arguments that mean the same there.
fn in_first_folder(mut args: ResumeArgs) -> Result<(RunDir, ResumeArgs), Fault> {
    let dir = RunDir::open(&args.dir)?;
    let Some(folder) = first_folder(&dir)? else { return Ok((dir, args)) };
    let refused = |path: &Path, e: io::Error| {
        Fault::usage(format!("the folder in which the run began cannot be entered: {e}"))
            .at(path.display().to_string())
            .remedy("the study's programs and files are looked for from there: put it back, or run the study anew")
    };
    for path in iter::once(&mut args.dir).chain(args.perform.export.paths_mut()) {
        *path = path::absolute(&*path).map_err(|e| refused(path, e))?;
    }
    env::set_current_dir(&folder).map_err(|e| refused(&folder, e))?;
    Ok((RunDir::open(&args.dir)?, args))
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
