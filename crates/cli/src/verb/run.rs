//! `crosstalk run`.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::record::Status;
use crosstalk_core::testbed::Testbed;
use crosstalk_core::units::{Seconds, human};
use crosstalk_core::value::{Value, describe};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::regular;
use crosstalk_lab::Lab;
use crosstalk_lab::clock::SystemClock;
use crosstalk_lab::journal::Journal;
use crosstalk_lab::progress::Event;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::findings::Findings;
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, counted, setting};
use crosstalk_tools::command;

use crate::args::{ExportArgs, HowArgs, RunArgs, StudyArgs};
use crate::conclude::{Outputs, Resolved, conclude, note_busy};
use crate::exports::unwritable;
use crate::out::{Out, wait_at_the_end};
use crate::{catalogue, parts, progress, shell, signal};

pub fn main(args: RunArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    wait_at_the_end(&interrupted)?;
    args.how.export.check()?;
    let study = args.study.clone();
    let resolved = signal::unless_during(&interrupted, move || prepare(&study))?;
    if resolved.plan.cells().next().is_none() {
        let why = resolved.plan.warnings.join("; ");
        return Err(Fault::usage(format!("there is nothing to run: {why}"))
            .remedy("give the factor its levels with --set, or see crosstalk plan"));
    }
    let remarks = present(&resolved.whole)?;
    // What cannot be run at all is said before a directory is made for it; and
    // who interrupts by now has nothing to go on with.
    let how = How::new(&args.how, &resolved.whole, interrupted)?;
    args.save.as_deref().map_or(Ok(()), |file| may_save(file, args.force))?;
    let dir = match &args.out {
        Some(path) => RunDir::create(path)?,
        None => RunDir::next(Path::new("runs"), &resolved.plan.study)?,
    };
    if let Some(file) = &args.save {
        save(file, &resolved, args.force)?;
    }
    // Half of it is no run: neither `run` nor `resume` would take it.
    resolved.save(&dir, how.testbed()).inspect_err(|_| dir.discard())?;
    let notes = args.study.runs.map(|_| resolved.plan.decides()).into_iter().chain(remarks).collect();
    let command = shell::repeat(&args, &dir, resolved.plan.reduced);
    perform(&dir, resolved, None, Begin { command, notes, how: &how }, out)
}

fn is_there(file: &Path) -> Fault {
    Fault::usage(format!("{} is there already", file.display()))
        .at("--save")
        .remedy("name another file, or overwrite this one with --force")
}

/// Refuses what could not be saved, before a directory is made for the run.
fn may_save(file: &Path, force: bool) -> Result<(), Fault> {
    match file.parent() {
        _ if file.exists() && !force => Err(is_there(file)),
        _ if file.exists() => regular::may_write(file).map_err(|e| unwritable("--save", file, &e)),
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(Fault::usage(format!("{}: there is no such directory", file.display())).at("--save"))
        }
        _ => Ok(()),
    }
}

/// Writes the study to a file of the user's; over one that is there only where that is asked for.
fn save(file: &Path, resolved: &Resolved, force: bool) -> Result<(), Fault> {
    let mut options = OpenOptions::new();
    options.create_new(!force).create(force).truncate(force);
    let text = crosstalk_study::to_toml(&resolved.study);
    let written =
        regular::open_to_write(&mut options, file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => is_there(file),
        _ => unwritable("--save", file, &e),
    })
}

/// Nodes are on this machine: a program or a file that is not here is on none of them. What to know of those that
/// are.
fn present(plan: &Plan) -> Result<BTreeSet<String>, Fault> {
    let work = plan.runnable().flat_map(|cell| cell.scene.work.values());
    let remarks = work.map(|work| match work.kind.as_str() {
        "command" => command::present(&work.params).map(|()| None),
        kind => crosstalk_apps::inputs(kind, &work.params),
    });
    remarks.filter_map(Result::transpose).collect()
}

/// How a run is performed and judged, checked.
pub struct How {
    testbed: Box<dyn Testbed>,
    /// The longest an attempt may take.
    deadline: Option<Duration>,
    gate: bool,
    quiet: bool,
    export: ExportArgs,
    interrupted: Arc<AtomicBool>,
}

/// How a run, or the rest of one, begins.
pub struct Begin<'a> {
    /// The command line that repeats it.
    pub command: String,
    /// What the user is told first.
    pub notes: Vec<String>,
    pub how: &'a How,
}

impl How {
    /// What the run gives beside its report.
    pub fn outputs(&self) -> Outputs<'_> {
        Outputs { gate: self.gate, quiet: self.quiet, export: &self.export }
    }

    /// # Errors
    /// What this host cannot do of the plan, or interrupted.
    pub fn new(args: &HowArgs, plan: &Plan, interrupted: Arc<AtomicBool>) -> Result<Self, Fault> {
        let deadline = deadline(args)?;
        crosstalk_host::ledger::temporary_root()?;
        let testbed = parts::testbed(args.testbed, plan, &interrupted);
        let testbed = signal::unless(&interrupted, testbed)?;
        Ok(How {
            testbed,
            deadline,
            gate: args.gate,
            quiet: args.quiet,
            export: args.export.clone(),
            interrupted,
        })
    }

    /// The name of the testbed.
    pub fn testbed(&self) -> &'static str {
        self.testbed.name()
    }
}

/// The study that was asked for, and its plan.
pub fn prepare(args: &StudyArgs) -> Result<Resolved, Fault> {
    let catalogues = catalogue::catalogues(&args.catalogue)?;
    let flags = [
        ("--nodes", args.nodes.is_some()),
        ("--vary", !args.vary.is_empty()),
        ("--margin", args.margin.is_some()),
    ];
    if let Some((flag, _)) = flags.into_iter().find(|(_, given)| *given && args.command.is_empty()) {
        return Err(Fault::usage("this is for a program of your own, and none is given")
            .at(flag)
            .remedy("write the program after `--`, or change a study's levels with --set"));
    }
    let study = match (&args.study, args.command.is_empty()) {
        (Some(name), true) => catalogue::study(name)?,
        (None, false) => command_study(args)?,
        (Some(_), false) => {
            return Err(Fault::usage("a study and a program of your own cannot be run at once")
                .remedy("leave out the study's name, or what stands behind `--`"));
        }
        (None, true) => {
            return Err(Fault::usage("nothing to run")
                .remedy("crosstalk run kosmos --quick, or crosstalk run --nodes 2 -- ./my-job"));
        }
    };
    let options = PlanOptions {
        quick: args.quick,
        set: args.set.iter().map(|s| setting(s)).collect::<Result<_, _>>()?,
        seed: args.seed,
        engine: args.engine.clone(),
        scale: args.scale,
        looks: args.runs.map(|n| vec![n]).or_else(|| (!args.looks.is_empty()).then(|| args.looks.clone())),
        warmup: args.warmup,
        prepare: args.prepare.clone(),
        discovered: parts::discovered(),
        ..PlanOptions::default()
    };
    Resolved::new(study, catalogues, options)
}

fn command_study(args: &StudyArgs) -> Result<crosstalk_study::file::Study, Fault> {
    let nodes = args.nodes.unwrap_or(1);
    if nodes == 0 {
        return Err(Fault::usage("expected at least 1 node, found 0").at("--nodes"));
    }
    let vary = args
        .vary
        .iter()
        .map(|text| {
            setting(text)
                .map_err(|_| unreadable_vary(text))
                .map(|(factor, levels)| match levels {
                    Value::List(levels) => (factor, levels),
                    one => (factor, vec![one]),
                })
                .map(|(factor, levels)| {
                    typed(text).map_or((factor.clone(), levels), |levels| (factor, levels))
                })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let study = crosstalk_study::command_study(nodes, &vary, &args.command)?;
    match &args.margin {
        Some(margin) => {
            crosstalk_study::command::with_margin(study, margin).map_err(|fault| fault.at("--margin"))
        }
        None => Ok(study),
    }
}

/// The levels of an environment variable as they were typed, where numbers would not say the same: `3.10`, `007`.
fn typed(text: &str) -> Option<Vec<Value>> {
    let (factor, levels) = text.split_once('=')?;
    let levels = levels.trim();
    if !factor.trim().starts_with("env.") || levels.starts_with(['[', '"', '\'']) {
        return None;
    }
    let words: Vec<&str> = levels.split(',').map(str::trim).collect();
    let same = words.iter().all(|word| Value::from_word(word).to_string() == *word);
    (!same).then(|| words.into_iter().map(Value::from).collect())
}

fn unreadable_vary(text: &str) -> Fault {
    Fault::usage(format!("expected FACTOR=A,B, found `{text}`"))
        .at("--vary")
        .remedy("write for example --vary fabric=ethernet-1g,ethernet-10g")
}

/// Runs what is left of a plan in `dir`, and concludes.
pub fn perform(
    dir: &RunDir,
    resolved: Resolved,
    before: Option<Journal>,
    begin: Begin,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let how = begin.how;
    let registry = parts::registry();
    let mut progress = progress::watcher(out, how.quiet);
    let load = others();
    if let Some(load) = &load {
        note_busy(dir, load.used())?;
    }
    begin.notes.into_iter().for_each(|text| progress.event(Event::Note { text }));
    if let Some(load) = load {
        progress.event(Event::Warning { text: load.warning() });
    }
    let (mut resolved, mut before) = (resolved, before);
    let ending = loop {
        let lab = Lab {
            registry: &registry,
            catalogues: &resolved.catalogues,
            study: &resolved.study,
            plan: &resolved.plan,
            testbed: how.testbed.as_ref(),
            dir,
            clock: &SystemClock,
            deadline: how.deadline,
            pace: pace(&resolved.plan),
            command: begin.command.clone(),
            interrupted: &how.interrupted,
        };
        let ending = crosstalk_lab::run(&lab, before.take(), progress.as_mut());
        if !ending.as_ref().is_ok_and(|ending| ending.status == Status::Finished) {
            break ending;
        }
        let journal = dir.reopen()?;
        let Some(next) = resolved.next_stage(dir, journal.run())? else { break ending };
        (resolved, before) = (next, Some(journal));
    };
    drop(progress);
    let resume = shell::resume_line(dir, &how.export);
    match ending {
        Ok(ending) if ending.status == Status::Interrupted => Err(Fault::interrupted().remedy(resume)),
        Ok(_) => finish(dir, resolved, &how.outputs(), &how.interrupted, out),
        // What is wrong with the study will be so again.
        Err(fault) if fault.kind == FaultKind::Usage => Err(fault),
        Err(fault) => Err(Fault { remedy: fault.remedy.clone().or(Some(resume)), ..fault }),
    }
}

/// Over how long it is looked whether others compute.
const GLANCE: Duration = Duration::from_millis(100);

/// What others take of this machine: `60 % of its 2 processors`.
struct Others(String);

impl Others {
    /// As the report says it later.
    fn used(&self) -> String {
        format!("other programs used {}", self.0)
    }

    /// What it means, and what to do.
    fn warning(&self) -> String {
        format!(
            "this machine is busy: other programs use {}, so runs take longer and vary more (find them with `top`, and \
             stop them or wait)",
            self.0
        )
    }
}

/// That others compute on this machine; nothing where it is idle enough.
fn others() -> Option<Others> {
    let busy =
        crosstalk_host::load::busy(GLANCE).filter(|busy| busy.share() > crosstalk_host::load::TOO_BUSY)?;
    let (share, processors) = (human(busy.share(), "%"), counted(busy.processors, "processor"));
    Some(Others(format!("{share} of its {processors}")))
}

/// That others compute on this machine, and what to do; nothing where it is idle enough.
pub fn busy() -> Option<String> {
    others().map(|others| others.warning())
}

/// How this machine's pace compares with the yardstick's: measured where an
/// estimate rests on it.
pub fn pace(plan: &Plan) -> f64 {
    if plan.runnable().any(|cell| cell.effort.computes()) { crosstalk_host::pace::pace() } else { 1.0 }
}

/// Concludes a run that has ended; a fault where that is nothing to conclude from.
pub fn finish(
    dir: &RunDir,
    resolved: Resolved,
    outputs: &Outputs,
    interrupted: &AtomicBool,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let compares = resolved.study.experiment.values().any(|experiment| experiment.compare.is_some());
    let (code, findings) = conclude(dir, resolved, outputs, interrupted, out).map_err(|fault| match fault
        .kind
    {
        FaultKind::Interrupted => fault
            .remedy(format!("all is measured; analyse it with: crosstalk report {}", shell::of_path(dir))),
        _ => fault,
    })?;
    something_finished(dir)?;
    if compares {
        something_compared(&findings)?
    }
    Ok(code)
}

/// A fault where cells failed in every block, and for want of them nothing could be compared.
fn something_compared(findings: &Findings) -> Result<(), Fault> {
    let found = findings.claims.iter().any(|claim| claim.found.is_some());
    let failed = findings.cells.iter().find(|cell| cell.finished == 0 && cell.failed > 0);
    match failed.filter(|_| findings.comparisons.is_empty() && !found) {
        None => Ok(()),
        Some(cell) => Err(Fault::attempt(format!(
            "nothing was compared: no attempt at {} finished: {}",
            describe(&cell.id.levels),
            cell.reasons.join("; ")
        ))),
    }
}

/// A fault where all attempts failed: there is a report, but nothing was measured.
fn something_finished(dir: &RunDir) -> Result<(), Fault> {
    let run = dir.read()?;
    let reason = run.attempts.iter().rev().find_map(|a| a.failure.clone());
    if run.attempts.iter().any(|a| a.status == Status::Finished) {
        return Ok(());
    }
    let why = reason.map(|r| format!("; the last: {r}")).unwrap_or_default();
    Err(Fault::attempt(format!("nothing was measured: no attempt finished{why}")))
}

/// The longest deadline of an attempt.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The longest an attempt may take, where the user said so.
fn deadline(how: &HowArgs) -> Result<Option<Duration>, Fault> {
    let Some(text) = &how.deadline else { return Ok(None) };
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
