//! A request's way through the book and into the journal, and its answer. One at a time;
//! what takes long (checking a result, signing) is done outside.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::client::md5_hex;
use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;

use super::book::{Book, Counts};
use super::home::{Home, Open};
use super::journal::Journal;
use super::line::{Given, Line, Outcome, Version};
use super::reply::Reply;
use super::request::Asked;
use super::settings::Settings;
use super::upload::{self, Refused, Wanted};
use crate::collatz::{BLOCKS, LONGEST_FILE, holds, read_answer};

/// Seconds that a host waits before it asks again.
const WAIT: f64 = 1.0;
/// Seconds after which it asks again, whatever it has, while there is work.
const AGAIN: f64 = 30.0;
/// Results in one reply, at most.
const MOST: usize = 500;

/// See the module.
pub struct Desk {
    pub home: Home,
    pub key: String,
    /// The project's address, with a slash at the end.
    pub url: String,
    settings: Settings,
    files: Mutex<Files>,
    /// The results that are being checked.
    checking: Mutex<BTreeSet<Given>>,
}

/// A result that is being checked, by nobody else meanwhile.
struct Checking<'a>(&'a Mutex<BTreeSet<Given>>, Given);

impl<'a> Checking<'a> {
    /// `None` where somebody else is at it.
    fn begin(all: &'a Mutex<BTreeSet<Given>>, given: Given) -> Option<Self> {
        let new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(given);
        new.then(|| Checking(all, given))
    }
}

impl Drop for Checking<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

struct Files {
    book: Book,
    journal: Journal,
    /// Why nothing more can be written: then the book is ahead of the journal, and
    /// nothing of it may be told any more.
    broken: Option<Fault>,
}

impl Files {
    fn take(&mut self, line: Line, lines: &mut Vec<Line>) -> Result<(), Fault> {
        self.book.apply(&line).map_err(|why| self.give_up(Fault::environment(why)))?;
        lines.push(line);
        Ok(())
    }

    fn write(&mut self, lines: &[Line]) -> Result<(), Fault> {
        self.journal.add(lines).map_err(|fault| self.give_up(fault))
    }

    fn give_up(&mut self, fault: Fault) -> Fault {
        self.broken.get_or_insert(fault).clone()
    }
}

impl Desk {
    /// The desk of a project that was opened, and is found at `url`.
    pub fn new(open: Open, url: String) -> Self {
        let Open { home, book, journal, key, .. } = open;
        let settings = *book.settings();
        let files = Mutex::new(Files { book, journal, broken: None });
        Desk { home, key, url, settings, files, checking: Mutex::default() }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(|poisoned| {
            let mut files = poisoned.into_inner();
            // Whoever broke off may have left the book ahead of the journal.
            files.broken.get_or_insert_with(|| {
                Fault::environment("a request broke off in its midst")
                    .remedy("start the project again: nothing that was acknowledged is lost")
            });
            files
        })
    }

    fn sound(&self) -> Result<MutexGuard<'_, Files>, Fault> {
        let files = self.files();
        files.broken.clone().map_or(Ok(files), Err)
    }

    /// Why the project cannot go on, where that is so.
    pub fn broken(&self) -> Option<Fault> {
        self.files().broken.clone()
    }

    /// How far the project is, and whether it is done.
    pub fn counts(&self) -> (Counts, bool) {
        let files = self.files();
        (files.book.counts(), files.book.is_done())
    }

    /// The work units' answers: a line each, with the result that has it and its MD5.
    pub fn answers(&self) -> String {
        self.files()
            .book
            .answers()
            .map(|(given, answer)| format!("{} {given} {answer}\n", given.unit))
            .collect()
    }

    /// What the project is to do.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The program that hosts get now.
    pub fn latest(&self) -> Option<Version> {
        self.files().book.version().cloned()
    }

    /// The program of that name, where hosts may have it.
    pub fn version(&self, file: &str) -> Option<Version> {
        self.files().book.versions().iter().find(|version| version.file == file).cloned()
    }

    /// The input of that name.
    pub fn input(&self, file: &str) -> Option<String> {
        let unit = format!("{}_0", file.strip_suffix(".in")?).parse::<Given>().ok()?.unit;
        Some(self.settings.span(unit)?.to_file())
    }

    /// Writes something that is not about results.
    pub fn note(&self, line: Line) -> Result<(), Fault> {
        let mut files = self.sound()?;
        let mut lines = Vec::new();
        files.take(line, &mut lines)?;
        files.write(&lines)
    }

    /// Answers a request to the scheduler at the moment `now`. What it acknowledges and
    /// gives is in the journal when this returns.
    pub fn schedule(&self, asked: &Asked, now: f64) -> Result<String, Fault> {
        let done = self.counts().1;
        let mut reply = Reply::new(&self.url, &self.settings, WAIT, (!done).then_some(AGAIN));
        if asked.key != self.key {
            reply.say(true, "The account key is wrong. Remove this project, and add it with the right one.");
            return Ok(reply.end());
        }
        let Some(platform) = asked.platforms.iter().find(|platform| fits(platform)) else {
            reply.say(true, "This project has programs only for machines like its own.");
            return Ok(reply.end());
        };
        let mut lines = Vec::new();
        let mut files = self.sound()?;
        for line in files.book.late(now) {
            files.take(line, &mut lines)?;
        }
        let host = welcome(&mut files, asked, &mut lines, &mut reply)?;
        for report in &asked.reports {
            let line =
                report.name.parse().ok().and_then(|given| {
                    files.book.report(host, given, report.failure.clone(), report.cpu, now)
                });
            line.map_or(Ok(()), |line| files.take(line, &mut lines))?;
            // Known, known before, another's or unknown: it needs not come again.
            reply.acknowledge(&report.name);
        }
        let give = choose(&mut files, asked, host, now, &mut lines)?;
        for given in &asked.held {
            // What it did with another's would not be taken.
            if !files.book.gave_to(*given, host) {
                reply.abort(&given.to_string());
            } else if files.book.is_spare(*given) {
                reply.spare(*given);
            }
        }
        asked.strange.iter().for_each(|name| reply.abort(name));
        let version = files.book.version().cloned();
        files.write(&lines)?;
        drop(files);
        if asked.code_key.trim() != self.home.code.public().trim() {
            reply.code_key(&self.home.code);
        }
        if let Some(version) = version.filter(|_| !give.is_empty()) {
            reply.application(&version, platform);
            for (given, deadline) in give {
                reply.give(given, deadline, &version, platform, &self.home.upload)?;
            }
        } else if done {
            reply.say(false, "All work units have their answers.");
        }
        Ok(reply.end())
    }

    /// Takes an upload in, and checks what came.
    ///
    /// # Errors
    /// When it is refused, or cannot be kept.
    pub fn upload(&self, body: &[u8]) -> Result<Option<u64>, Refused> {
        let now = |fault: Fault| Refused::Now(fault.message);
        match upload::read(body, &self.home.upload)? {
            Wanted::Size(given) => {
                let files = self.sound().map_err(now)?;
                // All or nothing: what came only in part comes again.
                let whole = files.book.gave(given) && !files.book.awaits(given);
                Ok(Some(if whole { LONGEST_FILE } else { 0 }))
            }
            Wanted::Put(given, data) => {
                // A host that has waited too long for the reply may bring it again meanwhile.
                let Some(_checking) = Checking::begin(&self.checking, given) else {
                    return Err(Refused::Now("that result is being checked".into()));
                };
                {
                    let files = self.sound().map_err(now)?;
                    if !files.book.gave(given) {
                        return Err(Refused::Ever("that result was never given out".into()));
                    }
                    if !files.book.awaits(given) {
                        return Ok(None);
                    }
                }
                let outcome = self.check(given, &data);
                let mut files = self.sound().map_err(now)?;
                // It may have been reported meanwhile.
                if files.book.awaits(given) {
                    self.home.keep(given, &data).map_err(now)?;
                    let mut lines = Vec::new();
                    files.take(Line::Uploaded { given, outcome }, &mut lines).map_err(now)?;
                    files.write(&lines).map_err(now)?;
                }
                Ok(None)
            }
        }
    }

    /// What an output comes to: some of its blocks, which nobody can guess, are done again.
    fn check(&self, given: Given, data: &[u8]) -> Outcome {
        let failed = |why: String| Outcome::Failed { why };
        let Some(span) = self.settings.span(given.unit) else {
            return failed("there is no such work unit".into());
        };
        let text = String::from_utf8_lossy(data);
        let blocks = match read_answer(span, &text) {
            Ok(blocks) => blocks,
            Err(why) => return failed(why),
        };
        let mut order: Vec<u32> = (0..BLOCKS).collect();
        Rng::seeded(RandomState::new().build_hasher().finish()).shuffle(&mut order);
        match order.iter().take(self.settings.checks as usize).find(|index| !holds(span, &blocks, **index)) {
            Some(index) => failed(format!("block {index} is wrong")),
            None => Outcome::Valid { answer: md5_hex(data) },
        }
    }
}

/// The host's number: the one it has, the one it had, or a new one.
fn welcome(
    files: &mut Files,
    asked: &Asked,
    lines: &mut Vec<Line>,
    reply: &mut Reply<'_>,
) -> Result<u64, Fault> {
    if files.book.knows(asked.host) {
        return Ok(asked.host);
    }
    let next = files.book.counts().hosts + 1;
    // One whose first answer got lost has a name by itself already.
    let name = if asked.name.is_empty() { format!("host {next}") } else { asked.name.clone() };
    let known = files.book.host(&name);
    if known.is_none() {
        files.take(Line::Host { host: next, name }, lines)?;
    }
    let host = known.unwrap_or(next);
    reply.host(host);
    Ok(host)
}

/// What a host is given: what it should have and does not know of, because an answer got
/// lost or its disk did, and then as much anew as it asks for and may have.
fn choose(
    files: &mut Files,
    asked: &Asked,
    host: u64,
    now: f64,
    lines: &mut Vec<Line>,
) -> Result<Vec<(Given, f64)>, Fault> {
    let unknown: Vec<Given> = files.book.with(host).filter(|given| !asked.held.contains(given)).collect();
    let mut give = Vec::new();
    for given in unknown {
        if files.book.is_spare(given) {
            files.take(Line::Lost { given, at: now }, lines)?;
        } else if give.len() < MOST {
            give.push((given, files.book.deadline(given).unwrap_or(now)));
        }
    }
    let settings = *files.book.settings();
    let room = (asked.cores as usize * settings.ahead as usize).saturating_sub(files.book.with(host).count());
    let wanted = (asked.seconds / settings.task).ceil().max(asked.idle.ceil()).min(1e6) as usize;
    for _ in 0..room.min(wanted).min(MOST.saturating_sub(give.len())) {
        let Some(line) = files.book.next(host, now) else { break };
        if let Line::Sent { given, deadline, .. } = line {
            give.push((given, deadline));
        }
        files.take(line, lines)?;
    }
    Ok(give)
}

/// Whether this machine's program runs on such a machine: `x86_64-pc-linux-gnu`.
fn fits(platform: &str) -> bool {
    platform.starts_with(std::env::consts::ARCH) && platform.contains(std::env::consts::OS)
}

#[cfg(test)]
mod tests;
