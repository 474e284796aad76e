//! The application; the test is its client.

use super::channel::{Channel, create_channels};
use super::*;
use crate::collatz::{NumberRange, read_answer};
use std::fs;
use std::thread;

const SPAN: NumberRange = NumberRange { from: 1 << 40, to: (1 << 40) + 40_000 };

/// A data directory with a slot, as the client makes it.
fn slot(span: NumberRange) -> (tempfile::TempDir, std::path::PathBuf) {
    let data = tempfile::tempdir().expect("a temporary folder");
    let (slot, project) = (data.path().join("slots/0"), data.path().join("projects/p"));
    fs::create_dir_all(&slot).expect("makes");
    fs::create_dir_all(&project).expect("makes");
    fs::write(project.join("c_1.in"), span.to_file()).expect("writes");
    fs::write(slot.join("in"), "<soft_link>../../projects/p/c_1.in</soft_link>\n").expect("writes");
    fs::write(slot.join("out"), "<soft_link>../../projects/p/c_1_0_out</soft_link>\n").expect("writes");
    (data, slot)
}

#[test]
fn the_output_is_written_through_the_link_and_the_end_is_reported() {
    let (data, slot) = slot(SPAN);
    assert_eq!(run(&slot), Ok(TaskEnd::Finished));
    let output = fs::read_to_string(data.path().join("projects/p/c_1_0_out")).expect("is there");
    let blocks = read_answer(SPAN, &output).expect("is one");
    assert!(crate::collatz::block_is_right(SPAN, &blocks, 5));
    assert_eq!(fs::read_to_string(slot.join("boinc_finish_called")).expect("is there"), "0\n");
    assert!(fs::read_to_string(slot.join("out")).expect("still a link").contains("soft_link"));
}

#[test]
fn it_pauses_resumes_and_quits_on_command() {
    // Too long to end by itself.
    let (_data, slot) = slot(NumberRange { from: SPAN.from, to: SPAN.from + (1 << 36) });
    fs::write(
        slot.join("init_data.xml"),
        "<app_init_data>\n<wu_cpu_time>100.0</wu_cpu_time>\n</app_init_data>",
    )
    .expect("writes");
    let client = create_channels(&slot);
    let status = |what: &str| {
        for _ in 0..1000 {
            if let Some(message) = client.take_message(Channel::Status).expect("reads") {
                return message;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("no report {what}");
    };
    let cpu = |message: &str| -> f64 {
        let from = message.find("<current_cpu_time>").expect("is reported") + 18;
        message[from..].split('<').next().and_then(|n| n.parse().ok()).expect("is a number")
    };
    thread::scope(|scope| {
        let app = scope.spawn(|| run(&slot));
        assert!(cpu(&status("at first")) >= 100.0);
        assert!(client.send_message(Channel::Control, "<suspend/>").expect("writes"));
        // Reports while it is paused. The test's own threads use the same clock, so nothing is said of the
        // CPU time.
        status("on the way into the pause");
        status("in the pause");
        assert!(client.send_message(Channel::Control, "<resume/>").expect("writes"));
        status("after the pause");
        assert!(client.send_message(Channel::Control, "<quit/>").expect("writes"));
        assert_eq!(app.join().expect("ends"), Ok(TaskEnd::Later));
    });
    assert!(!slot.join("boinc_finish_called").exists());
}

#[test]
fn an_abort_ends_it_with_its_code() {
    let (_data, slot) = slot(SPAN);
    create_channels(&slot).send_message(Channel::Control, "<abort/>").expect("writes");
    assert_eq!(run(&slot), Ok(TaskEnd::Aborted));
    assert_eq!(TaskEnd::Aborted.exit_code(), 194);
}

#[test]
fn what_was_done_is_not_done_again() {
    let (data, slot) = slot(SPAN);
    // A block that was never computed is taken over as it is; the line that was cut is not.
    let mut note = SPAN.to_file() + "1 2 3\n4 5";
    fs::write(slot.join("crosstalk_done"), &note).expect("writes");
    assert_eq!(run(&slot), Ok(TaskEnd::Finished));
    let output = fs::read_to_string(data.path().join("projects/p/c_1_0_out")).expect("is there");
    let blocks = read_answer(SPAN, &output).expect("is one");
    assert_eq!(blocks[0], Block { longest: 1, at: 2, steps: 3 });
    assert!(crate::collatz::block_is_right(SPAN, &blocks, 1));
    // A checkpoint of other numbers does not count.
    note = note.replace(&SPAN.from.to_string(), "7");
    fs::write(slot.join("crosstalk_done"), note).expect("writes");
    assert_eq!(run(&slot), Ok(TaskEnd::Finished));
    let output = fs::read_to_string(data.path().join("projects/p/c_1_0_out")).expect("is there");
    assert!(crate::collatz::block_is_right(SPAN, &read_answer(SPAN, &output).expect("is one"), 0));
}

#[test]
fn a_second_process_of_the_same_task_is_postponed() {
    let (_data, slot) = slot(SPAN);
    let held = Slot::new(&slot).lock().expect("locks").expect("is free");
    assert_eq!(run(&slot), Ok(TaskEnd::Later));
    let text = fs::read_to_string(slot.join("boinc_temporary_exit")).expect("is there");
    assert!(text.starts_with("5\n"), "{text}");
    assert!(!slot.join("boinc_finish_called").exists());
    drop(held);
}

#[test]
fn an_input_that_is_none_is_named() {
    let (data, slot) = slot(SPAN);
    fs::write(data.path().join("projects/p/c_1.in"), "rubbish").expect("writes");
    let fault = run(&slot).expect_err("refused");
    assert!(fault.place.is_some_and(|place| place.ends_with("c_1.in")));
}
