//! A host's request to the scheduler (`client/cs_scheduler.cpp`, `CLIENT_STATE::make_scheduler_request`).

use std::collections::BTreeSet;

use crate::client::markup::{Element, elements, first};

use super::line::ResultId;

/// The longest request, in bytes: a thousand results of a program that prints as little as ours. It is read
/// before its key can be checked.
pub const LONGEST: u64 = 2 << 20;

/// The longest name that is accepted, in bytes.
const LONGEST_NAME: usize = 255;

/// The state of a result whose output is uploaded (`RESULT_FILES_UPLOADED`).
const UPLOADED: i64 = 5;

/// A report of a result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Its name, which is acknowledged.
    pub name: String,
    /// Why it has no answer; `None` where it should have one.
    pub failure: Option<String>,
    /// Its CPU time, in seconds.
    pub cpu: f64,
}

/// A request.
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
mod tests {
    use super::*;
    use crate::project::damage::damaged;
    use proptest::prelude::*;

    const REQUEST: &str = "<scheduler_request>
    <authenticator>key</authenticator>
    <hostid>3</hostid>
    <platform_name>x86_64-pc-linux-gnu</platform_name>
    <alt_platform>
        <name>i686-pc-linux-gnu</name>
    </alt_platform>
    <work_req_seconds>120.500000</work_req_seconds>
    <cpu_req_instances>2.000000</cpu_req_instances>
    <code_sign_key>
1024
00
.
</code_sign_key>
<host_info>
    <host_cpid>abc</host_cpid>
    <p_ncpus>50</p_ncpus>
    <p_model>R&D <Xeon> @ 2 GHz</p_model>
</host_info>
<result>
    <name>c_1_0</name>
    <final_cpu_time>2.500000</final_cpu_time>
    <exit_status>0</exit_status>
    <state>5</state>
<stderr_out>
<core_client_version>7.20.5</core_client_version>
<![CDATA[
</result><result><name>c_9_9</name></result>
]]>
</stderr_out>
</result>
<result>
    <name>c_2_0</name>
    <exit_status>194</exit_status>
    <state>6</state>
</result>
<other_results>
    <other_result>
        <name>c_3_1</name>
        <app_version>0</app_version>
    </other_result>
    <other_result><name>wu_of_another</name></other_result>
</other_results>
</scheduler_request>";

    #[test]
    fn a_request_is_read_as_a_host_writes_it() {
        let asked = SchedulerRequest::parse(REQUEST.as_bytes()).expect("is one");
        assert_eq!((asked.key.as_str(), asked.host, asked.name.as_str()), ("key", 3, "abc"));
        assert_eq!((asked.cores, asked.seconds, asked.idle), (50, 120.5, 2.0));
        assert_eq!(asked.platforms, ["x86_64-pc-linux-gnu", "i686-pc-linux-gnu"]);
        assert_eq!(asked.code_key, "1024\n00\n.");
        let reports: Vec<_> =
            asked.reports.iter().map(|r| (r.name.as_str(), r.failure.as_deref(), r.cpu)).collect();
        assert_eq!(reports, [("c_1_0", None, 2.5), ("c_2_0", Some("exit status 194, state 6"), 0.0)]);
        assert_eq!(asked.held, BTreeSet::from([ResultId { unit: 3, instance: 1 }]));
        assert_eq!(asked.unknown, ["wu_of_another"]);
    }

    #[test]
    fn what_is_no_request_is_none() {
        for body in [&b""[..], b"<html></html>", b"\xff\xfe", b"<scheduler_request>", b"<scheduler_request/"]
        {
            assert_eq!(SchedulerRequest::parse(body), None);
        }
        assert_eq!(
            SchedulerRequest::parse(b"<scheduler_request></scheduler_request>").map(|asked| asked.cores),
            Some(1)
        );
    }

    #[test]
    fn the_longest_requests_are_read_however_deep_they_are() {
        let long = |part: &str| part.repeat(LONGEST as usize / part.len());
        for part in [
            "<scheduler_request>",
            "<result>",
            "<result><name>c_1_0</name></result>",
            "<result><result></result>",
            "<![CDATA[",
            "<!--",
            "&",
            "<",
            "</result>",
        ] {
            for body in [long(part), format!("<scheduler_request>{}</scheduler_request>", long(part))] {
                let asked = SchedulerRequest::parse(body.as_bytes()).unwrap_or_default();
                assert!(asked.reports.len() <= body.len() / part.len());
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = SchedulerRequest::parse(&bytes);
        }

        #[test]
        fn a_damaged_request_has_only_possible_values(request in damaged(REQUEST.into())) {
            if let Some(asked) = SchedulerRequest::parse(&request) {
                prop_assert!(asked.seconds.is_finite() && asked.idle.is_finite());
                prop_assert!(asked.unknown.iter().all(|name| name.len() <= LONGEST_NAME));
                prop_assert!(asked.seconds >= 0.0 && (1..=4096).contains(&asked.cores));
                prop_assert!(asked.reports.iter().all(|report| report.cpu.is_finite()));
            }
        }
    }
}
