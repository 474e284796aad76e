//! Tests of `journal`.

use super::*;
use crate::project::damage::damaged;
use crate::project::line::ResultId;
use crate::project::settings::Settings;
use proptest::prelude::*;
use std::fs;

fn line(unit: u64) -> Line {
    Line::Lost { result: ResultId { unit, instance: 0 }, at: 0.5 }
}

fn first() -> Line {
    Line::Project { schema: "x".into(), settings: Settings::default(), key: "y".into() }
}

fn lines(folder: &Path) -> Result<Vec<Line>, Fault> {
    let mut lines = Vec::new();
    Journal::open(folder, |line| {
        lines.push(line);
        Ok(())
    })?;
    Ok(lines)
}

/// Six lines.
fn six() -> Vec<Line> {
    std::iter::once(first()).chain((0..5).map(line)).collect()
}

/// Their text.
fn journal() -> Vec<u8> {
    let text = |line: &Line| serde_json::to_string(line).expect("writes") + "\n";
    six().iter().map(text).collect::<String>().into_bytes()
}

#[test]
fn lines_are_there_after_it_was_closed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
    journal.append(&[line(1), line(2)]).expect("writes");
    journal.append(&[]).expect("writes");
    let fault = lines(folder.path()).expect_err("is held");
    assert!(fault.message.contains("another process"), "{fault}");
    drop(journal);
    assert_eq!(lines(folder.path()), Ok(vec![line(1), line(2)]));
}

#[test]
fn a_wrong_line_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(
        folder.path().join("journal.ndjson"),
        "{\"line\":\"lost\",\"unit\":1,\"instance\":0,\"at\":1}\nx\n",
    )
    .expect("writes");
    let fault = lines(folder.path()).expect_err("refused");
    assert!(fault.place.is_some_and(|place| place.ends_with("journal.ndjson:2")));
    let refused = Journal::open(folder.path(), |_| Err("twice".into())).expect_err("refused");
    assert!(refused.message.contains("twice") && refused.place.is_some_and(|p| p.ends_with(":1")));
}

#[test]
fn another_program_s_file_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(FILE);
    fs::write(&path, "notes without an end").expect("writes");
    let fault = lines(folder.path()).expect_err("is another's");
    assert!(fault.place.is_some_and(|place| place.ends_with(":1")));
    assert_eq!(fs::read_to_string(&path).expect("reads"), "notes without an end");
    // A project's first line, cut short: it is kept until the next write.
    fs::write(&path, &BEGINS[..9]).expect("writes");
    assert_eq!(lines(folder.path()), Ok(Vec::new()));
    assert_eq!(fs::read(&path).expect("reads"), &BEGINS[..9]);
    fs::remove_file(&path).expect("removes");
    assert_eq!(lines(folder.path()), Ok(Vec::new()));
    assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn every_journal_has_that_beginning() {
    assert!(journal().starts_with(BEGINS));
}

#[test]
fn a_line_without_end_or_bottom_is_a_fault_of_bounded_size() {
    for (text, whole) in [("x", false), ("[", true), ("{\"line\":", true)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut line = text.repeat(3 * LONGEST as usize / text.len());
        if whole {
            line.truncate(LONGEST as usize - 1);
            line.push('\n');
        }
        fs::write(folder.path().join(FILE), line).expect("writes");
        let fault = lines(folder.path()).expect_err("is none");
        assert!(fault.message.len() < 300, "{}", fault.message.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_are_lines_or_a_fault_that_says_where(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(FILE), bytes).expect("writes");
        if let Err(fault) = lines(folder.path()) {
            prop_assert!(fault.place.is_some_and(|place| place.contains("journal.ndjson:")));
        }
    }

    #[test]
    fn a_damaged_journal_has_the_lines_that_are_whole_or_is_refused(text in damaged(journal())) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(FILE), &text).expect("writes");
        let whole = text.iter().filter(|byte| **byte == b'\n').count();
        match lines(folder.path()) {
            Ok(lines) => prop_assert_eq!(lines.len(), whole),
            Err(fault) => prop_assert!(fault.remedy.is_some()),
        }
    }

    #[test]
    fn killed_anywhere_the_whole_lines_stay(cut in 0_usize..800) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
        journal.append(&six()).expect("writes");
        drop(journal);
        let path = folder.path().join("journal.ndjson");
        let text = fs::read(&path).expect("reads");
        let cut = cut.min(text.len());
        fs::write(&path, &text[..cut]).expect("writes");
        let whole = text[..cut].iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(lines(folder.path()).expect("opens").len(), whole);
        // A line that is added then is whole.
        let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
        journal.append(&[line(9)]).expect("writes");
        drop(journal);
        prop_assert_eq!(lines(folder.path()).expect("opens").pop(), Some(line(9)));
    }
}
