//! The owner's rules: which programs are background work although nobody started them as such, and
//! which are foreground work in any case. What no rule fits is foreground work.
//!
//! ```toml
//! schema = "crosstalk.guard/1"
//! slowdown = "1 %"
//!
//! [[background]]
//! command = "ffmpeg*"     # the program's name; * stands for anything
//! user = "batch"
//!
//! [[foreground]]
//! command = "ffmpeg-live"
//! ```
//!
//! A rule fits a process that is all it says. Where rules of both kinds fit, the process is foreground
//! work. `external` and `own` are the same as `background` and `foreground`.

use std::fs;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::quote::message;
use crosstalk_host::cpu::allowed;
use crosstalk_host::regular;
use schemars::JsonSchema;
use serde::Deserialize;

use crosstalk_cgroup::process::Process;
use crosstalk_policy::Contract;

/// The version of the file that is read.
const SCHEMA: &str = "crosstalk.guard/1";
/// Longer than what people write by hand, in bytes.
const LONGEST: u64 = 1 << 20;
/// So many bytes of a program's name does the kernel keep (`TASK_COMM_LEN` without its end).
const NAME: usize = 15;

/// A rules file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// `crosstalk.guard/1`.
    #[serde(default)]
    #[schemars(required)]
    schema: Option<String>,
    /// The largest slowdown of foreground work, as `--slowdown` takes it: `1 %`.
    #[serde(default)]
    pub slowdown: Option<String>,
    /// Processors from which foreground work counts as active.
    #[serde(default)]
    pub busy: Option<f64>,
    /// What is background work.
    #[serde(default, alias = "external")]
    background: Vec<Rule>,
    /// What is foreground work, whatever the other rules say.
    #[serde(default, alias = "own")]
    foreground: Vec<Rule>,
}

/// What a process must be to fit: all that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The program's name, of which the kernel keeps 15 bytes; `*` stands for anything.
    command: Option<String>,
    /// The user's name or number.
    #[serde(default)]
    user: Option<Word>,
    /// The number of the session, as setsid(2) begins one and `ps -o sid` shows it.
    session: Option<u32>,
    /// The control group in the tree that shares the CPU out, from the tree's root; `*` stands for
    /// anything.
    group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Word {
    Number(u32),
    Text(String),
}

/// The schema of a rules file, as it is published in `docs/schema/`.
pub fn rules_schema() -> serde_json::Value {
    schemars::schema_for!(Rules).to_value()
}

impl Rules {
    /// Reads a file.
    ///
    /// # Errors
    /// A usage fault that names the file, the line where that is known, and what was expected.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let place = path.display().to_string();
        let text = regular::text(path, LONGEST).map_err(|e| {
            Fault::usage(format!("cannot read it: {e}"))
                .at(place.clone())
                .remedy("name a file of rules, as in docs/how-to/guard.md")
        })?;
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::parse(&text, &users).map_err(|fault| fault.at(place))
    }

    /// Reads a file's text; `users` is that of `/etc/passwd`.
    ///
    /// # Errors
    /// As [`Rules::read`].
    pub fn parse(text: &str, users: &str) -> Result<Self, Fault> {
        let mut rules: Rules = toml::from_str(text).map_err(|e| unreadable(&e, text))?;
        if rules.schema.as_deref() != Some(SCHEMA) {
            let found = rules.schema.map_or("nothing".into(), |schema| format!("`{schema}`"));
            return Err(Fault::usage(format!("expected the schema `{SCHEMA}`, found {found}"))
                .remedy(format!("write on the first line: schema = \"{SCHEMA}\"")));
        }
        for (slowdown, busy, key, example) in [
            (rules.slowdown.as_deref(), None, "slowdown", "slowdown = \"1 %\""),
            (None, rules.busy, "busy", "busy = 0.05"),
        ] {
            Contract::agreed(slowdown.unwrap_or("1 %"), busy, allowed().len().max(1)).map_err(|fault| {
                Fault::usage(format!("{key}: {}", fault.message))
                    .remedy(format!("write for example {example}"))
            })?;
        }
        for rule in rules.background.iter_mut().chain(&mut rules.foreground) {
            rule.resolve(users)?;
        }
        Ok(rules)
    }

    /// Whether any rule names background work.
    pub fn name_background(&self) -> bool {
        !self.background.is_empty()
    }

    /// Whether any rule names foreground work.
    pub fn name_foreground(&self) -> bool {
        !self.foreground.is_empty()
    }

    /// Whether the process is background work by a rule, and foreground work by none.
    pub fn background(&self, process: &Process) -> bool {
        !self.foreground(process) && self.background.iter().any(|rule| rule.fits(process))
    }

    /// Whether the process is foreground work by a rule, whoever has started it.
    pub fn foreground(&self, process: &Process) -> bool {
        self.foreground.iter().any(|rule| rule.fits(process))
    }
}

impl Rule {
    /// Checks the rule, and finds the user's number.
    fn resolve(&mut self, users: &str) -> Result<(), Fault> {
        if *self == Rule::default() {
            return Err(Fault::usage("a rule that says nothing fits everything")
                .remedy("say `command`, `user`, `session` or `group`"));
        }
        self.check()?;
        let Some(Word::Text(name)) = &self.user else { return Ok(()) };
        let known = |line: &str| -> Option<(String, u32)> {
            let mut fields = line.split(':');
            Some((fields.next()?.into(), fields.nth(1)?.parse().ok()?))
        };
        let known: Vec<(String, u32)> = users.lines().filter_map(known).collect();
        let number = known.iter().find(|(user, _)| user == name).map(|(_, number)| *number);
        let number = number.or_else(|| name.parse().ok()).ok_or_else(|| {
            crosstalk_core::name::unknown("user", name, known.iter().map(|(user, _)| user.as_str()))
        })?;
        self.user = Some(Word::Number(number));
        Ok(())
    }

    /// Checks that a process can fit the rule.
    fn check(&self) -> Result<(), Fault> {
        let never = |what: String, remedy: &str| {
            Err(Fault::usage(format!("no process ever fits {what}")).remedy(remedy))
        };
        if let Some(command) = &self.command {
            let kept: usize = command.chars().filter(|c| *c != '*').map(char::len_utf8).sum();
            if command.is_empty() || command.contains('\0') || kept > NAME {
                let what =
                    format!("command = {command:?}: the kernel keeps {NAME} bytes of a program's name");
                return never(what, "write the name that `ps -o comm` shows, or its beginning and `*`");
            }
        }
        match &self.group {
            Some(group) if !group.starts_with(['/', '*']) || group.contains('\0') => never(
                format!("group = {group:?}"),
                "write it as /proc/PID/cgroup does, from its first `/` on",
            ),
            _ => Ok(()),
        }
    }

    /// Whether the process is all that the rule says.
    fn fits(&self, process: &Process) -> bool {
        self.command.as_ref().is_none_or(|pattern| matches(pattern, &process.name))
            && self.user.as_ref().is_none_or(|user| *user == Word::Number(process.user))
            && self.session.is_none_or(|session| session == process.session)
            && self
                .group
                .as_ref()
                .is_none_or(|pattern| process.cpu_group().is_some_and(|group| matches(pattern, group)))
    }
}

/// What is wrong, and on which line; not the line itself, which may be as long as the file.
fn unreadable(error: &toml::de::Error, text: &str) -> Fault {
    let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
    let line = before.map_or(1, |before| 1 + before.iter().filter(|byte| **byte == b'\n').count());
    Fault::usage(format!("line {line}: {}", message(in_plain_words(error.message()))))
        .remedy("write rules as docs/how-to/guard.md has them, or as docs/schema/guard.json says")
}

/// Whether the text is as the pattern says, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is as good as any: what follows has the more room.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
