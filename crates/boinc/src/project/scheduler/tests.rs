//! The test plays the hosts, and kills the project between any two requests.

use super::*;
use crate::collatz::{Block, NumberRange, answer_file};
use crate::markup::{Element, first};
use crate::project::line::Line;
use std::fs;
use std::path::Path;

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn open(folder: &Path, units: u64) -> Scheduler {
    let settings = Settings { units: Some(units), size: 256, task: 1.0, ..Settings::default() };
    let open = Directory::open(folder, || Ok(settings)).expect("opens");
    let is_new = open.is_new;
    let scheduler = Scheduler::new(open, "http://127.0.0.1:1/project/".into());
    if is_new {
        let program = folder.join("program");
        fs::write(&program, "program").expect("writes");
        let program = fs::File::open(program).expect("opens");
        let version = scheduler.directory.add_program(&program, None).expect("is taken").expect("is new");
        scheduler.record_event(Line::Version(version)).expect("writes");
    }
    scheduler
}

fn request(scheduler: &Scheduler, idle: f64) -> SchedulerRequest {
    SchedulerRequest {
        key: scheduler.key.clone(),
        name: "a host".into(),
        platforms: vec![PLATFORM.replace("x86_64", std::env::consts::ARCH)],
        cores: 2,
        idle,
        ..SchedulerRequest::default()
    }
}

fn names(reply: &str, tag: &str) -> Vec<String> {
    let whole = first(reply, "scheduler_reply").expect("is one");
    let named = whole.elements().filter(|element| element.name == tag);
    named.map(|element| first(element.body, "name").expect("has one").text()).collect()
}

fn number(reply: &str, tag: &str) -> Option<f64> {
    first(first(reply, "scheduler_reply").expect("is one").body, tag).map(|e: Element<'_>| e.number())
}

/// The upload for a result whose certificate is in `reply`.
fn output(scheduler: &Scheduler, reply: &str, name: &str, spoil: bool) -> Vec<u8> {
    let whole = first(reply, "scheduler_reply").expect("is one");
    let file = format!("{name}_out");
    let named =
        |e: &Element<'_>| e.name == "file_info" && first(e.body, "name").is_some_and(|n| n.text() == file);
    let info = whole.elements().find(named).expect("is there");
    let signature = first(info.body, "xml_signature").expect("is there").text();
    let unit = name.parse::<ResultId>().expect("is one").unit;
    let span =
        NumberRange::parse(&scheduler.input_file(&format!("c_{unit}.in")).expect("is one")).expect("is one");
    let blocks: Vec<Block> = (0..BLOCKS_PER_RANGE).map(|index| Block::of(span.block(index))).collect();
    let mut data = answer_file(span, &blocks);
    if spoil {
        // Every block: whichever is computed again is wrong.
        data = answer_file(
            span,
            &blocks.into_iter().map(|b| Block { steps: b.steps + 1, ..b }).collect::<Vec<_>>(),
        );
    }
    format!(
        "<data_server_request>\n<file_upload>\n<file_info>\n<name>{file}</name>\n<xml_signature>\n{signature}\
         </xml_signature>\n<max_nbytes>{LONGEST_FILE}</max_nbytes>\n</file_info>\n<nbytes>{}</nbytes>\n\
         <offset>0</offset>\n<data>\n{data}",
        data.len()
    )
    .into_bytes()
}

fn report(name: &str) -> super::super::request::Report {
    super::super::request::Report { name: name.into(), failure: None, cpu: 1.5 }
}

#[test]
fn a_work_unit_goes_out_and_comes_back_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 1);
    let reply = scheduler.answer_request(&request(&scheduler, 2.0), 10.0).expect("answers");
    assert_eq!(number(&reply, "hostid"), Some(1.0));
    assert!(reply.contains("<code_sign_key>") && reply.contains("<main_program/>"));
    assert_eq!(names(&reply, "result"), ["c_0_0"]);
    let upload = output(&scheduler, &reply, "c_0_0", false);
    assert_eq!(scheduler.accept_upload(&upload), Ok(None));
    assert_eq!(scheduler.accept_upload(&upload), Ok(None), "again changes nothing");
    let report = SchedulerRequest { host: 1, reports: vec![report("c_0_0")], ..request(&scheduler, 2.0) };
    for _ in 0..2 {
        let reply = scheduler.answer_request(&report, 20.0).expect("answers");
        assert_eq!(names(&reply, "result_ack"), ["c_0_0"]);
        assert!(number(&reply, "hostid").is_none() && names(&reply, "result").is_empty());
    }
    let (counts, done) = scheduler.counts();
    assert!(done && counts.answered == 1 && counts.valid == 1 && counts.cpu == 1.5, "{counts:?}");
    assert_eq!(super::super::directory::read_counts(folder.path()), Ok(counts));
}

#[test]
fn a_host_cannot_report_another_host_s_result() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 1);
    let reply = scheduler.answer_request(&request(&scheduler, 1.0), 10.0).expect("answers");
    assert_eq!(scheduler.accept_upload(&output(&scheduler, &reply, "c_0_0", false)), Ok(None));
    let other = SchedulerRequest { name: "another host".into(), ..request(&scheduler, 0.0) };
    let failed = super::super::request::Report { failure: Some("it failed".into()), ..report("c_0_0") };
    for said in [failed, report("c_0_0")] {
        let reply = scheduler
            .answer_request(&SchedulerRequest { reports: vec![said], ..other.clone() }, 20.0)
            .expect("answers");
        assert_eq!(names(&reply, "result_ack"), ["c_0_0"], "else it would come again for ever");
    }
    let held = [ResultId { unit: 0, instance: 0 }].into();
    let reply = scheduler.answer_request(&SchedulerRequest { held, ..other }, 20.0).expect("answers");
    assert_eq!(names(&reply, "result_abort"), ["c_0_0"]);
    let counts = scheduler.counts().0;
    assert_eq!((counts.failed, counts.valid, counts.out), (0, 0, 1));
    let own = SchedulerRequest { host: 1, reports: vec![report("c_0_0")], ..request(&scheduler, 0.0) };
    scheduler.answer_request(&own, 30.0).expect("answers");
    assert_eq!(scheduler.counts().0.valid, 1);
}

#[test]
fn a_result_that_was_lost_on_its_way_is_sent_again_under_its_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 5);
    let first_reply = scheduler.answer_request(&request(&scheduler, 2.0), 10.0).expect("answers");
    let result = names(&first_reply, "result");
    assert_eq!(result.len(), 2);
    drop(scheduler);
    // The project was killed; the host got no reply, and has no number.
    let scheduler = open(folder.path(), 5);
    let reply = scheduler.answer_request(&request(&scheduler, 0.0), 11.0).expect("answers");
    assert_eq!((names(&reply, "result"), number(&reply, "hostid")), (result.clone(), Some(1.0)));
    // Now it lists one of the two.
    let held = [result[0].parse().expect("is one")].into();
    let reply = scheduler
        .answer_request(&SchedulerRequest { host: 1, held, ..request(&scheduler, 0.0) }, 12.0)
        .expect("answers");
    assert_eq!(names(&reply, "result"), result[1..]);
    assert_eq!(scheduler.counts().0.sent, 2);
}

#[test]
fn no_host_gets_more_results_than_allowed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 100);
    let reply = scheduler
        .answer_request(&SchedulerRequest { seconds: 1e9, ..request(&scheduler, 2.0) }, 10.0)
        .expect("answers");
    assert_eq!(names(&reply, "result").len(), 8, "four for each of two processors");
}

#[test]
fn a_wrong_answer_is_no_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 1);
    let reply = scheduler.answer_request(&request(&scheduler, 1.0), 10.0).expect("answers");
    assert_eq!(scheduler.accept_upload(&output(&scheduler, &reply, "c_0_0", true)), Ok(None));
    let reported = SchedulerRequest { host: 1, reports: vec![report("c_0_0")], ..request(&scheduler, 1.0) };
    let reply = scheduler.answer_request(&reported, 20.0).expect("answers");
    assert_eq!(
        (names(&reply, "result_ack"), names(&reply, "result")),
        (vec!["c_0_0".into()], vec!["c_0_1".into()])
    );
    assert_eq!((scheduler.counts().0.failed, scheduler.counts().0.answered), (1, 0));
}

#[test]
fn wrong_keys_and_other_platforms_get_nothing_and_leave_no_trace() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 1);
    let before = fs::read(folder.path().join("journal.ndjson")).expect("reads");
    let refused = [
        SchedulerRequest { key: "guess".into(), reports: vec![report("c_0_0")], ..request(&scheduler, 1.0) },
        SchedulerRequest { platforms: vec!["windows_x86_64".into()], ..request(&scheduler, 1.0) },
    ];
    for request in refused {
        let reply = scheduler.answer_request(&request, 10.0).expect("answers");
        assert!(names(&reply, "result").is_empty() && names(&reply, "result_ack").is_empty(), "{reply}");
        assert!(reply.contains("priority=\"notice\""));
    }
    assert_eq!(fs::read(folder.path().join("journal.ndjson")).expect("reads"), before);
}

#[test]
fn results_that_are_not_needed_are_cancelled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 1);
    let held = [ResultId { unit: 7, instance: 0 }].into();
    let request = SchedulerRequest { held, unknown: vec!["old_wu".into()], ..request(&scheduler, 0.0) };
    let reply = scheduler.answer_request(&request, 10.0).expect("answers");
    assert_eq!(names(&reply, "result_abort"), ["c_7_0", "old_wu"]);
}

#[test]
fn an_upload_for_a_result_that_was_never_sent_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 2);
    let reply = scheduler.answer_request(&request(&scheduler, 1.0), 10.0).expect("answers");
    let upload = String::from_utf8(output(&scheduler, &reply, "c_0_0", false)).expect("is text");
    let forged = upload.replace("c_0_0_out", "c_1_0_out");
    assert!(matches!(scheduler.accept_upload(forged.as_bytes()), Err(UploadRefusal::Permanent(_))));
    assert_eq!(fs::read_dir(folder.path().join("upload")).expect("is there").count(), 0);
    let size = "<data_server_request>\n<get_file_size>c_0_0_out</get_file_size>\n</data_server_request>\n";
    assert_eq!(scheduler.accept_upload(size.as_bytes()), Ok(Some(0)));
    assert_eq!(scheduler.accept_upload(upload.as_bytes()), Ok(None));
    assert_eq!(scheduler.accept_upload(size.as_bytes()), Ok(Some(LONGEST_FILE)));
}

#[test]
fn only_inputs_that_there_are_can_be_had() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scheduler = open(folder.path(), 2);
    assert!(scheduler.input_file("c_1.in").is_some());
    for name in ["c_2.in", "c_01.in", "c_1", "../journal.ndjson", "c_1_0.in", ".in", ""] {
        assert_eq!(scheduler.input_file(name), None, "{name}");
    }
    assert_eq!(scheduler.program_called("../code_key.pem"), None);
}
