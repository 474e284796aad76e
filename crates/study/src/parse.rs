//! Text → study.

use crate::check::{check, check_new};
use crate::file::{STUDY_SCHEMA, Study};
use crate::key_lines::KeyLines;
use crate::name::stem;
use crate::read::{explain, read};
use crosstalk_core::Fault;
use toml::de::DeTable;

/// Reads a study from `text`, found at `place` (a file's name), and checks it against itself.
///
/// # Errors
/// A usage fault with file and line: not TOML, another schema, an unknown key (with the nearest valid one), an unknown
/// name.
pub fn parse(text: &str, place: &str) -> Result<Study, Fault> {
    let study = parse_recorded(text, place)?;
    check_new(&study)?;
    Ok(study)
}

/// Reads a study that has run, as [`parse`] does, but for rules that were added since for what is yet to run.
///
/// # Errors
/// As [`parse`].
pub fn parse_recorded(text: &str, place: &str) -> Result<Study, Fault> {
    schema(text, place)?;
    let mut study: Study = read(text, place)?;
    study.key_lines = KeyLines::parse(text, place);
    if study.name.is_empty() {
        study.name = stem(place).to_string();
    }
    check(&study)?;
    Ok(study)
}

/// Refuses other versions of the format, before their keys are read.
fn schema(text: &str, place: &str) -> Result<(), Fault> {
    let table = DeTable::parse(text).map_err(|error| explain(&error, text, place))?;
    let table = table.get_ref();
    match table.get("schema").and_then(|value| value.get_ref().as_str()) {
        Some(STUDY_SCHEMA) => Ok(()),
        Some(other) => Err(Fault::usage(format!("schema `{other}` is not known, expected `{STUDY_SCHEMA}`"))
            .at(KeyLines::parse(text, place).location_of("schema"))
            .remedy(if other.starts_with("crosstalk.study/") {
                "use the version of Crosstalk that this file was written for".to_string()
            } else {
                format!("begin the file with schema = \"{STUDY_SCHEMA}\"")
            })),
        None => Err(Fault::usage("a study names its schema")
            .at(format!("{place}:1"))
            .remedy(format!("begin the file with schema = \"{STUDY_SCHEMA}\""))),
    }
}
