//! `crosstalk run`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::record::Status;
use crosstalk_core::testbed::Testbed;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Value;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_lab::Lab;
use crosstalk_lab::clock::SystemClock;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::plan::Plan;
use crosstalk_study::samples::Run;
use crosstalk_study::{PlanOptions, setting};
use crosstalk_work::app;
use crosstalk_work::tool::command;

use crate::args::{HowArgs, RunArgs, StudyArgs, TestbedKind};
use crate::conclude::{Resolved, conclude};
use crate::out::Out;
use crate::{catalogue, parts, progress, shell, signal};

pub fn main(args: RunArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let resolved = prepare(&args.study)?;
    if let Some(file) = &args.save {
        std::fs::write(file, crosstalk_study::to_toml(&resolved.study))
            .map_err(|e| Fault::usage(format!("cannot write it: {e}")).at(file.display().to_string()))?;
    }
    if resolved.plan.cells().next().is_none() {
        let why = resolved.plan.warnings.join("; ");
        return Err(Fault::usage(format!("there is nothing to run: {why}"))
            .remedy("give the factor its levels with --set, or see crosstalk plan"));
    }
    present(&resolved.plan)?;
    // What cannot be run at all is said before a directory is made for it; and
    // who interrupts by now has nothing to go on with.
    let how = How::new(&args.how, &resolved.plan, interrupted)?;
    let dir = match &args.out {
        Some(path) => RunDir::create(path)?,
        None => RunDir::next(Path::new("runs"), &resolved.plan.study)?,
    };
    resolved.save(&dir)?;
    perform(&dir, resolved, Run::default(), &how, out)
}

/// Nodes are on this machine: a program or a file that is not here is on none of them.
fn present(plan: &Plan) -> Result<(), Fault> {
    plan.cells().flat_map(|cell| cell.scene.work.values()).try_for_each(|work| match work.kind.as_str() {
        "command" => command::present(&work.params),
        kind => app::inputs(kind, &work.params),
    })
}

/// How a run is performed and judged, checked.
pub struct How {
    kind: TestbedKind,
    testbed: Box<dyn Testbed>,
    /// The longest an attempt may take.
    deadline: Option<Duration>,
    gate: bool,
    interrupted: Arc<AtomicBool>,
}

impl How {
    /// # Errors
    /// What this host cannot do of the plan, or interrupted.
    pub fn new(args: &HowArgs, plan: &Plan, interrupted: Arc<AtomicBool>) -> Result<Self, Fault> {
        let deadline = deadline(args)?;
        let testbed = parts::testbed(args.testbed, plan, &interrupted);
        let testbed = signal::unless(&interrupted, testbed)?;
        Ok(How { kind: args.testbed, testbed, deadline, gate: args.gate, interrupted })
    }
}

/// The study that was asked for, and its plan.
pub fn prepare(args: &StudyArgs) -> Result<Resolved, Fault> {
    let catalogues = catalogue::catalogues(&args.catalogue)?;
    if args.command.is_empty() && (args.nodes.is_some() || !args.vary.is_empty()) {
        let flag = if args.nodes.is_some() { "--nodes" } else { "--vary" };
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
        looks: (!args.looks.is_empty()).then(|| args.looks.clone()),
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
            setting(text).map_err(|_| unreadable_vary(text)).map(|(factor, levels)| match levels {
                Value::List(levels) => (factor, levels),
                one => (factor, vec![one]),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    crosstalk_study::command_study(nodes, &vary, &args.command)
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
    before: Run,
    how: &How,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let registry = parts::registry();
    let mut progress = progress::watcher(out);
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
        command: shell::command_line(),
        interrupted: &how.interrupted,
    };
    let ending = crosstalk_lab::run(&lab, before, progress.as_mut());
    drop(progress);
    let resume = resume_line(dir, how.kind);
    match ending {
        Ok(ending) if ending.status == Status::Interrupted => {
            out.say(&resume);
            Err(Fault::interrupted().remedy(resume))
        }
        Ok(_) => finish(dir, resolved, how.gate, &how.interrupted, out),
        // What is wrong with the study will be so again.
        Err(fault) if fault.kind == FaultKind::Usage => Err(fault),
        Err(fault) => Err(Fault { remedy: fault.remedy.clone().or(Some(resume)), ..fault }),
    }
}

/// How this machine's pace compares with the yardstick's: measured where an
/// estimate rests on it.
pub fn pace(plan: &Plan) -> f64 {
    if plan.cells().any(|cell| cell.effort.computes()) { crosstalk_host::pace::pace() } else { 1.0 }
}

/// Concludes a run that has ended; a fault where that is nothing to conclude from.
pub fn finish(
    dir: &RunDir,
    resolved: Resolved,
    gate: bool,
    interrupted: &AtomicBool,
    out: &Out,
) -> Result<ExitCode, Fault> {
    let code = conclude(dir, resolved, gate, interrupted, out)?;
    something_finished(dir).map(|()| code)
}

/// How to go on with a run that was cut short: on the same testbed, as samples
/// of different ones must not be mixed.
pub fn resume_line(dir: &RunDir, testbed: TestbedKind) -> String {
    let testbed = match testbed {
        TestbedKind::Auto => "",
        TestbedKind::Virtual => " --testbed virtual",
        TestbedKind::Local => " --testbed local",
    };
    format!("go on with: crosstalk resume {}{testbed}", dir.path().display())
}

/// A fault where all attempts failed: there is a report, but nothing was measured.
fn something_finished(dir: &RunDir) -> Result<(), Fault> {
    let run = dir.read()?;
    let reason = run.attempts.iter().rev().find_map(|a| a.reason.clone());
    if run.attempts.iter().any(|a| a.status == Status::Finished) {
        return Ok(());
    }
    let why = reason.map(|r| format!("; the last: {r}")).unwrap_or_default();
    Err(Fault::attempt(format!("nothing was measured: no attempt finished{why}")))
}

/// The longest an attempt may take, where the user said so.
fn deadline(how: &HowArgs) -> Result<Option<Duration>, Fault> {
    let Some(text) = &how.deadline else { return Ok(None) };
    let seconds: Seconds = text.parse().map_err(|f: Fault| f.at("--deadline"))?;
    match Duration::try_from_secs_f64(seconds.0) {
        Ok(deadline) if !deadline.is_zero() => Ok(Some(deadline)),
        _ => Err(Fault::usage("expected a time above zero").at("--deadline")),
    }
}
