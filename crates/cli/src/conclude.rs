//! A resolved study, kept with its run; and the end of a run: findings,
//! reports, the deciding sentence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::value::Value;
use crosstalk_lab::digests::{Digests, check_unchanged, digests_of};
use crosstalk_lab::rundir::{OPTIONS, RunDir};
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use crosstalk_study::plan::{Plan, PlanOptions};
use crosstalk_study::row::Row;
use crosstalk_study::samples::Run;
use crosstalk_study::{PreparedStudy, earlier_results};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::{ExportArgs, TestbedKind};
use crate::out::Out;
use crate::{catalogue, parts, shell, signal};

/// How a run was asked for, beside its study: `options.json`.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Whether the study's `quick` section cuts it down.
    quick: bool,
    /// What the run measures is written in these; absent in the earliest runs.
    #[serde(default)]
    seal: Digests,
    /// The testbed it is run on, by its name; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    testbed: Option<String>,
    /// What other programs took of this machine when it began or went on, where that was much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    busy: Option<String>,
    /// Levels that factors took from earlier results, by experiment and factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    taken: BTreeMap<String, Value>,
    /// Which run the journal is of, which the lab notes; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The revisions of this program that measured, in order; absent where its build did not name one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revisions: Vec<String>,
}

/// The revision that this program was built from, where its build named one (`make run` does).
const REVISION: Option<&str> = option_env!("CROSSTALK_REVISION");

/// A study with everything it refers to, and its plan.
pub struct Resolved {
    pub study: Study,
    pub catalogues: Catalogues,
    pub plan: Plan,
    /// The plan with stand-ins for what waits for an earlier result.
    pub whole: Plan,
}

impl Resolved {
    pub fn new(study: Study, catalogues: Catalogues, options: PlanOptions) -> Result<Self, Fault> {
        let PreparedStudy { study, plan, full_plan: whole } =
            crosstalk_study::prepare(&study, &catalogues, &parts::registry(), &options)?;
        Ok(Resolved { study, catalogues, plan, whole })
    }

    /// Keeps it in the run's directory, so that the run can be gone on with and
    /// analysed years later, whatever has become of the catalogues.
    pub fn save(&self, dir: &RunDir, testbed: &str) -> Result<(), Fault> {
        dir.write("study.toml", &crosstalk_study::to_toml(&self.study))?;
        let mut names = vec!["study.toml".to_string()];
        for (name, text) in self.catalogues.used_by(&self.whole) {
            let name = format!("catalogue/{name}");
            dir.write(&name, &text)?;
            names.push(name);
        }
        let seal = digests_of(dir, names.iter().map(String::as_str))?;
        let kept = Kept {
            quick: self.plan.reduced,
            seal,
            testbed: Some(testbed.into()),
            busy: None,
            taken: BTreeMap::new(),
            run: None,
            revisions: REVISION.map(String::from).into_iter().collect(),
        };
        dir.write(OPTIONS, &json!(kept).to_string())
    }

    /// Reads it back to go on measuring: refuses a study that was changed since.
    pub fn load_unchanged(dir: &RunDir) -> Result<Self, Fault> {
        check_unchanged(dir, &kept(dir)?.seal)?;
        Self::load(dir)
    }

    /// The same with the cells of the experiments that waited for this run's results, which are noted in its
    /// directory; `None` where none did.
    pub fn next_stage(&self, dir: &RunDir, run: &Run) -> Result<Option<Self>, Fault> {
        let mut kept = kept(dir)?;
        let known = kept.taken.len();
        for (factor, level) in earlier_results(&self.study, &self.plan, run) {
            kept.taken.entry(factor).or_insert(level);
        }
        if kept.taken.len() == known {
            return Ok(None);
        }
        dir.write(OPTIONS, &json!(kept).to_string())?;
        Self::load(dir).map(Some)
    }

    /// Reads it back.
    pub fn load(dir: &RunDir) -> Result<Self, Fault> {
        let own: PathBuf = dir.path().join("catalogue");
        let dirs: Vec<_> = own.is_dir().then_some(own).into_iter().collect();
        let place = dir.path().join("study.toml").display().to_string();
        let study = crosstalk_study::parse(&dir.text("study.toml")?, &place)?;
        let kept = kept(dir)?;
        let options = PlanOptions {
            quick: kept.quick,
            discovered: parts::discovered(),
            from_results: kept.taken,
            ..PlanOptions::default()
        };
        Self::new(study, catalogue::catalogues(&dirs)?, options)
    }
}

/// The testbed that a run was begun on; `None` in runs that did not note it yet.
///
/// # Errors
/// A usage fault where it is none that there is.
pub fn testbed(dir: &RunDir) -> Result<Option<TestbedKind>, Fault> {
    let Some(name) = kept(dir)?.testbed else { return Ok(None) };
    match TestbedKind::from_str(&name, false) {
        Ok(kind) if kind != TestbedKind::Auto => Ok(Some(kind)),
        _ => Err(unknown("testbed", &name, ["virtual", "local"]).at(dir
            .path()
            .join(OPTIONS)
            .display()
            .to_string())),
    }
}

/// Notes the testbed of a run that did not yet.
pub fn note_testbed(dir: &RunDir, testbed: &str) -> Result<(), Fault> {
    let kept = Kept { testbed: Some(testbed.into()), ..kept(dir)? };
    dir.write(OPTIONS, &json!(kept).to_string())
}

/// Notes that this revision goes on with a run, where another one began it.
pub fn note_revision(dir: &RunDir) -> Result<(), Fault> {
    let mut kept = kept(dir)?;
    match REVISION {
        Some(revision) if kept.revisions.last().is_none_or(|last| last != revision) => {
            kept.revisions.push(revision.into());
            dir.write(OPTIONS, &json!(kept).to_string())
        }
        _ => Ok(()),
    }
}

/// The revisions of this program that measured a run, in order.
pub fn revisions(dir: &RunDir) -> Result<Vec<String>, Fault> {
    Ok(kept(dir)?.revisions)
}

/// Notes what other programs take of this machine: the report says it beside the verdict.
pub fn note_busy(dir: &RunDir, busy: String) -> Result<(), Fault> {
    let kept = Kept { busy: Some(busy), ..kept(dir)? };
    dir.write(OPTIONS, &json!(kept).to_string())
}

fn kept(dir: &RunDir) -> Result<Kept, Fault> {
    dir.json(OPTIONS)
}

/// What a run or an analysis gives beside its report.
pub struct Outputs<'a> {
    /// An exit code that says how it ended.
    pub gate: bool,
    /// The deciding sentence alone.
    pub quiet: bool,
    /// Files for other programs.
    pub export: &'a ExportArgs,
}

/// Analyses what was measured, writes the reports, says the deciding sentence.
///
/// # Errors
/// Beside those of files: interrupted, with nothing written.
pub fn conclude(
    dir: &RunDir,
    resolved: Resolved,
    outputs: &Outputs,
    interrupted: &AtomicBool,
    out: &Out,
) -> Result<(ExitCode, Findings), Fault> {
    let theirs = RunDir::open(dir.path())?;
    let done = signal::unless_during(interrupted, move || Pages::of(&theirs, &resolved))?;
    let findings = done.findings;
    dir.write("findings.json", &done.json)?;
    dir.write("report.html", &done.html)?;
    dir.write("report.md", &done.markdown)?;
    outputs.export.write(&done.rows)?;
    let page = dir.path().join("report.html");
    if outputs.quiet {
        out.say(&findings.headline.text);
    } else {
        out.paint(&crosstalk_report::terminal(&findings, out.width(), out.colour()));
        out.say("");
    }
    out.say(&format!("report: {}", page.display()));
    let resume = (!done.finished).then(|| shell::resume_line(dir, outputs.export));
    if let Some(resume) = &resume {
        out.say(&format!("this run was cut short; {resume}"));
    }
    out.tell(&json!({
        "result": "findings",
        "dir": dir.path(),
        "report": page,
        "resume": resume,
        "findings": findings,
    }));
    let code = if outputs.gate { verdict(&findings) } else { ExitCode::SUCCESS };
    Ok((code, findings))
}

/// What a run found, and as it is written down.
struct Pages {
    findings: Findings,
    json: String,
    html: String,
    markdown: String,
    rows: Vec<Row>,
    finished: bool,
}

impl Pages {
    fn of(dir: &RunDir, resolved: &Resolved) -> Result<Self, Fault> {
        let run = Run { busy: kept(dir)?.busy, ..dir.read()? };
        let findings = crosstalk_study::analyse(&resolved.study, &resolved.catalogues, &resolved.plan, &run);
        let json = serde_json::to_string_pretty(&findings)
            .map_err(|e| Fault::environment(format!("cannot write findings: {e}")))?;
        let (html, markdown) = (crosstalk_report::html(&findings), crosstalk_report::markdown(&findings));
        let rows = crosstalk_study::row::rows(&resolved.study, &resolved.plan, &run);
        Ok(Pages { findings, json, html, markdown, rows, finished: run.finished })
    }
}

/// The exit code under `--gate`.
fn verdict(findings: &Findings) -> ExitCode {
    let failed = findings.claims.iter().any(|c| c.verdict == ClaimVerdict::NotReproduced)
        || findings.comparisons.iter().any(|c| c.verdict == ComparisonVerdict::Worse);
    let open = findings.claims.iter().any(|c| c.verdict == ClaimVerdict::Inconclusive)
        || findings.comparisons.iter().any(|c| c.verdict == ComparisonVerdict::Inconclusive)
        || !findings.headline.decided;
    match (failed, open) {
        (true, _) => ExitCode::from(1),
        (false, true) => ExitCode::from(3),
        (false, false) => ExitCode::SUCCESS,
    }
}
