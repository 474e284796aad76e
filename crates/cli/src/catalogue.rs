//! Finds studies and catalogues: those bundled with the program, and files of the user.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crosstalk_apps::not_text;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::quote::shell_word;
use crosstalk_host::regular;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;

/// The folders of a catalogue.
const FOLDERS: [&str; 6] = ["fabrics", "systems", "mpi", "components", "interconnects", "published"];

/// The bundled catalogues and those of `dirs`. A file in `dirs` replaces a bundled one of its name.
pub fn catalogues(dirs: &[PathBuf]) -> Result<Catalogues, Fault> {
    with(Catalogues::bundled(), dirs)
}

/// The same with the catalogue of a run, which need not keep rules that were made after it.
pub fn recorded(dirs: &[PathBuf]) -> Result<Catalogues, Fault> {
    with(Catalogues::bundled().recorded(), dirs)
}

fn with(mut all: Catalogues, dirs: &[PathBuf]) -> Result<Catalogues, Fault> {
    for dir in dirs {
        if !dir.is_dir() {
            return Err(Fault::usage("no such directory")
                .at(dir.display().to_string())
                .remedy("name an existing directory"));
        }
        if !FOLDERS.iter().any(|folder| dir.join(folder).is_dir()) {
            return Err(Fault::usage("it holds no catalogue")
                .at(dir.display().to_string())
                .remedy(format!("give a directory with at least one of {}", FOLDERS.join(", "))));
        }
        for (path, name) in files(&dir.join("fabrics"), "toml")? {
            all.add_fabric(&name, &read_entry(&path)?, &path.display().to_string())?;
        }
        for (path, name) in files(&dir.join("systems"), "toml")? {
            all.add_system(&name, &read_entry(&path)?, &path.display().to_string())?;
        }
        for (path, name) in files(&dir.join("mpi"), "toml")? {
            all.add_mpi(&name, &read_entry(&path)?, &path.display().to_string())?;
        }
        for (path, _) in files(&dir.join("components"), "toml")? {
            all.add_components(&read_entry(&path)?, &path.display().to_string())?;
        }
        for (path, name) in files(&dir.join("interconnects"), "toml")? {
            all.add_interconnect(&name, &read_entry(&path)?, &path.display().to_string())?;
        }
        for (path, _) in files(&dir.join("published"), "csv")? {
            all.add_published_csv(&read_entry(&path)?, &path.display().to_string())?;
        }
    }
    Ok(all)
}

/// The files in `dir` with this ending, by name; none if there is no such directory.
fn files(dir: &Path, ending: &str) -> Result<Vec<(PathBuf, String)>, Fault> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Fault::environment(e.to_string()).at(dir.display().to_string()))?.path();
        if path.extension().is_some_and(|e| e == ending)
            && let Some(name) = path.file_stem().and_then(|n| n.to_str())
        {
            let name = name.to_string();
            found.push((path, name));
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a text file or a pipe. Removes a byte order mark, and reads carriage returns as ends of lines.
///
/// # Errors
/// A usage fault that says what to name instead.
pub fn read_text_file(path: &Path) -> Result<String, Fault> {
    text(regular::open_any(path), path)
}

/// Reads a text file of a catalogue; a pipe is refused.
fn read_entry(path: &Path) -> Result<String, Fault> {
    text(regular::open(path), path)
}

fn text(file: io::Result<File>, path: &Path) -> Result<String, Fault> {
    let place = || path.display().to_string();
    let bytes =
        regular::read_small(file, path).map_err(|fault| fault.remedy("name a text file that can be read"))?;
    if let Some(found) = not_text(&bytes) {
        return Err(Fault::usage(format!("expected UTF-8 text, found {found}"))
            .at(place())
            .remedy("unpack it, or save it as UTF-8"));
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|e| Fault::usage(format!("expected UTF-8 text: {e}")).at(place()))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    if !text.contains('\n') {
        text = text.replace('\r', "\n");
    }
    Ok(text)
}

/// Whether a study's name is a path.
pub fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// The bundled study of this name, or the study file at this path.
pub fn study(name: &str) -> Result<Study, Fault> {
    if is_path(name) {
        let path = Path::new(name);
        let runs = |about: fs::Metadata| about.is_file() && about.permissions().mode() & 0o111 != 0;
        if !name.ends_with(".toml") && path.metadata().is_ok_and(runs) {
            return Err(Fault::usage("expected a study, found a program")
                .at(name)
                .remedy(own_program_hint(name)));
        }
        let mut study = crosstalk_study::parse(&read_text_file(path)?, name)?;
        if study.name.is_empty() {
            study.name = path.file_stem().and_then(|n| n.to_str()).unwrap_or("study").to_string();
        }
        return Ok(study);
    }
    match crosstalk_study::bundled_study(name) {
        Some(text) => crosstalk_study::parse(text, &format!("studies/{name}.toml")),
        None => {
            let names: Vec<_> = crosstalk_study::bundled_studies().iter().map(|s| s.0).collect();
            let fault = unknown("study", name, names);
            let remedy =
                fault.remedy.iter().cloned().chain([own_program_hint(name)]).collect::<Vec<_>>().join("; ");
            Err(fault.remedy(remedy))
        }
    }
}

/// The hint where to write a program of the user.
pub fn own_program_hint(name: &str) -> String {
    format!("your own program goes after `--`: crosstalk run -- {}", shell_word(name))
}
