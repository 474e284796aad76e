//! A run's directory: everything it knows, in files that outlive the program.
//!
//! `study.toml` (resolved), `options.json` (quick or whole, on which testbed, which run), `catalogue/` (the
//! fabrics and systems it used), `journal.ndjson`, `provenance.json`, `findings.json`,
//! `report.html`, `report.md`, `artifacts/` (what workloads left to look into, made
//! by the first that does).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::quote::steers;
use crosstalk_host::regular;
use serde::{Deserialize, Serialize};

mod read;

/// The version of `provenance.json`.
pub const PROVENANCE_SCHEMA: &str = "crosstalk.provenance/1";

/// How a run was asked for. No other program's files are beside it.
pub const OPTIONS: &str = "options.json";
/// What is in a run's directory.
const OWN: [&str; 9] = [
    "study.toml",
    OPTIONS,
    "catalogue",
    "journal.ndjson",
    "provenance.json",
    "findings.json",
    "report.html",
    "report.md",
    "artifacts",
];
/// How a file's name ends until it is whole.
const PART: &str = "part";

/// What the nodes were, before and after, and what the testbed lacks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// [`PROVENANCE_SCHEMA`].
    pub schema: String,
    /// Node → facts when the run began.
    pub before: BTreeMap<String, Provenance>,
    /// Node → facts when it ended.
    #[serde(default)]
    pub after: BTreeMap<String, Provenance>,
    /// What the testbed does not have that a real cluster would.
    #[serde(default)]
    pub absences: Vec<String>,
}

/// A run's directory.
pub struct RunDir {
    path: PathBuf,
    /// Whether a run has left it, which can be written nowhere else.
    kept: bool,
    /// Held while a run writes here (flock(2), on the directory itself): the
    /// kernel lets go of it however the program ends.
    _hold: Option<File>,
}

impl RunDir {
    /// Makes a new one; refuses a directory that holds a run already, or what is no run's.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        is_text(path)?;
        fs::create_dir_all(path).map_err(|e| cannot("create", path, &e))?;
        let dir = RunDir { path: path.to_path_buf(), kept: false, _hold: None }.hold()?;
        if path.join("journal.ndjson").exists() {
            return Err(Fault::usage("this directory holds a run already")
                .at(path.display().to_string())
                .remedy(format!(
                    "go on with it by `crosstalk resume {}`, or name another --out",
                    path.display()
                )));
        }
        dir.is_of_a_run()?;
        Ok(dir)
    }

    /// Refuses a directory that holds something else: a run's files would be strewn among it, or take the place
    /// of a user's. What a run of ours left that got no further is known by its options: a `study.toml` without
    /// them is the user's.
    fn is_of_a_run(&self) -> Result<(), Fault> {
        let failed = |e| cannot("read", &self.path, &e);
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        let names: Vec<_> =
            entries.map(|entry| Ok(entry?.file_name())).collect::<Result<_, _>>().map_err(failed)?;
        let part = |own: &str| Path::new(own).with_extension(PART);
        let begun = names.iter().any(|name| *name == OPTIONS || *name == *part(OPTIONS).as_os_str());
        let is_ours = |name: &OsString| {
            OWN.iter().any(|own| begun && *name == **own || *name == *part(own).as_os_str())
        };
        match names.iter().find(|name| !is_ours(name)) {
            None => Ok(()),
            Some(name) => Err(Fault::usage(format!("there is something else in it: {}", name.display()))
                .at(self.path.display().to_string())
                .remedy("name a directory that is new or empty with --out")),
        }
    }

    /// Opens one that a run has left.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        is_text(path)?;
        if !path.join("journal.ndjson").is_file() {
            return Err(Fault::usage("no run here: there is no journal.ndjson")
                .at(path.display().to_string())
                .remedy("name the directory that `crosstalk run` printed"));
        }
        Ok(RunDir { path: path.to_path_buf(), kept: true, _hold: None })
    }

    /// Takes it for one program alone, which may then write its journal: two at
    /// once would overwrite each other's samples.
    ///
    /// # Errors
    /// A usage fault when another program holds it.
    pub fn hold(self) -> Result<Self, Fault> {
        let file = File::open(&self.path).map_err(|e| cannot("open", &self.path, &e))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Fault::usage("another crosstalk is running here")
                .at(self.path.display().to_string())
                .remedy("wait until it ends, or name another directory with --out")),
            // Some network file systems have no locks: then nothing can be told.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(RunDir { _hold: Some(file), ..self }),
        }
    }

    /// The next free `ROOT/NAME-001`, `-002` …
    pub fn next(root: &Path, name: &str) -> Result<Self, Fault> {
        is_text(root)?;
        for number in 1..100_000 {
            let path = root.join(format!("{name}-{number:03}"));
            fs::create_dir_all(root).map_err(|e| cannot("create", root, &e))?;
            match fs::create_dir(&path) {
                Ok(()) => return RunDir { path, kept: false, _hold: None }.hold(),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(cannot("create", &path, &e)),
            }
        }
        Err(Fault::environment("too many runs of that name").at(root.display().to_string()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where workloads leave what can be looked into. Nodes need it from the root on.
    pub fn artifacts(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).join("artifacts")
    }

    /// Where its journal is.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.ndjson")
    }

    /// Writes one of its files whole or not at all.
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
            // Half a file helps nobody, least of all on a full disk.
            let _ = fs::remove_file(&part);
            cannot(if self.kept { "replace" } else { "write" }, &path, &e)
        })
    }

    /// Takes away how the run was asked for, where nothing was measured yet.
    pub fn discard(&self) {
        for name in [OPTIONS, "study.toml"] {
            let _ = fs::remove_file(self.path.join(name));
        }
        let _ = fs::remove_dir_all(self.path.join("catalogue"));
    }

    fn conditions(&self) -> Result<Conditions, Fault> {
        self.json("provenance.json")
    }

    /// Notes what the nodes are. When resuming, refuses if they are others:
    /// what was measured on one machine must not be mixed with another's.
    pub fn record_before(
        &self,
        facts: &BTreeMap<String, Provenance>,
        absences: &[String],
        resuming: bool,
    ) -> Result<(), Fault> {
        if resuming && self.path.join("provenance.json").exists() {
            let earlier = self.conditions()?.before;
            return unchanged(&earlier, facts);
        }
        let conditions = Conditions {
            schema: PROVENANCE_SCHEMA.into(),
            before: facts.clone(),
            after: BTreeMap::new(),
            absences: absences.to_vec(),
        };
        self.save(&conditions)
    }

    /// Notes what the nodes were at the end, and what was found missing on the way.
    pub fn record_after(
        &self,
        facts: &BTreeMap<String, Provenance>,
        absences: &[String],
    ) -> Result<(), Fault> {
        let mut conditions = self.conditions()?;
        conditions.after = facts.clone();
        for absence in absences {
            if !conditions.absences.contains(absence) {
                conditions.absences.push(absence.clone());
            }
        }
        self.save(&conditions)
    }

    fn save(&self, conditions: &Conditions) -> Result<(), Fault> {
        let text = serde_json::to_string_pretty(conditions)
            .map_err(|e| Fault::environment(format!("cannot write provenance: {e}")))?;
        self.write("provenance.json", &text)
    }
}

fn unchanged(
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

/// Refuses a name that is not UTF-8 or steers a terminal, wherever in the path: it goes to nodes, into records
/// and onto lines, which are text.
fn is_text(path: &Path) -> Result<(), Fault> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match whole.to_str() {
        Some(text) if !text.contains(steers) => Ok(()),
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
        // A file, a device, a link to nowhere, a name that no disk takes.
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
        let dir = RunDir::next(root.path(), "study").expect("made");
        dir.record_before(&facts("6.1"), &[], false).expect("noted");
        dir.record_before(&facts("6.1"), &[], true).expect("the same");
        let fault = dir.record_before(&facts("6.2"), &[], true).expect_err("another kernel");
        assert!(fault.message.contains("kernel was `6.1` and is now `6.2`"), "{fault}");
    }

    #[test]
    fn a_directory_is_one_program_s_at_a_time() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("run");
        let first = RunDir::create(&path).expect("made");
        for second in [RunDir::create(&path), RunDir { path: path.clone(), kept: true, _hold: None }.hold()] {
            let fault = second.err().expect("refused");
            assert!(fault.message.contains("another crosstalk is running here"), "{fault}");
        }
        drop(first);
        RunDir::create(&path).expect("free again");
    }

    #[test]
    fn a_run_is_read_with_what_its_nodes_were_before_and_after() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = RunDir::next(root.path(), "study").expect("made");
        fs::write(dir.journal(), "").expect("written");
        dir.record_before(&facts("6.1"), &[], false).expect("noted");
        assert_eq!(dir.read().expect("reads").provenance_after, BTreeMap::new());
        dir.record_after(&facts("6.2"), &[]).expect("noted");
        let run = dir.read().expect("reads");
        assert_eq!((run.provenance, run.provenance_after), (facts("6.1"), facts("6.2")));
    }

    #[test]
    fn runs_are_numbered() {
        let root = tempfile::tempdir().expect("a directory");
        let first = RunDir::next(root.path(), "a").expect("made");
        let second = RunDir::next(root.path(), "a").expect("made");
        assert!(first.path().ends_with("a-001") && second.path().ends_with("a-002"));
        assert!(RunDir::open(first.path()).is_err(), "no journal yet");
    }
}
