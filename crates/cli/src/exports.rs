//! Writes rows to the files of `--export-…`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_host::regular;
use crosstalk_study::row::Row;
use serde_json::{Value, json};

use crate::args::ExportArgs;

/// The version of the format of `--export-json`.
const SCHEMA: &str = "crosstalk.export/1";

impl ExportArgs {
    /// Refuses files that cannot be written, before anything runs.
    ///
    /// # Errors
    /// A usage fault that names the flag and the file.
    pub fn check(&self) -> Result<(), Fault> {
        self.files().try_for_each(|(flag, path)| {
            if self.files().filter(|(_, other)| *other == path).count() > 1 {
                let why = "two exports name this file, expected one file for each";
                return Err(refused(flag, path, why, "name another file for one of them"));
            }
            if path.as_os_str() == "-" {
                let why = "expected a file: standard output has the results in words";
                return Err(refused(flag, path, why, "name a file, or print everything as JSON with --json"));
            }
            check_writable(flag, path)
        })
    }

    /// The files' paths.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.export_csv, &mut self.export_json, &mut self.export_markdown].into_iter().flatten()
    }

    /// Writes each requested file.
    ///
    /// # Errors
    /// An environment fault for the first file that cannot be written.
    pub fn write(&self, rows: &[Row]) -> Result<(), Fault> {
        self.files().try_for_each(|(flag, path)| {
            let text = match flag {
                "--export-csv" => crosstalk_report::export::csv(rows),
                "--export-markdown" => crosstalk_report::export::markdown(rows),
                _ => json(rows)?,
            };
            regular::replace_content(path, &text).map_err(|e| unwritable_fault(flag, path, &e))
        })
    }

    /// The requested files, each with its flag.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [
            ("--export-csv", &self.export_csv),
            ("--export-json", &self.export_json),
            ("--export-markdown", &self.export_markdown),
        ];
        all.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }
}

/// Refuses a file that cannot be written, and one that is a study or a part of a run.
///
/// # Errors
/// A usage fault that names the flag and the file.
pub fn check_writable(flag: &str, path: &Path) -> Result<(), Fault> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        _ if path.is_dir() => Err(refused(flag, path, "this is a directory, expected a file", "name a file")),
        _ if is_source(path) => {
            Err(refused(flag, path, "a study or a part of a run is never overwritten", "name another file"))
        }
        Some(parent) if !parent.is_dir() => {
            Err(refused(flag, path, "there is no such directory", "create it, or name a file elsewhere"))
        }
        _ => regular::may_write(path).map_err(|e| unwritable_fault(flag, path, &e)),
    }
}

fn refused(flag: &str, path: &Path, why: &str, remedy: &str) -> Fault {
    Fault::usage(format!("{}: {why}", path.display())).at(flag).remedy(remedy)
}

/// The fault for a path that cannot be written; a usage fault if it is no file.
pub fn unwritable_fault(flag: &str, path: &Path, e: &std::io::Error) -> Fault {
    let message = format!("cannot write {}: {e}", path.display());
    match e.kind() {
        ErrorKind::InvalidInput => {
            Fault::usage(message).remedy("name a file, or let a program read the pipe first")
        }
        _ => Fault::environment(message),
    }
    .at(flag)
}

/// Whether a path is a study or a part of a run, which an export would destroy.
fn is_source(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return path.extension().is_some_and(|ending| ending == "toml");
    };
    let of_a_run = path.parent().is_some_and(|parent| parent.join("journal.ndjson").exists());
    let kept =
        ["journal.ndjson", "findings.json", "provenance.json", "options.json", "report.html", "report.md"];
    path.extension().is_some_and(|ending| ending == "toml")
        || of_a_run && path.file_name().is_some_and(|name| kept.iter().any(|kept| name == *kept))
}

/// The format of hyperfine: `results`, each with `command`, `parameters` and `times`. A metric that is no time has
/// `values` instead.
fn json(rows: &[Row]) -> Result<String, Fault> {
    let result = |row: &Row| {
        let mut fields_of_row = json!(row);
        if row.unit != "s"
            && let Value::Object(fields) = &mut fields_of_row
            && let Some(values) = fields.remove("times")
        {
            fields.insert("values".into(), values);
        }
        fields_of_row
    };
    let export = json!({ "schema": SCHEMA, "results": rows.iter().map(result).collect::<Vec<_>>() });
    serde_json::to_string_pretty(&export)
        .map(|text| text + "\n")
        .map_err(|e| Fault::environment(format!("cannot write the rows as JSON: {e}")).at("--export-json"))
}
