//! The end of a run: findings, reports, and the deciding sentence.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use crosstalk_study::row::Row;
use crosstalk_study::samples::Run;
use serde_json::json;

use crate::args::ExportArgs;
use crate::out::Out;
use crate::resolved::{Resolved, noted_busy, noted_host_speed};
use crate::{shell, signal};

/// What a run or an analysis outputs besides its report.
pub struct Outputs<'a> {
    /// Whether the exit code depends on the verdict.
    pub gate: bool,
    /// Whether to print only the deciding sentence.
    pub quiet: bool,
    /// Files for other programs.
    pub export: &'a ExportArgs,
}

/// Analyses a run, writes its reports, and prints the deciding sentence.
///
/// # Errors
/// Faults of files; interrupted, with nothing written.
pub fn conclude(
    dir: &RunDir,
    resolved: Resolved,
    outputs: &Outputs,
    interrupted: &AtomicBool,
    out: &Out,
) -> Result<(ExitCode, Findings), Fault> {
    let same = RunDir::open(dir.path())?;
    let reports = signal::unless_interrupted_during(interrupted, move || Reports::of(&same, &resolved))?;
    let findings = reports.findings;
    dir.write("findings.json", &reports.json)?;
    dir.write("report.html", &reports.html)?;
    dir.write("report.md", &reports.markdown)?;
    outputs.export.write(&reports.rows)?;
    let page = dir.path().join("report.html");
    if outputs.quiet {
        out.say(&findings.headline.text);
    } else {
        out.print_raw(&crosstalk_report::terminal(&findings, out.width(), out.colour()));
        out.say("");
    }
    out.say(&format!("report: {}", page.display()));
    let resume = (!reports.finished).then(|| shell::resume_line(dir, outputs.export));
    if let Some(resume) = &resume {
        out.say(&format!("this run was interrupted; {resume}"));
    }
    out.record(&json!({
        "result": "findings",
        "dir": dir.path(),
        "report": page,
        "resume": resume,
        "findings": findings,
    }));
    let code = if outputs.gate { verdict(&findings) } else { ExitCode::SUCCESS };
    Ok((code, findings))
}

/// The findings of a run, in each format.
struct Reports {
    findings: Findings,
    json: String,
    html: String,
    markdown: String,
    rows: Vec<Row>,
    finished: bool,
}

/// A run as it was recorded, and its findings.
fn analysed(dir: &RunDir, resolved: &Resolved) -> Result<(Run, Findings), Fault> {
    let run = Run { busy: noted_busy(dir)?, host_speed: noted_host_speed(dir)?, ..dir.read_run()? };
    let findings = crosstalk_study::analyse(&resolved.study, &resolved.catalogues, &resolved.plan, &run);
    Ok((run, findings))
}

/// The findings of a run; writes nothing.
///
/// # Errors
/// Faults of its files.
pub fn findings_of(dir: &RunDir, resolved: &Resolved) -> Result<Findings, Fault> {
    Ok(analysed(dir, resolved)?.1)
}

impl Reports {
    fn of(dir: &RunDir, resolved: &Resolved) -> Result<Self, Fault> {
        let (run, findings) = analysed(dir, resolved)?;
        let json = serde_json::to_string_pretty(&findings)
            .map_err(|e| Fault::environment(format!("cannot write findings: {e}")))?;
        let (html, markdown) = (crosstalk_report::html(&findings), crosstalk_report::markdown(&findings));
        let rows = crosstalk_study::row::rows(&resolved.study, &resolved.plan, &run);
        Ok(Reports { findings, json, html, markdown, rows, finished: run.finished })
    }
}

/// The exit code under `--gate`.
fn verdict(findings: &Findings) -> ExitCode {
    let failed = findings.claims.iter().any(|c| c.verdict == ClaimVerdict::NotReproduced)
        || findings.comparisons.iter().any(|c| c.verdict == ComparisonVerdict::Worse);
    let open = findings
        .claims
        .iter()
        .any(|c| matches!(c.verdict, ClaimVerdict::Inconclusive | ClaimVerdict::DependsOn))
        || findings
            .comparisons
            .iter()
            .any(|c| matches!(c.verdict, ComparisonVerdict::Inconclusive | ComparisonVerdict::DependsOn))
        || !findings.headline.decided;
    match (failed, open) {
        (true, _) => ExitCode::from(1),
        (false, true) => ExitCode::from(3),
        (false, false) => ExitCode::SUCCESS,
    }
}
