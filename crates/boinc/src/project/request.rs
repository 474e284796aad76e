//! A host's request to the scheduler (`client/cs_scheduler.cpp`, `CLIENT_STATE::make_scheduler_request`).

use std::collections::BTreeSet;

use crate::markup::{Element, elements, first};

use super::line::ResultId;

/// The longest request, in bytes: a thousand results of a program that prints as little as ours. It is read
/// before its key can be checked.
pub const LONGEST: u64 = 2 << 20;

/// The longest name that is accepted, in bytes.
const LONGEST_NAME: usize = 255;

/// The state of a result whose output is uploaded (`RESULT_FILES_UPLOADED`).
const UPLOADED: i64 = 5;

/// A host's report of one result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Its name, which is acknowledged.
    pub name: String,
    /// Why it has no answer; `None` where it should have one.
    pub failure: Option<String>,
    /// Its CPU time, in seconds.
    pub cpu: f64,
}

/// A request of a host to the scheduler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchedulerRequest {
    /// The account's key.
    pub key: String,
    /// The host's number; 0 where it has none yet.
    pub host: u64,
    /// Its own name (`host_cpid`).
    pub name: String,
    /// The platforms whose programs it runs.
    pub platforms: Vec<String>,
    /// The project's public key that it has.
    pub code_key: String,
    /// Its processors.
    pub cores: u32,
    /// Seconds of work that it requests.
    pub seconds: f64,
    /// Its idle processors.
    pub idle: f64,
    /// Results that it reports.
    pub reports: Vec<Report>,
    /// Other results that it has.
    pub held: BTreeSet<ResultId>,
    /// Names of results that it has and that are not this project's.
    pub unknown: Vec<String>,
}

impl SchedulerRequest {
    /// Parses a request; `None` where it is none.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(body);
        let request = first(&text, "scheduler_request")?;
        let mut parsed = SchedulerRequest { cores: 1, ..SchedulerRequest::default() };
        for element in request.elements() {
            match element.name {
                "authenticator" => parsed.key = element.text(),
                "hostid" => parsed.host = element.value().unwrap_or(0),
                "platform_name" => parsed.platforms.push(element.text()),
                "alt_platform" => {
                    parsed.platforms.extend(first(element.body, "name").map(|name| name.text()))
                }
                "code_sign_key" => parsed.code_key = element.text(),
                "work_req_seconds" => parsed.seconds = element.number().max(0.0),
                "cpu_req_instances" => parsed.idle = element.number().max(0.0),
                "host_info" => parsed.describe(&element),
                "result" => parsed.reports.extend(report(&element)),
                "other_results" => parsed.add_held(&element),
                _ => {}
            }
        }
        Some(parsed)
    }

    fn describe(&mut self, host: &Element<'_>) {
        for element in host.elements() {
            match element.name {
                "host_cpid" => self.name = element.text().chars().take(LONGEST_NAME).collect(),
                "p_ncpus" => self.cores = element.value().unwrap_or(1).clamp(1, 4096),
                _ => {}
            }
        }
    }

    fn add_held(&mut self, others: &Element<'_>) {
        for other in others.elements() {
            let Some(name) = name(&other) else { continue };
            match name.parse() {
                Ok(result) => drop(self.held.insert(result)),
                Err(()) => self.unknown.push(name),
            }
        }
    }
}

fn name(element: &Element<'_>) -> Option<String> {
    let name = first(element.body, "name")?.text();
    (1..=LONGEST_NAME).contains(&name.len()).then_some(name)
}

fn report(element: &Element<'_>) -> Option<Report> {
    let mut report = Report { name: name(element)?, ..Report::default() };
    let (mut state, mut exit) = (UPLOADED, 0);
    for inner in element.elements() {
        match inner.name {
            "final_cpu_time" => report.cpu = inner.number().max(0.0),
            "exit_status" => exit = inner.value().unwrap_or(-1),
            "state" => state = inner.value().unwrap_or(-1),
            _ => {}
        }
    }
    if (state, exit) != (UPLOADED, 0_i64) {
        report.failure = Some(format!("exit status {exit}, state {state}"));
    }
    Some(report)
}

/// The elements of an upload's head.
pub fn upload_elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    // `<data_server_request>` and `<file_upload>` are not closed before the data.
    let inner = text.split_once("<file_upload>").map_or("", |(_, inner)| inner);
    elements(inner)
}

#[cfg(test)]
mod tests;
