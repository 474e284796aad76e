//! Performs a plan in a run's directory, from its start or from where it was interrupted, and concludes it.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::record::Status;
use crosstalk_core::testbed::Testbed;
use crosstalk_core::units::{Seconds, human};
use crosstalk_core::value::describe_levels;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::RunInputs;
use crosstalk_lab::clock::SystemClock;
use crosstalk_lab::journal::Journal;
use crosstalk_lab::progress::Event;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::findings::Findings;
use crosstalk_study::plan::Plan;

use crate::args::{ExportArgs, PerformArgs};
use crate::conclude::{Outputs, conclude};
use crate::load::{OtherPrograms, pace};
use crate::out::Out;
use crate::resolved::{Resolved, note_busy, note_host_speed, noted_host_speed};
use crate::{host_speed, parts, progress, shell, signal};

/// How a run is performed, and what it outputs; checked.
pub struct RunSettings {
    testbed: Box<dyn Testbed>,
    /// The longest an attempt may take.
    deadline: Option<Duration>,
    gate: bool,
    quiet: bool,
    export: ExportArgs,
    interrupted: Arc<AtomicBool>,
}

/// How a run, or the rest of one, starts.
pub struct RunStart<'a> {
    /// The command line that repeats it.
    pub command: String,
    /// Notes that are printed first.
    pub notes: Vec<String>,
    pub settings: &'a RunSettings,
}

impl RunSettings {
    /// Checks the options of a run.
    ///
    /// # Errors
    /// What this host cannot run of the plan; interrupted.
    pub fn new(args: &PerformArgs, plan: &Plan, interrupted: Arc<AtomicBool>) -> Result<Self, Fault> {
        let deadline = deadline(args)?;
        crosstalk_host::ledger::temporary_root()?;
        let testbed = parts::testbed(args.testbed, plan, &interrupted);
        let testbed = signal::unless_interrupted(&interrupted, testbed)?;
        Ok(RunSettings {
            testbed,
            deadline,
            gate: args.gate,
            quiet: args.quiet,
            export: args.export.clone(),
            interrupted,
        })
    }

    /// The name of the testbed.
    pub fn testbed_name(&self) -> &'static str {
        self.testbed.name()
    }

    fn outputs(&self) -> Outputs<'_> {
        Outputs { gate: self.gate, quiet: self.quiet, export: &self.export }
    }
}

/// The longest deadline of an attempt.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The value of `--deadline`.
fn deadline(args: &PerformArgs) -> Result<Option<Duration>, Fault> {
    let Some(text) = &args.deadline else { return Ok(None) };
    let seconds: Seconds = text.parse().map_err(|f: Fault| f.at("--deadline"))?;
    match Duration::try_from_secs_f64(seconds.0) {
        Ok(deadline) if !deadline.is_zero() && deadline <= LONGEST => Ok(Some(deadline)),
        _ => Err(Fault::usage(
            "expected a time above zero and of at most 365 days, found ".to_string() + &human(seconds.0, "s"),
        )
        .at("--deadline")
        .remedy("write for example --deadline '10 min', or leave it out")),
    }
}

/// Runs what is left of a plan in `dir`, stage by stage, and concludes. `before` is the journal of a run that is
/// resumed.
///
/// # Errors
/// Interrupted; a fault of the run, with how to resume it; nothing was measured or compared.
pub fn perform(
    dir: &RunDir,
    resolved: Resolved,
    before: Option<Journal>,
    start: RunStart,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let settings = start.settings;
    let registry = parts::registry();
    let mut progress = progress::watcher(out, settings.quiet);
    let others = OtherPrograms::measure();
    if let Some(others) = &others {
        note_busy(dir, others.used())?;
    }
    start.notes.into_iter().for_each(|text| progress.event(Event::Note { text }));
    if let Some(others) = others {
        progress.event(Event::Warning { text: others.warning() });
    }
    let noted = noted_host_speed(dir)?.is_some();
    if let Some(speed) = host_speed::of_plan(&resolved.plan, &settings.interrupted)?.filter(|_| !noted) {
        let text = speed.sentence();
        progress.event(if speed.is_doubtful() { Event::Warning { text } } else { Event::Note { text } });
        note_host_speed(dir, speed)?;
    }
    let (mut resolved, mut before) = (resolved, before);
    let ending = loop {
        let lab = RunInputs {
            registry: &registry,
            catalogues: &resolved.catalogues,
            study: &resolved.study,
            plan: &resolved.plan,
            testbed: settings.testbed.as_ref(),
            dir,
            clock: &SystemClock,
            deadline: settings.deadline,
            pace: pace(&resolved.plan),
            command: start.command.clone(),
            interrupted: &settings.interrupted,
        };
        let ending = crosstalk_lab::run(&lab, before.take(), progress.as_mut());
        if !ending.as_ref().is_ok_and(|ending| ending.status == Status::Finished) {
            break ending;
        }
        let journal = dir.reopen_journal()?;
        let Some(next) = resolved.next_stage(dir, journal.run())? else { break ending };
        (resolved, before) = (next, Some(journal));
    };
    drop(progress);
    let resume = shell::resume_line(dir, &settings.export);
    match ending {
        Ok(ending) if ending.status == Status::Interrupted => Err(Fault::interrupted().remedy(resume)),
        Ok(_) => conclude_ended_run(dir, resolved, &settings.outputs(), &settings.interrupted, out),
        // A fault of the study will occur again: resuming is no remedy.
        Err(fault) if fault.kind == FaultKind::Usage => Err(fault),
        Err(fault) => Err(Fault { remedy: fault.remedy.clone().or(Some(resume)), ..fault }),
    }
}

/// Concludes a run that has ended.
///
/// # Errors
/// Faults of the analysis; nothing was measured; nothing was compared although the study compares.
pub fn conclude_ended_run(
    dir: &RunDir,
    resolved: Resolved,
    outputs: &Outputs,
    interrupted: &AtomicBool,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let compares = resolved.study.experiment.values().any(|experiment| experiment.compare.is_some());
    let (code, findings) =
        conclude(dir, resolved, outputs, interrupted, out).map_err(|fault| match fault.kind {
            FaultKind::Interrupted => fault.remedy(format!(
                "everything is measured; analyse it with: crosstalk report {}",
                shell::dir_word(dir)
            )),
            _ => fault,
        })?;
    require_finished(dir)?;
    if compares {
        require_comparison(&findings)?;
    }
    Ok(code)
}

/// Returns a fault if no attempt has finished. There is a report, but nothing was measured.
fn require_finished(dir: &RunDir) -> Result<(), Fault> {
    let run = dir.read_run()?;
    let reason = run.attempts.iter().rev().find_map(|a| a.failure.clone());
    if run.attempts.iter().any(|a| a.status == Status::Finished) {
        return Ok(());
    }
    let why = reason.map(|r| format!("; the last: {r}")).unwrap_or_default();
    Err(Fault::attempt(format!("nothing was measured: no attempt finished{why}")))
}

/// Returns a fault if nothing was compared because a cell failed in every block.
fn require_comparison(findings: &Findings) -> Result<(), Fault> {
    let found = findings.claims.iter().any(|claim| claim.found.is_some());
    let failed = findings.cells.iter().find(|cell| cell.finished == 0 && cell.failed > 0);
    match failed.filter(|_| findings.comparisons.is_empty() && !found) {
        None => Ok(()),
        Some(cell) => Err(Fault::attempt(format!(
            "nothing was compared: no attempt at {} finished: {}",
            describe_levels(&cell.id.levels),
            cell.reasons.join("; ")
        ))),
    }
}
