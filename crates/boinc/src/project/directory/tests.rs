//! Tests of `directory`.

use super::*;

#[test]
fn a_project_is_made_once_and_then_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = Directory::open(folder.path(), || Ok(Settings { quorum: 3, ..Settings::default() }))
        .expect("is made");
    assert!(made.is_new);
    let (key, public) = (made.key.clone(), made.directory.code.public());
    let fault = Directory::open(folder.path(), || Ok(Settings::default())).expect_err("is used");
    assert!(fault.message.contains("another process"), "{fault}");
    drop(made);
    let found = Directory::open(folder.path(), || panic!("is there")).expect("is found");
    assert_eq!((found.key, found.directory.code.public(), found.state.settings().quorum), (key, public, 3));
    assert!(!found.is_new);
}

#[test]
fn no_project_is_made_among_other_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("upload_key.pem.new"), "").expect("writes");
    assert!(
        Directory::open(folder.path(), || Ok(Settings::default())).expect("nothing else is there").is_new
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("letter.txt"), "").expect("writes");
    let fault = Directory::open(folder.path(), || Ok(Settings::default())).expect_err("refused");
    assert!(fault.message.contains("letter.txt") && fault.remedy.is_some(), "{fault}");
    assert!(!folder.path().join("download").exists());
}

#[test]
fn a_project_that_has_lost_its_journal_is_not_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = Directory::open(folder.path(), || Ok(Settings::default())).expect("is made");
    let attach = Attachment { url: "http://127.0.0.1:1/project/".into(), key: made.key.clone() };
    made.directory.write_attachment(&attach).expect("writes");
    drop(made);
    fs::write(folder.path().join("journal.ndjson"), "").expect("writes");
    let fault = Directory::open(folder.path(), || panic!("is no new one")).expect_err("refused");
    assert!(fault.message.contains("empty or gone") && fault.remedy.is_some(), "{fault}");
}

#[test]
fn wrong_settings_in_a_journal_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings { size: 0, ..Settings::default() };
    let line = Line::Project { schema: SCHEMA.into(), settings, key: "k".into() };
    let text = serde_json::to_string(&line).expect("writes") + "\n";
    fs::write(folder.path().join("journal.ndjson"), text).expect("writes");
    let fault = Directory::open(folder.path(), || panic!("is there")).expect_err("refused");
    assert!(fault.place.is_some_and(|place| place.ends_with("journal.ndjson:1")));
    assert!(fault.message.contains("numbers"), "{}", fault.message);
}

#[test]
fn wrong_settings_make_no_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bad = || Ok(Settings { quorum: 0, ..Settings::default() });
    assert_eq!(Directory::open(folder.path(), bad).expect_err("refused").place.as_deref(), Some("--quorum"));
    assert!(Directory::open(folder.path(), || Ok(Settings::default())).expect("is made").is_new);
}

#[test]
fn another_program_is_a_new_version() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let directory = Directory::open(folder.path(), || Ok(Settings::default())).expect("is made").directory;
    let path = folder.path().join("program");
    fs::write(&path, "abc").expect("writes");
    let program = File::open(&path).expect("opens");
    let first = directory.add_program(&program, None).expect("is taken").expect("is new");
    assert_eq!((first.number, first.bytes, first.md5.as_str()), (1, 3, "900150983cd24fb0d6963f7d28e17f72"));
    assert!(directory.program_path(&first).is_file());
    assert_eq!(directory.add_program(&program, Some(&first)).expect("is taken"), None);
    fs::write(&path, "abcd").expect("writes");
    let second = directory.add_program(&program, Some(&first)).expect("is taken").expect("is new");
    assert_eq!(second.number, 2);
    assert!(directory.program_path(&first).is_file() && directory.program_path(&second).is_file());
}

#[test]
fn a_program_that_exists_is_not_copied_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let directory = Directory::open(folder.path(), || Ok(Settings::default())).expect("is made").directory;
    let path = folder.path().join("program");
    fs::write(&path, "abc").expect("writes");
    let program = File::open(&path).expect("opens");
    let first = directory.add_program(&program, None).expect("is taken").expect("is new");
    fs::write(directory.program_path(&first), "ab").expect("writes");
    assert_eq!(directory.add_program(&program, Some(&first)).expect("is taken"), None);
    assert_eq!(
        fs::read(directory.program_path(&first)).expect("reads"),
        b"abc",
        "a copy that is damaged is made anew"
    );
    // Writing fails here from now on.
    fs::create_dir(folder.path().join("download/new")).expect("makes");
    assert_eq!(directory.add_program(&program, Some(&first)).expect("is there"), None);
    fs::write(&path, "abcd").expect("writes");
    let fault = directory.add_program(&program, Some(&first)).expect_err("is another");
    assert!(fault.remedy.is_some(), "{fault}");
}
