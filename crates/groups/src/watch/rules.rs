//! Rules: who starts what, and the group that it gets. The first rule that fits counts.
//!
//! No rule fits programs of root and of system users, whose numbers are below [`FIRST_USER`].

use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_host::regular;
use serde::{Deserialize, Serialize};

use super::file::{RuleEntry, RulesFile, UserWord};
use super::template::{Starter, Template, user_part};
use crate::name::GroupName;
use crate::profile::Profile;
use crate::request::{ProfileRequest, Spelling};
use crate::user::User;

/// The first number of a user who may log in, and the one that stands for nobody (`UID_MIN` of login.defs(5); Debian
/// policy 9.2.2).
pub const FIRST_USER: u32 = 1000;
const NOBODY: u32 = 65_534;
/// The most processes of a kernel (`PID_MAX_LIMIT`).
const MOST_PROCESSES: u32 = 1 << 22;
/// Longer than what people write by hand, in bytes.
const LONGEST: u64 = 1 << 20;

/// Rules in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules(Vec<Rule>);

/// A rule that is consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Where it is in its file.
    line: usize,
    /// The user, if it is for one.
    user: Option<u32>,
    /// The path of the program, without links.
    program: Option<PathBuf>,
    /// Whether it is for login sessions only.
    session: bool,
    /// The group.
    pub group: Template,
    /// What a missing group is made with, if it is made.
    pub make: Option<NewGroup>,
}

/// What a group is made with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewGroup {
    /// What it may have.
    pub profile: Profile,
    /// The most processes and threads in it.
    pub processes: Option<u32>,
}

impl Rules {
    /// Reads a file.
    ///
    /// # Errors
    /// A usage fault that names the file, the line, what was expected, and what to do.
    pub fn read(path: &Path, users: &[User]) -> Result<Self, Fault> {
        let place = path.display().to_string();
        let text = regular::text(path, LONGEST).map_err(|e| {
            Fault::usage(format!("cannot read it: {e}"))
                .at(place.clone())
                .remedy("name a file of rules, as in docs/how-to/pack-users.md")
        })?;
        Self::parse(&text, &place, users)
    }

    /// Reads the text of the file at `place`.
    ///
    /// # Errors
    /// As [`Rules::read`].
    pub fn parse(text: &str, place: &str, users: &[User]) -> Result<Self, Fault> {
        let rules = RulesFile::parse(text, place)?
            .into_iter()
            .map(|(line, entry)| Rule::new(line, entry, users).map_err(|fault| at_line(place, line, fault)));
        rules.collect::<Result<_, _>>().map(Rules)
    }

    /// Without a file: each user who has a group of that name, at the top or in another one.
    ///
    /// # Errors
    /// A usage fault if no user has one, or somebody has two.
    pub fn by_names(groups: &[GroupName], users: &[User]) -> Result<Self, Fault> {
        let mut rules: Vec<Rule> = Vec::new();
        for user in users.iter().filter(|user| is_person(user.id)) {
            let starter = Starter { uid: user.id, user: Some(&user.name), session: None };
            let part = user_part(&starter);
            let own: Vec<&GroupName> =
                groups.iter().filter(|name| name.as_str().rsplit('/').next() == Some(&part)).collect();
            match own[..] {
                [] => {}
                [group] => rules.push(Rule {
                    line: 0,
                    user: Some(user.id),
                    program: None,
                    session: false,
                    group: Template::parse(group.as_str())?,
                    make: None,
                }),
                [one, other, ..] => {
                    return Err(Fault::usage(format!(
                        "{} has two groups: {one} and {other}",
                        user_part(&starter)
                    ))
                    .remedy("choose by a file of rules: crosstalk groups watch --rules FILE"));
                }
            }
        }
        if rules.is_empty() {
            return Err(Fault::usage("no user has a group of that name")
                .remedy("make one, such as: crosstalk groups create alice; or write rules: --rules FILE"));
        }
        Ok(Rules(rules))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The rule of that number.
    pub fn get(&self, number: usize) -> Option<&Rule> {
        self.0.get(number)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Whether a rule may fit programs of that user.
    pub fn concern(&self, uid: u32) -> bool {
        is_person(uid) && self.0.iter().any(|rule| rule.user.is_none_or(|user| user == uid))
    }

    /// The number of the rule that fits, and the group. `program` finds the program's path.
    pub fn choose(
        &self,
        starter: &Starter<'_>,
        program: impl Fn() -> Option<PathBuf>,
    ) -> Option<(usize, GroupName)> {
        if !is_person(starter.uid) {
            return None;
        }
        let mut path = None;
        let mut fits = |rule: &Rule| {
            rule.user.is_none_or(|user| user == starter.uid)
                && (!rule.session || starter.session.is_some())
                && rule.program.as_ref().is_none_or(|program_of_rule| {
                    path.get_or_insert_with(&program).as_ref() == Some(program_of_rule)
                })
        };
        let (number, rule) = self.0.iter().enumerate().find(|(_, rule)| fits(rule))?;
        Some((number, rule.group.name(starter)?))
    }
}

/// Whether a person may have that number, and not a service.
fn is_person(uid: u32) -> bool {
    uid >= FIRST_USER && uid != NOBODY && uid != u32::MAX
}

impl Rule {
    fn new(line: usize, entry: RuleEntry, users: &[User]) -> Result<Self, Fault> {
        let group = Template::parse(&entry.group)?;
        if group.needs_session() && !entry.session {
            return Err(Fault::usage("{session} needs a rule for login sessions")
                .remedy("add to the rule: session = true"));
        }
        let user = user_of(entry.user.as_ref(), users)?;
        if user.is_none() && entry.program.is_none() && !group.is_personal() {
            return Err(Fault::usage(format!("the rule puts everybody into `{}`", entry.group))
                .remedy("name a user or a program, or give each user a group: group = \"{user}\""));
        }
        if entry.user.is_none() && entry.program.is_none() && !entry.session {
            return Err(Fault::usage("the rule fits everybody").remedy(
                "name whom it is for: user = \"alice\", program = \"/usr/bin/x\" or session = true; for every \
                 user: user = \"*\"",
            ));
        }
        let make = made(&entry)?;
        Ok(Rule {
            line,
            user,
            program: entry.program.map(program).transpose()?,
            session: entry.session,
            group,
            make,
        })
    }

    /// A fault of it at its line of the file at `place`.
    pub fn fault(&self, place: &str, fault: Fault) -> Fault {
        at_line(place, self.line, fault)
    }
}

/// A fault of a rule. Its place so far is the key, or an option of that name.
fn at_line(place: &str, line: usize, fault: Fault) -> Fault {
    let message = match &fault.place {
        Some(option) if option.starts_with("--") => {
            format!("{}: {}", option.trim_start_matches("--").replace('-', "_"), fault.message)
        }
        Some(place) => format!("{place}: {}", fault.message),
        None => fault.message.clone(),
    };
    Fault { message, place: None, ..fault }.at(format!("{place}:{line}"))
}

/// The user's number; `None` for all.
fn user_of(word: Option<&UserWord>, users: &[User]) -> Result<Option<u32>, Fault> {
    let user = match word {
        None => return Ok(None),
        Some(UserWord::Name(name)) if name == "*" => return Ok(None),
        Some(UserWord::Name(name)) => User::one_of(users, name)?,
        Some(UserWord::Number(id)) => User::one_of(users, &id.to_string())?,
    };
    if is_person(user.id) {
        return Ok(Some(user.id));
    }
    Err(Fault::usage(format!("user {} ({}) is root or a system user", user.name, user.id)).remedy(format!(
        "name a user from {FIRST_USER} on; a service gets its group by its unit, or begins with: crosstalk exec --group"
    )))
}

/// The program's file without links, as the kernel reports it.
fn program(path: PathBuf) -> Result<PathBuf, Fault> {
    let wrong = |why: String| {
        Fault::usage(format!("program: {why}")).remedy("write the whole path of a program: command -v NAME")
    };
    if !path.is_absolute() {
        return Err(wrong(format!("expected a path from / on, found {}", path.display())));
    }
    let found = path.canonicalize().map_err(|e| wrong(format!("{}: {e}", path.display())))?;
    if found.is_file() { Ok(found) } else { Err(wrong(format!("{} is no file", path.display()))) }
}

fn made(entry: &RuleEntry) -> Result<Option<NewGroup>, Fault> {
    let is_set = [
        entry.profile.is_some(),
        entry.memory.is_some(),
        entry.memory_limit.is_some(),
        entry.cpus.is_some(),
        entry.processes.is_some(),
    ];
    if !entry.create {
        return match is_set.contains(&true) {
            true => Err(Fault::usage("a profile is for a group that the rule makes")
                .remedy("add to the rule: create = true")),
            false => Ok(None),
        };
    }
    if let Some(processes) = entry.processes.filter(|most| !(1..=MOST_PROCESSES).contains(most)) {
        return Err(Fault::usage(format!("expected 1 to {MOST_PROCESSES}, found {processes}"))
            .at("processes")
            .remedy("leave it out for no limit"));
    }
    let request = ProfileRequest {
        kind: entry.profile.unwrap_or_default(),
        memory: entry.memory,
        limit: entry.memory_limit,
        cpus: entry.cpus,
    };
    Ok(Some(NewGroup { profile: request.profile(Spelling::Keys)?, processes: entry.processes }))
}

#[cfg(test)]
#[path = "rules/tests.rs"]
mod tests;
