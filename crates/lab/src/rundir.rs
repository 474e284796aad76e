//! A run's directory, with all its files.
//!
//! `study.toml` (resolved), `options.json` (the options and the run's number), `catalogue/` (the
//! fabrics and systems that it used), `journal.ndjson`, `provenance.json`, `ranges.json` (what cells show over the ranges
//! of clusters' parameters, if any), `findings.json`, `report.html`, `report.md`, `artifacts/` (files that workloads left, if
//! any); until it has finished, `schedules/` (what its attempts recorded, to be replayed).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::quote::is_control;
use crosstalk_host::regular;
use crosstalk_study::ranges::Ranges;
use serde::{Deserialize, Serialize};

use crate::schedules;

mod read;

/// The version of `provenance.json`.
pub const PROVENANCE_SCHEMA: &str = "crosstalk.provenance/1";

/// The file with the options of a run. A directory that has it is a run's.
pub const OPTIONS_FILE: &str = "options.json";
/// The file with what cells show over the ranges of clusters' parameters.
pub const RANGES_FILE: &str = "ranges.json";
/// The files and folders in a run's directory.
const RUN_FILES: [&str; 11] = [
    "study.toml",
    OPTIONS_FILE,
    "catalogue",
    "journal.ndjson",
    "provenance.json",
    RANGES_FILE,
    "findings.json",
    "report.html",
    "report.md",
    "artifacts",
    schedules::FOLDER,
];
/// The extension of a file's name while the file is being written.
const PART: &str = "part";

/// The content of `provenance.json`: the nodes' facts, and what the testbed lacks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProvenanceFile {
    /// [`PROVENANCE_SCHEMA`].
    pub schema: String,
    /// Node → facts when the run began.
    pub before: BTreeMap<String, Provenance>,
    /// Node → facts when it ended.
    #[serde(default)]
    pub after: BTreeMap<String, Provenance>,
    /// Properties of a real cluster that the testbed does not have.
    #[serde(default)]
    pub absences: Vec<String>,
}

/// The directory of a run, with its study, options, journal and reports.
pub struct RunDir {
    path: PathBuf,
    /// Whether a run has written it before.
    is_existing: bool,
    /// A lock while a run writes here (flock(2), on the directory itself). The kernel
    /// releases it when the program ends.
    _lock: Option<File>,
}

impl RunDir {
    /// Creates a new directory for a run, and locks it.
    ///
    /// # Errors
    /// A usage fault if the directory has a run already, or other files.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        check_is_text(path)?;
        fs::create_dir_all(path).map_err(|e| cannot("create", path, &e))?;
        let dir = RunDir { path: path.to_path_buf(), is_existing: false, _lock: None }.lock()?;
        if path.join("journal.ndjson").exists() {
            return Err(Fault::usage("this directory holds a run already")
                .at(path.display().to_string())
                .remedy(format!(
                    "continue it with `crosstalk resume {}`, or name another --out",
                    path.display()
                )));
        }
        dir.check_only_run_files()?;
        Ok(dir)
    }

    /// Refuses a directory that has other files, which a run could mix with or overwrite. Files of an earlier
    /// run that ended early are accepted if its options are there; a `study.toml` without them is the user's.
    fn check_only_run_files(&self) -> Result<(), Fault> {
        let failed = |e| cannot("read", &self.path, &e);
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        let names: Vec<_> =
            entries.map(|entry| Ok(entry?.file_name())).collect::<Result<_, _>>().map_err(failed)?;
        let part = |file: &str| Path::new(file).with_extension(PART);
        let begun =
            names.iter().any(|name| *name == OPTIONS_FILE || *name == *part(OPTIONS_FILE).as_os_str());
        let is_ours = |name: &OsString| {
            RUN_FILES.iter().any(|file| begun && *name == **file || *name == *part(file).as_os_str())
        };
        match names.iter().find(|name| !is_ours(name)) {
            None => Ok(()),
            Some(name) => Err(Fault::usage(format!("there is something else in it: {}", name.display()))
                .at(self.path.display().to_string())
                .remedy("name a directory that is new or empty with --out")),
        }
    }

    /// Opens the directory of an earlier run.
    ///
    /// # Errors
    /// A usage fault if it has no journal.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        check_is_text(path)?;
        if !path.join("journal.ndjson").is_file() {
            if path.join("study.toml").is_file() {
                let begun = path.join(OPTIONS_FILE).is_file();
                return Err(Fault::usage(
                    "this run ended before its first attempt: there is no journal.ndjson",
                )
                .at(path.display().to_string())
                .remedy(match begun {
                    true => "run it again, with the same --out",
                    false => "remove the directory, and run the study again",
                }));
            }
            return Err(Fault::usage("no run here: there is no journal.ndjson")
                .at(path.display().to_string())
                .remedy("name the directory that `crosstalk run` printed"));
        }
        Ok(RunDir { path: path.to_path_buf(), is_existing: true, _lock: None })
    }

    /// Locks it, so that no other program writes its journal at the same time.
    ///
    /// # Errors
    /// A usage fault if another program has locked it.
    pub fn lock(self) -> Result<Self, Fault> {
        let file = File::open(&self.path).map_err(|e| cannot("open", &self.path, &e))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Fault::usage("another crosstalk is running here")
                .at(self.path.display().to_string())
                .remedy("wait until it ends, or name another directory with --out")),
            // Some network file systems have no locks; then there is no protection.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(RunDir { _lock: Some(file), ..self }),
        }
    }

    /// Creates the next free `ROOT/NAME-001`, `-002` …, and locks it.
    pub fn create_next(root: &Path, name: &str) -> Result<Self, Fault> {
        check_is_text(root)?;
        for number in 1..100_000 {
            let path = root.join(format!("{name}-{number:03}"));
            fs::create_dir_all(root).map_err(|e| cannot("create", root, &e))?;
            match fs::create_dir(&path) {
                Ok(()) => return RunDir { path, is_existing: false, _lock: None }.lock(),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(cannot("create", &path, &e)),
            }
        }
        Err(Fault::environment("too many runs of that name").at(root.display().to_string()))
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path of the folder of artifacts.
    pub fn artifacts_path(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).join("artifacts")
    }

    /// The path of the journal.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.ndjson")
    }

    /// Writes one of its files, completely or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Fault> {
        let path = self.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| cannot("create", parent, &e))?;
        }
        let part = path.with_extension(PART);
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        let written =
            regular::open_as(&mut options, &part).and_then(|mut file| file.write_all(text.as_bytes()));
        written.and_then(|()| fs::rename(&part, &path)).map_err(|e| {
            // On a full disk the incomplete file would only take room.
            let _ = fs::remove_file(&part);
            cannot(if self.is_existing { "replace" } else { "write" }, &path, &e)
        })
    }

    /// Removes the options, the study and the catalogue of a run that has measured nothing.
    pub fn discard_unmeasured(&self) {
        for name in [OPTIONS_FILE, "study.toml"] {
            let _ = fs::remove_file(self.path.join(name));
        }
        let _ = fs::remove_dir_all(self.path.join("catalogue"));
    }

    fn provenance(&self) -> Result<ProvenanceFile, Fault> {
        self.read_json("provenance.json")
    }

    /// Records the nodes' facts when a run begins. When it resumes, compares them with the
    /// earlier ones instead.
    ///
    /// # Errors
    /// A usage fault if a fixed fact has changed since: samples of different machines must not be mixed.
    pub fn record_facts_at_start(
        &self,
        facts: &BTreeMap<String, Provenance>,
        absences: &[String],
        resuming: bool,
    ) -> Result<(), Fault> {
        if resuming && self.path.join("provenance.json").exists() {
            let earlier = self.provenance()?.before;
            return check_unchanged(&earlier, facts);
        }
        let provenance = ProvenanceFile {
            schema: PROVENANCE_SCHEMA.into(),
            before: facts.clone(),
            after: BTreeMap::new(),
            absences: absences.to_vec(),
        };
        self.save(&provenance)
    }

    /// Records the nodes' facts when a run ends, and further absences.
    pub fn record_facts_at_end(
        &self,
        facts: &BTreeMap<String, Provenance>,
        absences: &[String],
    ) -> Result<(), Fault> {
        let mut provenance = self.provenance()?;
        provenance.after = facts.clone();
        for absence in absences {
            if !provenance.absences.contains(absence) {
                provenance.absences.push(absence.clone());
            }
        }
        self.save(&provenance)
    }

    /// Saves the schedules that attempts have kept in the nodes' `shared` folder.
    ///
    /// # Errors
    /// Those of its files.
    pub fn save_schedules(&self, shared: Option<&Path>) -> Result<(), Fault> {
        let Some(shared) = shared else { return Ok(()) };
        schedules::copy_new(&shared.join(schedules::FOLDER), &self.path.join(schedules::FOLDER))
    }

    /// Puts the schedules of an interrupted run into the nodes' `shared` folder.
    ///
    /// # Errors
    /// Those of its files.
    pub fn restore_schedules(&self, shared: Option<&Path>) -> Result<(), Fault> {
        let Some(shared) = shared else { return Ok(()) };
        schedules::copy_new(&self.path.join(schedules::FOLDER), &shared.join(schedules::FOLDER))
    }

    /// Removes saved schedules: the run has finished.
    pub fn discard_schedules(&self) {
        let _ = fs::remove_dir_all(self.path.join(schedules::FOLDER));
    }

    /// Records what cells show over ranges, beside what earlier stages showed over the same.
    ///
    /// # Errors
    /// Those of its files.
    pub fn record_ranges(&self, mut ranges: Ranges) -> Result<(), Fault> {
        if let Some(earlier) = self.ranges()?.filter(|earlier| earlier.has_clusters_of(&ranges)) {
            ranges.keep_other_cells_of(earlier);
        }
        let text = serde_json::to_string(&ranges)
            .map_err(|e| Fault::environment(format!("cannot write {RANGES_FILE}: {e}")))?;
        self.write(RANGES_FILE, &text)
    }

    fn save(&self, provenance: &ProvenanceFile) -> Result<(), Fault> {
        let text = serde_json::to_string_pretty(provenance)
            .map_err(|e| Fault::environment(format!("cannot write provenance: {e}")))?;
        self.write("provenance.json", &text)
    }
}

fn check_unchanged(
    earlier: &BTreeMap<String, Provenance>,
    now: &BTreeMap<String, Provenance>,
) -> Result<(), Fault> {
    for (node, then) in earlier {
        for (fact, was) in &then.fixed {
            let is = now.get(node).and_then(|p| p.fixed.get(fact));
            if is != Some(was) {
                return Err(Fault::usage(format!(
                    "{fact} was `{was}` and is now `{}`: samples taken on different machines must not be mixed",
                    is.map_or("unknown", String::as_str)
                ))
                .at(format!("node {node}"))
                .remedy("begin a new run"));
            }
        }
    }
    Ok(())
}

/// Refuses a path that is not UTF-8 or has control characters. It is sent to nodes, recorded and printed.
fn check_is_text(path: &Path) -> Result<(), Fault> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match whole.to_str() {
        Some(text) if !text.contains(is_control) => Ok(()),
        _ => {
            Err(Fault::usage("expected a run's directory whose name is UTF-8 without line ends and the like")
                .at(whole.display().to_string())
                .remedy("name another with --out, or go to another directory"))
        }
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot {what} it: {error}")).at(path.display().to_string());
    match error.kind() {
        // A file, a device, a dangling link, or a name that the file system refuses.
        ErrorKind::AlreadyExists
        | ErrorKind::NotADirectory
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput
            if what == "create" =>
        {
            Fault::usage("expected a directory, or a name that is free for one")
                .at(path.display().to_string())
                .remedy("name a directory that is new or empty with --out")
        }
        ErrorKind::StorageFull => fault.remedy("free some room on that disk; nothing written so far is lost"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if what == "replace" => {
            fault.remedy("copy the run's directory to where you may write, and name the copy")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            fault.remedy("name a directory that you may write to with --out")
        }
        _ => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kernel: &str) -> BTreeMap<String, Provenance> {
        let fixed = BTreeMap::from([("kernel".to_string(), kernel.to_string())]);
        BTreeMap::from([("0".to_string(), Provenance { fixed, moment: BTreeMap::new() })])
    }

    #[test]
    fn another_machine_refuses_to_resume() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = RunDir::create_next(root.path(), "study").expect("made");
        dir.record_facts_at_start(&facts("6.1"), &[], false).expect("noted");
        dir.record_facts_at_start(&facts("6.1"), &[], true).expect("the same");
        let fault = dir.record_facts_at_start(&facts("6.2"), &[], true).expect_err("another kernel");
        assert!(fault.message.contains("kernel was `6.1` and is now `6.2`"), "{fault}");
    }

    #[test]
    fn a_run_that_ended_before_its_first_attempt_is_no_missing_run() {
        let root = tempfile::tempdir().expect("a directory");
        let fault = RunDir::open(root.path()).err().expect("no run");
        assert!(fault.message.contains("no run here"), "{fault}");
        fs::write(root.path().join("study.toml"), "").expect("writes");
        let fault = RunDir::open(root.path()).err().expect("no attempt");
        assert!(fault.message.contains("before its first attempt") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn only_one_program_at_a_time_locks_a_directory() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("run");
        let first = RunDir::create(&path).expect("made");
        for second in
            [RunDir::create(&path), RunDir { path: path.clone(), is_existing: true, _lock: None }.lock()]
        {
            let fault = second.err().expect("refused");
            assert!(fault.message.contains("another crosstalk is running here"), "{fault}");
        }
        drop(first);
        RunDir::create(&path).expect("free again");
    }

    #[test]
    fn a_run_is_read_with_what_its_nodes_were_before_and_after() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = RunDir::create_next(root.path(), "study").expect("made");
        fs::write(dir.journal_path(), "").expect("written");
        dir.record_facts_at_start(&facts("6.1"), &[], false).expect("noted");
        assert_eq!(dir.read_run().expect("reads").provenance_after, BTreeMap::new());
        dir.record_facts_at_end(&facts("6.2"), &[]).expect("noted");
        let run = dir.read_run().expect("reads");
        assert_eq!((run.provenance, run.provenance_after), (facts("6.1"), facts("6.2")));
    }

    #[test]
    fn runs_are_numbered() {
        let root = tempfile::tempdir().expect("a directory");
        let first = RunDir::create_next(root.path(), "a").expect("made");
        let second = RunDir::create_next(root.path(), "a").expect("made");
        assert!(first.path().ends_with("a-001") && second.path().ends_with("a-002"));
        assert!(RunDir::open(first.path()).is_err(), "no journal yet");
    }
}
