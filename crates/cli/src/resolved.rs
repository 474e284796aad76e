//! A study with everything it refers to, and what a run's directory keeps of it: `study.toml`, `catalogue/` and
//! `options.json`.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use clap::ValueEnum;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::value::Value;
use crosstalk_lab::digests::{Digests, check_unchanged, digests_of};
use crosstalk_lab::rundir::{OPTIONS_FILE, RunDir};
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::host_speed::HostSpeed;
use crosstalk_study::plan::{Plan, PlanOptions};
use crosstalk_study::samples::Run;
use crosstalk_study::{PreparedStudy, earlier_results};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::TestbedKind;
use crate::{catalogue, parts, shell};

/// `options.json`: how a run was started, and what is noted of it later.
#[derive(Serialize, Deserialize)]
struct RunOptions {
    /// Whether the study's section `quick` was applied.
    quick: bool,
    /// Hashes of the files that define what is measured; absent in the earliest runs.
    #[serde(default)]
    seal: Digests,
    /// Name of the testbed; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    testbed: Option<String>,
    /// What other programs used of this machine when the run began or was resumed, if it was much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    busy: Option<String>,
    /// How fast this machine is, if it emulates; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host_speed: Option<HostSpeed>,
    /// Levels that factors took from results of this run, by experiment and factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    taken: BTreeMap<String, Value>,
    /// Identity of the run that the journal belongs to, noted by the lab; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The folder in which the run began, where its programs and files are looked for; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    /// Revisions of this program that measured, in order; absent if its build named none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revisions: Vec<String>,
    /// The command line that began the run, without outputs; absent in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// The revision that this program was built from, if its build named one (`make run` does).
const REVISION: Option<&str> = option_env!("CROSSTALK_REVISION");

/// A study with everything it refers to, and its plan.
pub struct Resolved {
    pub study: Study,
    pub catalogues: Catalogues,
    pub plan: Plan,
    /// The plan with placeholders for the cells that wait for an earlier result.
    pub whole: Plan,
}

impl Resolved {
    /// Resolves a study with what it refers to, and plans it.
    pub fn new(study: Study, catalogues: Catalogues, options: PlanOptions) -> Result<Self, Fault> {
        let PreparedStudy { study, plan, full_plan: whole } =
            crosstalk_study::prepare(&study, &catalogues, &parts::registry(), &options)?;
        Ok(Resolved { study, catalogues, plan, whole })
    }

    /// Writes it into the run's directory. The run can then be resumed and analysed years later, even if the
    /// catalogues have changed.
    pub fn save(&self, dir: &RunDir, testbed: &str) -> Result<(), Fault> {
        dir.write("study.toml", &crosstalk_study::to_toml(&self.study))?;
        let mut names = vec!["study.toml".to_string()];
        for (name, text) in self.catalogues.files_used_by(&self.whole) {
            let name = format!("catalogue/{name}");
            dir.write(&name, &text)?;
            names.push(name);
        }
        let seal = digests_of(dir, names.iter().map(String::as_str))?;
        let options = RunOptions {
            quick: self.plan.reduced,
            seal,
            testbed: Some(testbed.into()),
            busy: None,
            host_speed: None,
            taken: BTreeMap::new(),
            run: None,
            folder: env::current_dir().ok().filter(|folder| folder.to_str().is_some()),
            revisions: REVISION.map(String::from).into_iter().collect(),
            command: Some(shell::this_command_line()),
        };
        write(dir, &options)
    }

    /// Reads it back to resume the run. Refuses a study that has changed since.
    pub fn load_unchanged(dir: &RunDir) -> Result<Self, Fault> {
        check_unchanged(dir, &read(dir)?.seal)?;
        Self::load(dir)
    }

    /// The study with the cells that waited for this run's results. Notes these results in its directory. `None` if
    /// no cells waited.
    pub fn next_stage(&self, dir: &RunDir, run: &Run) -> Result<Option<Self>, Fault> {
        let mut options = read(dir)?;
        let known = options.taken.len();
        for (factor, level) in earlier_results(&self.study, &self.plan, run) {
            options.taken.entry(factor).or_insert(level);
        }
        if options.taken.len() == known {
            return Ok(None);
        }
        write(dir, &options)?;
        Self::load(dir).map(Some)
    }

    /// Reads the study back from the run's directory.
    pub fn load(dir: &RunDir) -> Result<Self, Fault> {
        let own: PathBuf = dir.path().join("catalogue");
        let dirs: Vec<_> = own.is_dir().then_some(own).into_iter().collect();
        let place = dir.path().join("study.toml").display().to_string();
        let study = crosstalk_study::parse_recorded(&dir.read_text("study.toml")?, &place)?;
        let options = read(dir)?;
        let options = PlanOptions {
            quick: options.quick,
            discovered: parts::discovered_levels(),
            from_results: options.taken,
            ..PlanOptions::default()
        };
        Self::new(study, catalogue::recorded(&dirs)?, options)
    }
}

/// The folder in which a run began, if it is another than the current one. A study's programs and files are looked
/// for from there. `None` in early runs, which did not note it.
pub fn first_folder(dir: &RunDir) -> Result<Option<PathBuf>, Fault> {
    let current = env::current_dir().ok();
    Ok(read(dir)?.folder.filter(|folder| current.as_ref() != Some(folder)))
}

/// The testbed that a run was started on; `None` in early runs, which did not note it.
///
/// # Errors
/// A usage fault if there is no such testbed.
pub fn testbed(dir: &RunDir) -> Result<Option<TestbedKind>, Fault> {
    let Some(name) = read(dir)?.testbed else { return Ok(None) };
    match TestbedKind::from_str(&name, false) {
        Ok(kind) if kind != TestbedKind::Auto => Ok(Some(kind)),
        _ => {
            let names: Vec<&str> = parts::testbeds().iter().map(|testbed| testbed.name()).collect();
            Err(unknown("testbed", &name, names).at(dir.path().join(OPTIONS_FILE).display().to_string()))
        }
    }
}

/// Notes the testbed of an early run.
pub fn note_testbed(dir: &RunDir, testbed: &str) -> Result<(), Fault> {
    write(dir, &RunOptions { testbed: Some(testbed.into()), ..read(dir)? })
}

/// Notes this program's revision, if another one measured last.
pub fn note_revision(dir: &RunDir) -> Result<(), Fault> {
    let mut options = read(dir)?;
    match REVISION {
        Some(revision) if options.revisions.last().is_none_or(|last| last != revision) => {
            options.revisions.push(revision.into());
            write(dir, &options)
        }
        _ => Ok(()),
    }
}

/// The revisions of this program that measured a run, in order.
pub fn revisions(dir: &RunDir) -> Result<Vec<String>, Fault> {
    Ok(read(dir)?.revisions)
}

/// The command line that began the run, without outputs; `None` in early runs.
pub fn first_command(dir: &RunDir) -> Result<Option<String>, Fault> {
    Ok(read(dir)?.command)
}

/// What other programs used of this machine, if it was much.
pub fn noted_busy(dir: &RunDir) -> Result<Option<String>, Fault> {
    Ok(read(dir)?.busy)
}

/// Notes what other programs use of this machine, for the report.
pub fn note_busy(dir: &RunDir, busy: String) -> Result<(), Fault> {
    write(dir, &RunOptions { busy: Some(busy), ..read(dir)? })
}

/// How fast the machine is that emulated, if that was noted.
pub fn noted_host_speed(dir: &RunDir) -> Result<Option<HostSpeed>, Fault> {
    Ok(read(dir)?.host_speed)
}

/// Notes how fast this machine is, for the report.
pub fn note_host_speed(dir: &RunDir, speed: HostSpeed) -> Result<(), Fault> {
    write(dir, &RunOptions { host_speed: Some(speed), ..read(dir)? })
}

fn read(dir: &RunDir) -> Result<RunOptions, Fault> {
    dir.read_json(OPTIONS_FILE)
}

fn write(dir: &RunDir, options: &RunOptions) -> Result<(), Fault> {
    dir.write(OPTIONS_FILE, &json!(options).to_string())
}
