//! Answers requests by the project's state, and records the events in the journal. Requests are handled one
//! at a time; long work (checking a result, signing) is done in parallel.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::digest::md5_hex;
use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;

use super::directory::{Directory, OpenProject};
use super::line::{Line, Outcome, ResultId, Version};
use super::reply::Reply;
use super::request::SchedulerRequest;
use super::settings::Settings;
use super::state::Counts;
use super::store::Store;
use super::upload::{self, UploadRefusal, UploadRequest};
use crate::collatz::{BLOCKS_PER_RANGE, LONGEST_FILE, block_is_right, read_answer};

/// Seconds that a host waits before its next request.
const REQUEST_DELAY: f64 = 1.0;
/// Seconds after which a host makes a request in any case, while there is work.
const NEXT_REQUEST: f64 = 30.0;
/// The most results in one reply.
const MOST_RESULTS: usize = 500;

/// An open project that answers requests.
pub struct Scheduler {
    pub directory: Directory,
    pub key: String,
    /// The project's address, with a trailing slash.
    pub url: String,
    settings: Settings,
    store: Mutex<Store>,
    /// The results that are being checked.
    checking: Mutex<BTreeSet<ResultId>>,
}

/// A result that this thread alone checks.
struct Checking<'a>(&'a Mutex<BTreeSet<ResultId>>, ResultId);

impl<'a> Checking<'a> {
    /// `None` where another thread checks it.
    fn begin(all: &'a Mutex<BTreeSet<ResultId>>, result: ResultId) -> Option<Self> {
        let new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(result);
        new.then(|| Checking(all, result))
    }
}

impl Drop for Checking<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl Scheduler {
    /// The scheduler of an open project, which hosts find at `url`.
    pub fn new(open: OpenProject, url: String) -> Self {
        let OpenProject { directory, state, journal, key, .. } = open;
        let settings = *state.settings();
        let store = Mutex::new(Store::new(state, journal));
        Scheduler { directory, key, url, settings, store, checking: Mutex::default() }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(|poisoned| {
            let mut store = poisoned.into_inner();
            // The thread that panicked may have left the state ahead of the journal.
            store.failure.get_or_insert_with(|| {
                Fault::environment("a request failed before its events were written")
                    .remedy("start the project again: nothing that was acknowledged is lost")
            });
            store
        })
    }

    fn usable(&self) -> Result<MutexGuard<'_, Store>, Fault> {
        let store = self.store();
        store.failure.clone().map_or(Ok(store), Err)
    }

    /// Why the project cannot continue, if so.
    pub fn failure(&self) -> Option<Fault> {
        self.store().failure.clone()
    }

    /// The counts, and whether all work is done.
    pub fn counts(&self) -> (Counts, bool) {
        let store = self.store();
        (store.state.counts(), store.state.is_done())
    }

    /// The work units' answers, one a line: the unit, the result that has it, and its MD5.
    pub fn answers(&self) -> String {
        self.store()
            .state
            .answers()
            .map(|(result, answer)| format!("{} {result} {answer}\n", result.unit))
            .collect()
    }

    /// The project's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The program that hosts get now.
    pub fn latest_program(&self) -> Option<Version> {
        self.store().state.version().cloned()
    }

    /// The program of that name, if it is one for hosts.
    pub fn program_called(&self, file: &str) -> Option<Version> {
        self.store().state.versions().iter().find(|version| version.file == file).cloned()
    }

    /// The input file of that name.
    pub fn input_file(&self, file: &str) -> Option<String> {
        let unit = format!("{}_0", file.strip_suffix(".in")?).parse::<ResultId>().ok()?.unit;
        Some(self.settings.range_of_unit(unit)?.to_file())
    }

    /// Records an event that is not about results.
    pub fn record_event(&self, line: Line) -> Result<(), Fault> {
        let mut store = self.usable()?;
        let mut lines = Vec::new();
        store.apply_line(line, &mut lines)?;
        store.write_lines(&lines)
    }

    /// Answers a request at the time `now`. What the reply acknowledges and sends is in the journal when this
    /// returns.
    pub fn answer_request(&self, request: &SchedulerRequest, now: f64) -> Result<String, Fault> {
        let done = self.counts().1;
        let mut reply = Reply::new(&self.url, &self.settings, REQUEST_DELAY, (!done).then_some(NEXT_REQUEST));
        if request.key != self.key {
            reply.add_message(
                true,
                "The account key is wrong. Remove this project, and add it with the right one.",
            );
            return Ok(reply.into_text());
        }
        let Some(platform) = request.platforms.iter().find(|platform| runs_here(platform)) else {
            reply.add_message(true, "This project has programs only for machines like its own.");
            return Ok(reply.into_text());
        };
        let mut lines = Vec::new();
        let mut store = self.usable()?;
        for line in store.state.overdue_lines(now) {
            store.apply_line(line, &mut lines)?;
        }
        let host = register_host(&mut store, request, &mut lines, &mut reply)?;
        for report in &request.reports {
            let line = report.name.parse().ok().and_then(|result| {
                store.state.report_line(host, result, report.failure.clone(), report.cpu, now)
            });
            line.map_or(Ok(()), |line| store.apply_line(line, &mut lines))?;
            // Also for a result that is unknown, another host's, or reported before: it must not be reported
            // again.
            reply.add_acknowledgement(&report.name);
        }
        let give = choose_results(&mut store, request, host, now, &mut lines)?;
        for result in &request.held {
            // A result of another host would not be accepted from it.
            if !store.state.was_given_to(*result, host) {
                reply.add_abort(&result.to_string());
            } else if store.state.is_unneeded(*result) {
                reply.add_abort_if_not_started(*result);
            }
        }
        request.unknown.iter().for_each(|name| reply.add_abort(name));
        let version = store.state.version().cloned();
        store.write_lines(&lines)?;
        drop(store);
        if request.code_key.trim() != self.directory.code.public().trim() {
            reply.add_code_key(&self.directory.code);
        }
        if let Some(version) = version.filter(|_| !give.is_empty()) {
            reply.add_application(&version, platform);
            for (result, deadline) in give {
                reply.add_result(result, deadline, &version, platform, &self.directory.upload)?;
            }
        } else if done {
            reply.add_message(false, "All work units have their answers.");
        }
        Ok(reply.into_text())
    }

    /// Accepts an upload, and checks the output.
    ///
    /// # Errors
    /// Where it is refused, or cannot be stored.
    pub fn accept_upload(&self, body: &[u8]) -> Result<Option<u64>, UploadRefusal> {
        let now = |fault: Fault| UploadRefusal::Temporary(fault.message);
        match upload::parse_upload(body, &self.directory.upload)? {
            UploadRequest::Size(result) => {
                let store = self.usable().map_err(now)?;
                // All or nothing: an incomplete upload starts again.
                let whole = store.state.was_given_out(result) && !store.state.awaits_output(result);
                Ok(Some(if whole { LONGEST_FILE } else { 0 }))
            }
            UploadRequest::Put(result, data) => {
                // A host that has waited too long for the reply may send it again meanwhile.
                let Some(_checking) = Checking::begin(&self.checking, result) else {
                    return Err(UploadRefusal::Temporary("that result is being checked".into()));
                };
                {
                    let store = self.usable().map_err(now)?;
                    if !store.state.was_given_out(result) {
                        return Err(UploadRefusal::Permanent("that result was never given out".into()));
                    }
                    if !store.state.awaits_output(result) {
                        return Ok(None);
                    }
                }
                let outcome = self.check(result, &data);
                let mut store = self.usable().map_err(now)?;
                // The result may have been reported meanwhile.
                if store.state.awaits_output(result) {
                    self.directory.store_upload(result, &data).map_err(now)?;
                    let mut lines = Vec::new();
                    store.apply_line(Line::Uploaded { result, outcome }, &mut lines).map_err(now)?;
                    store.write_lines(&lines).map_err(now)?;
                }
                Ok(None)
            }
        }
    }

    /// The outcome of an output: some of its blocks, which no host can predict, are computed again.
    fn check(&self, result: ResultId, data: &[u8]) -> Outcome {
        let failed = |why: String| Outcome::Failed { why };
        let Some(span) = self.settings.range_of_unit(result.unit) else {
            return failed("there is no such work unit".into());
        };
        let text = String::from_utf8_lossy(data);
        let blocks = match read_answer(span, &text) {
            Ok(blocks) => blocks,
            Err(why) => return failed(why),
        };
        let mut order: Vec<u32> = (0..BLOCKS_PER_RANGE).collect();
        Rng::seeded(RandomState::new().build_hasher().finish()).shuffle(&mut order);
        match order
            .iter()
            .take(self.settings.checks as usize)
            .find(|index| !block_is_right(span, &blocks, **index))
        {
            Some(index) => failed(format!("block {index} is wrong")),
            None => Outcome::Valid { answer: md5_hex(data) },
        }
    }
}

/// The host's number: the one in its request, the one of its name, or a new one.
fn register_host(
    store: &mut Store,
    request: &SchedulerRequest,
    lines: &mut Vec<Line>,
    reply: &mut Reply<'_>,
) -> Result<u64, Fault> {
    if store.state.has_host(request.host) {
        return Ok(request.host);
    }
    let next = store.state.counts().hosts + 1;
    // A host whose first reply was lost has named itself already.
    let name = if request.name.is_empty() { format!("host {next}") } else { request.name.clone() };
    let known = store.state.host_number(&name);
    if known.is_none() {
        store.apply_line(Line::Host { host: next, name }, lines)?;
    }
    let host = known.unwrap_or(next);
    reply.add_host_id(host);
    Ok(host)
}

/// Chooses results for a host: those that it should have and does not list, because a reply or its disk was
/// lost; then new ones, as many as it requests and may have.
fn choose_results(
    store: &mut Store,
    request: &SchedulerRequest,
    host: u64,
    now: f64,
    lines: &mut Vec<Line>,
) -> Result<Vec<(ResultId, f64)>, Fault> {
    let unknown: Vec<ResultId> =
        store.state.held_by(host).filter(|result| !request.held.contains(result)).collect();
    let mut give = Vec::new();
    for result in unknown {
        if store.state.is_unneeded(result) {
            store.apply_line(Line::Lost { result, at: now }, lines)?;
        } else if give.len() < MOST_RESULTS {
            give.push((result, store.state.deadline(result).unwrap_or(now)));
        }
    }
    let settings = *store.state.settings();
    let room =
        (request.cores as usize * settings.ahead as usize).saturating_sub(store.state.held_by(host).count());
    let wanted = (request.seconds / settings.task).ceil().max(request.idle.ceil()).min(1e6) as usize;
    for _ in 0..room.min(wanted).min(MOST_RESULTS.saturating_sub(give.len())) {
        let Some(line) = store.state.next_result_line(host, now) else { break };
        if let Line::Sent { result, deadline, .. } = line {
            give.push((result, deadline));
        }
        store.apply_line(line, lines)?;
    }
    Ok(give)
}

/// Whether this machine's program runs on a platform such as `x86_64-pc-linux-gnu`.
fn runs_here(platform: &str) -> bool {
    platform.starts_with(std::env::consts::ARCH) && platform.contains(std::env::consts::OS)
}

#[cfg(test)]
mod tests;
