//! The file of rules: whose programs go into which group.
//!
//! ```toml
//! schema = "crosstalk.watch/1"
//!
//! [[rule]]
//! user = "alice"
//! program = "/usr/bin/python3"
//! group = "lab/python"
//!
//! [[rule]]
//! user = "bob"
//! group = "lab/{user}"
//! create = true
//! ```
//!
//! The first rule that fits a program counts. What is in a group keeps it: a rule for a program of alice would do nothing
//! if another one put her shell into a group.

use std::path::PathBuf;

use crosstalk_core::Fault;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::quote::message;
use crosstalk_core::units::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request::ProfileKind;

/// The version of the file that is read.
const SCHEMA: &str = "crosstalk.watch/1";
/// The head of a rule.
const HEAD: &str = "[[rule]]";

/// A file of rules.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulesFile {
    /// `crosstalk.watch/1`.
    #[serde(default)]
    #[schemars(required)]
    schema: Option<String>,
    /// The rules. The first that fits a program counts.
    #[serde(default)]
    pub rule: Vec<RuleEntry>,
}

/// A rule: what a program must be to fit, and its group.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    /// Who starts it: the name or number of a user, or `*` for every user from 1000 on.
    pub user: Option<UserWord>,
    /// The path of the program.
    pub program: Option<PathBuf>,
    /// Whether it must be started in a login session.
    #[serde(default)]
    pub session: bool,
    /// Its group: a name, in which `{user}`, `{uid}` and `{session}` are replaced.
    pub group: String,
    /// Whether the group is made when it is missing. When the watch ends it is removed, unless processes are in it.
    #[serde(default)]
    pub create: bool,
    /// The profile of a group that is made.
    pub profile: Option<ProfileKind>,
    /// Its memory that is protected.
    pub memory: Option<Bytes>,
    /// Its memory that is never exceeded.
    pub memory_limit: Option<Bytes>,
    /// Its processors.
    pub cpus: Option<f64>,
    /// The most processes and threads in it.
    pub processes: Option<u32>,
}

/// A user's name or number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UserWord {
    /// The number.
    Number(u32),
    /// The name, or `*`.
    Name(String),
}

/// The schema of a file of rules, as it is published in `docs/schema/`.
pub fn watch_schema() -> serde_json::Value {
    schemars::schema_for!(RulesFile).to_value()
}

impl RulesFile {
    /// Reads the text of the file at `place`. Returns the rules with their lines.
    ///
    /// # Errors
    /// A usage fault that names the line, where that is known, and what was expected.
    pub fn parse(text: &str, place: &str) -> Result<Vec<(usize, RuleEntry)>, Fault> {
        let file: RulesFile = toml::from_str(text).map_err(|e| unreadable(&e, text, place))?;
        if file.schema.as_deref() != Some(SCHEMA) {
            let found = file.schema.map_or("nothing".into(), |schema| format!("`{schema}`"));
            return Err(Fault::usage(format!("expected the schema `{SCHEMA}`, found {found}"))
                .at(place)
                .remedy(format!("write on the first line: schema = \"{SCHEMA}\"")));
        }
        if file.rule.is_empty() {
            return Err(Fault::usage("there is no rule")
                .at(place)
                .remedy("add one: [[rule]], user = \"alice\", group = \"alice\", on a line each"));
        }
        let heads = text.lines().zip(1..).filter(|(line, _)| line.trim_start().starts_with(HEAD));
        let mut heads = heads.map(|(_, number)| number);
        // A list of inline tables has no heads.
        Ok(file.rule.into_iter().map(|rule| (heads.next().unwrap_or(1), rule)).collect())
    }
}

/// What is wrong, and on which line; not the line itself, which may be as long as the file.
fn unreadable(error: &toml::de::Error, text: &str, place: &str) -> Fault {
    let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
    let line = before.map_or(1, |before| 1 + before.iter().filter(|byte| **byte == b'\n').count());
    Fault::usage(message(in_plain_words(error.message())))
        .at(format!("{place}:{line}"))
        .remedy("write rules as docs/how-to/pack-users.md has them, or as docs/schema/watch.json says")
}
