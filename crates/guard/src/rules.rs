//! The owner's rules: which programs are external work although nobody started them as such, and
//! which are own work in any case. Everything that no rule means is own work.
//!
//! ```toml
//! schema = "crosstalk.guard/1"
//! slowdown = "1 %"
//!
//! [[external]]
//! command = "ffmpeg*"     # the program's name; * stands for anything
//! user = "batch"
//!
//! [[own]]
//! command = "ffmpeg-live"
//! ```
//!
//! A rule means a process that fits all it says. Of rules that mean the same process the one that
//! says more counts, and of two that say as much the one that names it without a `*`. Where that
//! does not decide, they contradict each other, which is an error and not a choice.

use std::fs;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::expected::in_words;
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
    /// The slowdown agreed on, as `--slowdown` takes it: `1 %`.
    #[serde(default)]
    pub slowdown: Option<String>,
    /// Processors from which own work counts as at work.
    #[serde(default)]
    pub busy: Option<f64>,
    /// What is external work.
    #[serde(default)]
    external: Vec<Rule>,
    /// What is own work in any case.
    #[serde(default)]
    own: Vec<Rule>,
}

/// What a rule says that a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    External,
    Own,
}

/// What a process must be to be meant: all that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The program's name, of which the kernel keeps 15 bytes; `*` stands for anything.
    command: Option<String>,
    /// The user's name or number.
    #[serde(default)]
    user: Option<Word>,
    /// The number of the session, as setsid(2) begins one and `ps -o sid` tells it.
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
                .remedy("name a file of rules, as in docs/guard.md")
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
        for rule in rules.external.iter_mut().chain(&mut rules.own) {
            rule.settle(users)?;
        }
        if let Some(twice) = rules.external.iter().find(|rule| rules.own.contains(rule)) {
            return Err(contradiction(twice, twice, None));
        }
        Ok(rules)
    }

    /// Whether no rule says that anybody is external.
    pub fn mean_nobody_external(&self) -> bool {
        self.external.is_empty()
    }

    /// Whether no rule says that anybody is own work.
    pub fn mean_nobody_own(&self) -> bool {
        self.own.is_empty()
    }

    /// Whether a rule says that the process is external.
    ///
    /// # Errors
    /// Where two rules contradict each other about it.
    pub fn external(&self, process: &Process) -> Result<bool, Fault> {
        self.of(process).map(|work| work == Some(Work::External))
    }

    /// Whether a rule says that the process is own work, whoever has started it.
    ///
    /// # Errors
    /// Where two rules contradict each other about it.
    pub fn own(&self, process: &Process) -> Result<bool, Fault> {
        self.of(process).map(|work| work == Some(Work::Own))
    }

    fn of(&self, process: &Process) -> Result<Option<Work>, Fault> {
        let strongest = |rules: &'_ [Rule]| -> Option<Rule> {
            rules.iter().filter(|rule| rule.means(process)).max_by_key(|rule| rule.strength()).cloned()
        };
        match (strongest(&self.external), strongest(&self.own)) {
            (Some(external), Some(own)) if external.strength() == own.strength() => {
                Err(contradiction(&external, &own, Some(process)))
            }
            (Some(external), Some(own)) if external.strength() > own.strength() => Ok(Some(Work::External)),
            (_, Some(_)) => Ok(Some(Work::Own)),
            (Some(_), None) => Ok(Some(Work::External)),
            (None, None) => Ok(None),
        }
    }
}

impl Rule {
    /// Checks it, and finds the user's number.
    fn settle(&mut self, users: &str) -> Result<(), Fault> {
        if *self == Rule::default() {
            return Err(Fault::usage("a rule that says nothing means everything")
                .remedy("say `command`, `user`, `session` or `group`"));
        }
        self.can_be_met()?;
        let Some(Word::Text(name)) = &self.user else { return Ok(()) };
        let known = |line: &str| -> Option<(String, u32)> {
            let mut fields = line.split(':');
            Some((fields.next()?.into(), fields.nth(1)?.parse().ok()?))
        };
        let known: Vec<(String, u32)> = users.lines().filter_map(known).collect();
        let number = known.iter().find(|(user, _)| user == name).map(|(_, number)| *number);
        match number.or_else(|| name.parse().ok()) {
            Some(number) => self.user = Some(Word::Number(number)),
            None => {
                return Err(crosstalk_core::name::unknown(
                    "user",
                    name,
                    known.iter().map(|(user, _)| user.as_str()),
                ));
            }
        }
        Ok(())
    }

    /// That there can be a process which it means.
    fn can_be_met(&self) -> Result<(), Fault> {
        let never = |what: &str, why: String| Err(Fault::usage(format!("no {what} is ever so: {why}")));
        let known = |text: &str| text.chars().filter(|c| *c != '*').map(char::len_utf8).sum::<usize>();
        if let Some(command) = &self.command {
            let told = format!("command = {command:?}");
            if command.is_empty() || command.contains('\0') {
                return never("program's name", told)
                    .map_err(|fault| fault.remedy("write it as `ps -o comm` does"));
            }
            if known(command) > NAME {
                let short: String = command.chars().take_while(|c| *c != '*').take(NAME).collect();
                return never("program's name", format!("{told}, of which the kernel keeps {NAME} bytes"))
                    .map_err(|fault| fault.remedy(format!("write `ps -o comm`'s name, or {short:?}")));
            }
        }
        match &self.group {
            Some(group) if !group.starts_with(['/', '*']) || group.contains('\0') => {
                never("control group", format!("group = {group:?}"))
                    .map_err(|fault| fault.remedy("write it as /proc/PID/cgroup does, from its first `/` on"))
            }
            _ => Ok(()),
        }
    }

    fn means(&self, process: &Process) -> bool {
        self.command.as_ref().is_none_or(|pattern| fits(pattern, &process.name))
            && self.user.as_ref().is_none_or(|user| *user == Word::Number(process.user))
            && self.session.is_none_or(|session| session == process.session)
            && self
                .group
                .as_ref()
                .is_none_or(|pattern| process.cpu_group().is_some_and(|group| fits(pattern, group)))
    }

    /// How much it says, and how much of that without a `*`.
    fn strength(&self) -> (usize, usize) {
        let patterns = [&self.command, &self.group];
        let said = patterns.iter().filter(|said| said.is_some()).count()
            + usize::from(self.user.is_some())
            + usize::from(self.session.is_some());
        let open =
            patterns.iter().filter(|said| said.as_ref().is_some_and(|said| said.contains('*'))).count();
        (said, said - open)
    }

    fn told(&self) -> String {
        let user = self.user.as_ref().map(|user| match user {
            Word::Number(number) => format!("user = {number}"),
            Word::Text(name) => format!("user = \"{name}\""),
        });
        let said = [
            self.command.as_ref().map(|said| format!("command = \"{said}\"")),
            user,
            self.session.map(|said| format!("session = {said}")),
            self.group.as_ref().map(|said| format!("group = \"{said}\"")),
        ];
        said.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// What is wrong, and on which line; not the line itself, which may be as long as the file.
fn unreadable(error: &toml::de::Error, text: &str) -> Fault {
    let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
    let line = before.map_or(1, |before| 1 + before.iter().filter(|byte| **byte == b'\n').count());
    Fault::usage(format!("line {line}: {}", message(in_words(error.message()))))
        .remedy("write rules as docs/guard.md has them, or as docs/schema/guard.json says")
}

fn contradiction(external: &Rule, own: &Rule, process: Option<&Process>) -> Fault {
    let about = process.map_or(String::new(), |p| format!(" about {} (process {})", p.name, p.pid));
    Fault::usage(format!(
        "rules contradict each other{about}: it is external by `{}`, and own by `{}`",
        external.told(),
        own.told()
    ))
    .remedy("take one away, or let the one that shall count say more")
}

/// Whether the text is as the pattern says, in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n";

    fn process(name: &str, user: u32) -> Process {
        Process {
            pid: 7,
            name: name.into(),
            user,
            session: 5,
            groups: "0::/a/b".into(),
            ..Process::default()
        }
    }

    /// With the line that every file begins with.
    fn parse(text: &str) -> Result<Rules, Fault> {
        Rules::parse(&format!("schema = \"{SCHEMA}\"\n{text}"), USERS)
    }

    fn rules(text: &str) -> Rules {
        parse(text).expect("reads")
    }

    #[test]
    fn what_no_rule_means_is_own() {
        let rules = rules("[[external]]\ncommand = \"ffmpeg*\"\nuser = \"anna\"\n");
        assert_eq!(rules.external(&process("ffmpeg-7", 1000)), Ok(true));
        assert_eq!(rules.external(&process("ffmpeg-7", 0)), Ok(false));
        assert_eq!(rules.external(&process("vi", 1000)), Ok(false));
        assert_eq!(rules.own(&process("vi", 1000)), Ok(false), "no rule says so");
    }

    #[test]
    fn the_rule_that_says_more_counts() {
        let rules = rules(
            "[[external]]\nuser = 1000\n[[own]]\nuser = \"anna\"\ngroup = \"/a/*\"\n[[external]]\ncommand = \"a*\"\n[[own]]\ncommand = \"ab\"",
        );
        assert_eq!(rules.external(&process("x", 1000)), Ok(false));
        assert_eq!(rules.own(&process("x", 1000)), Ok(true));
        assert_eq!(rules.external(&process("ac", 0)), Ok(true));
        assert_eq!(rules.external(&process("ab", 0)), Ok(false));
    }

    #[test]
    fn what_cannot_be_agreed_on_is_told_by_its_key() {
        for (text, key) in [("slowdown = \"0 %\"", "slowdown"), ("busy = -1.0", "busy")] {
            let fault = parse(text).expect_err(key);
            assert!(fault.message.starts_with(&format!("{key}: expected")), "{fault}");
            assert!(fault.remedy.is_some_and(|remedy| remedy.contains(&format!("{key} = "))), "{key}");
        }
    }

    #[test]
    fn contradictions_are_errors_with_both_rules() {
        let fault = parse("[[external]]\ncommand = \"a\"\n[[own]]\ncommand = \"a\"").expect_err("contradict");
        assert!(fault.message.contains("contradict") && fault.message.contains("command = \"a\""), "{fault}");
        let rules = rules("[[external]]\ncommand = \"a\"\n[[own]]\nsession = 5");
        let fault = rules.external(&process("a", 0)).expect_err("contradict");
        assert!(fault.message.contains("about a (process 7)") && fault.remedy.is_some(), "{fault}");
        assert_eq!(rules.external(&Process { session: 6, ..process("a", 0) }), Ok(true));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refused = |text: &str| parse(text).expect_err("refused").to_string();
        assert!(refused("[[external]]\n").contains("says nothing"));
        assert!(refused("[[external]]\nuser = \"ana\"").contains("did you mean `anna`?"));
        assert!(refused("[[external]]\ncomand = \"x\"").contains("comand"));
        assert!(rules("").mean_nobody_external());
        for never in [
            "command = \"\"",
            "command = \"a\\u0000\"",
            "command = \"a-name-of-16-byte\"",
            "command = \"*longer-than-fifteen*\"",
            "group = \"\"",
            "group = \"batch\"",
        ] {
            let fault = parse(&format!("[[external]]\n{never}")).expect_err(never);
            assert!(fault.message.contains("is ever so") && fault.remedy.is_some(), "{fault}");
        }
        rules("[[external]]\ncommand = \"fifteen-bytes-a*\"\ngroup = \"*/batch\"");
        for text in ["schema = \"crosstalk.guard/9\"", "[[external]]\ncommand = \"a\""] {
            let fault = Rules::parse(text, USERS).expect_err("refused");
            assert!(fault.remedy.is_some_and(|said| said.contains("crosstalk.guard/1")), "{text}");
        }
    }

    #[test]
    fn what_is_no_toml_is_told_by_its_line_and_in_short() {
        let fault = parse(&format!("\n[[own]]\n{}", "x".repeat(100_000))).expect_err("refused");
        assert!(fault.message.starts_with("line 4: ") && fault.message.len() < 200, "{fault}");
        let fault = parse("[[own]]\nsession = \"x\"").expect_err("refused");
        assert!(fault.message.starts_with("line 3: ") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text) in
            [("*", ""), ("a*c", "abc"), ("a*c", "ac"), ("*b*", "abc"), ("a*b*c", "a-b-b-c"), ("ab", "ab")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*c", "ab"), ("ab*ba", "aba"), ("a", "ab"), ("*x*", "abc")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}", pattern in "[a*é]{0,8}", name in "[aé]{0,8}") {
            let _ = Rules::parse(&text, &text);
            let _ = parse(&format!("[[external]]\ncommand = \"{pattern}\"\nuser = \"{name}\""));
            fits(&pattern, &name);
        }
    }
}
