//! A resolved study, kept with its run; and the end of a run: findings,
//! reports, the deciding sentence.

use std::path::PathBuf;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use crosstalk_study::plan::{Plan, PlanOptions};
use serde_json::json;

use crate::out::Out;
use crate::{catalogue, parts};

/// A study with everything it refers to, and its plan.
pub struct Resolved {
    pub study: Study,
    pub catalogues: Catalogues,
    pub plan: Plan,
}

impl Resolved {
    pub fn new(study: Study, catalogues: Catalogues, options: PlanOptions) -> Result<Self, Fault> {
        let plan = crosstalk_study::plan(&study, &catalogues, &parts::registry(), &options)?;
        let study = crosstalk_study::resolve(&study, &options)?;
        Ok(Resolved { study, catalogues, plan })
    }

    /// Keeps it in the run's directory, so that the run can be gone on with and
    /// analysed years later, whatever has become of the catalogues.
    pub fn save(&self, dir: &RunDir) -> Result<(), Fault> {
        dir.write("study.toml", &crosstalk_study::to_toml(&self.study))?;
        dir.write("options.json", &json!({ "quick": self.plan.quick }).to_string())?;
        for (name, text) in self.catalogues.used_by(&self.plan) {
            dir.write(&format!("catalogue/{name}"), &text)?;
        }
        Ok(())
    }

    /// Reads it back.
    pub fn load(dir: &RunDir) -> Result<Self, Fault> {
        let kept: PathBuf = dir.path().join("catalogue");
        let dirs: Vec<_> = kept.is_dir().then_some(kept).into_iter().collect();
        let place = dir.path().join("study.toml").display().to_string();
        let study = crosstalk_study::parse(&dir.text("study.toml")?, &place)?;
        let kept: serde_json::Value = serde_json::from_str(&dir.text("options.json")?).map_err(|e| {
            Fault::usage(format!("not a run's options: {e}")).at(dir
                .path()
                .join("options.json")
                .display()
                .to_string())
        })?;
        let options = PlanOptions {
            quick: kept["quick"].as_bool().unwrap_or(false),
            discovered: parts::discovered(),
            ..PlanOptions::default()
        };
        Self::new(study, catalogue::catalogues(&dirs)?, options)
    }
}

/// Analyses what was measured, writes the reports, says the deciding sentence.
pub fn conclude(dir: &RunDir, resolved: &Resolved, gate: bool, out: &Out) -> Result<ExitCode, Fault> {
    let run = dir.read()?;
    let findings = crosstalk_study::analyse(&resolved.study, &resolved.catalogues, &resolved.plan, &run);
    let json = serde_json::to_string_pretty(&findings)
        .map_err(|e| Fault::environment(format!("cannot write findings: {e}")))?;
    dir.write("findings.json", &json)?;
    dir.write("report.html", &crosstalk_report::html(&findings))?;
    dir.write("report.md", &crosstalk_report::markdown(&findings))?;
    let page = dir.path().join("report.html");
    out.say(&crosstalk_report::terminal(&findings, out.width(), out.colour()));
    out.say(&format!("\nreport: {}", page.display()));
    out.tell(&json!({
        "result": "findings",
        "dir": dir.path(),
        "report": page,
        "findings": findings,
    }));
    Ok(if gate { verdict(&findings) } else { ExitCode::SUCCESS })
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
