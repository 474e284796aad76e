//! Study → text, for `--save` and for the resolved study of a run.

use crate::file::Study;

/// The study as TOML text that reads back as the same study.
pub fn to_toml(study: &Study) -> String {
    toml::to_string(study).expect("a study has string keys and no absent values, which TOML can always hold")
}
