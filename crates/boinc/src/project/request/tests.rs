//! Tests of `request`.

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
    let request = SchedulerRequest::parse(REQUEST.as_bytes()).expect("is one");
    assert_eq!((request.key.as_str(), request.host, request.name.as_str()), ("key", 3, "abc"));
    assert_eq!((request.cores, request.seconds, request.idle), (50, 120.5, 2.0));
    assert_eq!(request.platforms, ["x86_64-pc-linux-gnu", "i686-pc-linux-gnu"]);
    assert_eq!(request.code_key, "1024\n00\n.");
    let reports: Vec<_> =
        request.reports.iter().map(|r| (r.name.as_str(), r.failure.as_deref(), r.cpu)).collect();
    assert_eq!(reports, [("c_1_0", None, 2.5), ("c_2_0", Some("exit status 194, state 6"), 0.0)]);
    assert_eq!(request.held, BTreeSet::from([ResultId { unit: 3, instance: 1 }]));
    assert_eq!(request.unknown, ["wu_of_another"]);
}

#[test]
fn what_is_no_request_is_none() {
    for body in [&b""[..], b"<html></html>", b"\xff\xfe", b"<scheduler_request>", b"<scheduler_request/"] {
        assert_eq!(SchedulerRequest::parse(body), None);
    }
    assert_eq!(
        SchedulerRequest::parse(b"<scheduler_request></scheduler_request>").map(|request| request.cores),
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
            let request = SchedulerRequest::parse(body.as_bytes()).unwrap_or_default();
            assert!(request.reports.len() <= body.len() / part.len());
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
        if let Some(request) = SchedulerRequest::parse(&request) {
            prop_assert!(request.seconds.is_finite() && request.idle.is_finite());
            prop_assert!(request.unknown.iter().all(|name| name.len() <= LONGEST_NAME));
            prop_assert!(request.seconds >= 0.0 && (1..=4096).contains(&request.cores));
            prop_assert!(request.reports.iter().all(|report| report.cpu.is_finite()));
        }
    }
}
