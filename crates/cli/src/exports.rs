//! Rows written to the files that were asked for.

use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_host::regular;
use crosstalk_study::row::Row;
use serde_json::{Value, json};

use crate::args::ExportArgs;

/// The version of what `--export-json` writes.
const SCHEMA: &str = "crosstalk.export/1";

impl ExportArgs {
    /// Refuses what could not be written, before anything runs.
    ///
    /// # Errors
    /// A usage fault that names the flag's file.
    pub fn check(&self) -> Result<(), Fault> {
        self.files().try_for_each(|(flag, path)| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let refuse = |why: &str| Err(Fault::usage(format!("{}: {why}", path.display())).at(flag));
            let again = self.files().filter(|(_, other)| *other == path).count() > 1;
            match parent {
                _ if path.is_dir() => refuse("this is a directory: expected a file"),
                _ if again => refuse("two exports would be written to this file: expected one each"),
                _ if is_source(path) => {
                    refuse("a study or a part of a run is never overwritten: name another file")
                }
                Some(parent) if !parent.is_dir() => refuse("there is no such directory"),
                _ => takes(path).or_else(|why| refuse(&why)),
            }
        })
    }

    /// Writes each file that is asked for.
    ///
    /// # Errors
    /// An environment fault with the first that cannot be written.
    pub fn write(&self, rows: &[Row]) -> Result<(), Fault> {
        self.files().try_for_each(|(flag, path)| {
            let text = match flag {
                "--export-csv" => crosstalk_report::export::csv(rows),
                "--export-markdown" => crosstalk_report::export::markdown(rows),
                _ => json(rows)?,
            };
            regular::writer(path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|e| Fault::environment(format!("cannot write {}: {e}", path.display())).at(flag))
        })
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [
            ("--export-csv", &self.export_csv),
            ("--export-json", &self.export_json),
            ("--export-markdown", &self.export_markdown),
        ];
        all.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }
}

/// Whether there may be written to what is there already: not over a disk, nor to a pipe that nobody reads. One
/// that is read is held open to the end: closed, its reader would take that for the end.
pub fn takes(path: &Path) -> Result<(), String> {
    match path.metadata().map(|found| found.file_type()) {
        Ok(found) if found.is_block_device() => Err("this is a disk: expected a file".into()),
        Ok(found) if found.is_fifo() => {
            regular::writer(path).map(std::mem::forget).map_err(|e| format!("{e}: expected a file"))
        }
        _ => Ok(()),
    }
}

/// Whether it is a study, or what a run's directory keeps: an export there would lose what was written or measured.
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

/// As hyperfine writes it: `results`, each with its `command`, `parameters` and `times` (`values` of what is
/// no time).
fn json(rows: &[Row]) -> Result<String, Fault> {
    let result = |row: &Row| {
        let mut told = json!(row);
        if row.unit != "s"
            && let Value::Object(fields) = &mut told
            && let Some(values) = fields.remove("times")
        {
            fields.insert("values".into(), values);
        }
        told
    };
    let told = json!({ "schema": SCHEMA, "results": rows.iter().map(result).collect::<Vec<_>>() });
    serde_json::to_string_pretty(&told)
        .map(|text| text + "\n")
        .map_err(|e| Fault::environment(format!("cannot write the rows as JSON: {e}")).at("--export-json"))
}
