//! Tests of `working_directory`. None enters one: that would be for good.

use super::*;
use crate::project::directory::Directory;
use crate::project::settings::Settings;
use std::os::unix::fs::chown;

/// The account; `None` where this test may not become another user.
fn account() -> Option<Account> {
    let account = Account::unprivileged().ok().flatten();
    if account.is_none() {
        eprintln!("skipped: only root can be somebody else");
    }
    account
}

fn owner(path: &Path) -> u32 {
    fs::metadata(path).expect("is there").uid()
}

#[test]
fn a_place_in_the_directory_has_its_name_for_people() {
    let entered = WorkingDirectory { folder: ".".into(), name: "/root/p".into(), ports: None };
    for (place, name) in
        [("./journal.ndjson:1", "/root/p/journal.ndjson:1"), (".", "/root/p"), ("--listen", "--listen")]
    {
        let fault = entered.name_fault(Fault::usage("wrong").at(place));
        assert_eq!(fault.place.as_deref(), Some(name));
    }
    assert_eq!(entered.name_fault(Fault::usage("wrong")).place, None);
}

#[test]
fn a_new_directory_and_a_project_of_root_s_are_handed_over() {
    let Some(account) = account() else { return };
    let top = tempfile::tempdir().expect("a temporary folder");
    let new = top.path().join("a/b");
    hand_over(&new, account).expect("is made");
    assert_eq!((owner(&new), owner(&top.path().join("a"))), (account.user(), 0));
    hand_over(&new, account).expect("is nobody's already");

    let old = top.path().join("old");
    drop(Directory::open(&old, || Ok(Settings::default())).expect("is made"));
    fs::write(old.join("notes"), "").expect("writes");
    hand_over(&old, account).expect("is a project");
    for theirs in ["", "journal.ndjson", "code_key.pem", "upload"] {
        assert_eq!(owner(&old.join(theirs)), account.user(), "{theirs}");
    }
    assert_eq!(owner(&old.join("notes")), 0);
    // As root restores it from a copy.
    chown(old.join("code_key.pem"), Some(0), None).expect("is root's");
    let fault = hand_over(&old, account).expect_err("nobody could not read it");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("chown nobody")), "{}", fault.message);
    assert_eq!(owner(&old.join("code_key.pem")), 0);
}

#[test]
fn what_is_something_else_or_somebody_else_s_stays_whose_it_is() {
    let Some(account) = account() else { return };
    let refused = |file: Option<(&str, &str)>, user: u32| {
        let top = tempfile::tempdir().expect("a temporary folder");
        if let Some((name, text)) = file {
            fs::write(top.path().join(name), text).expect("writes");
        }
        chown(top.path(), Some(user), None).expect("is root's");
        let fault = hand_over(top.path(), account).expect_err("refused");
        assert_eq!(owner(top.path()), user);
        assert!(fault.remedy.is_some(), "{fault}");
        fault.message
    };
    assert!(refused(Some(("letter", "")), 0).contains("letter"));
    assert!(refused(Some(("journal.ndjson", "notes of mine")), 0).contains("something else"));
    assert!(refused(None, 54_321).contains("54321"));
}
