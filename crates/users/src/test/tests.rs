use super::check::expect;
use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crosstalk_core::units::Bytes;

use crate::common::CommonFiles;
use crate::user::User;

/// Tests that copy the process, move its program break or signal it, which take a process with one thread. `tests/jobs.rs` runs
/// them.
const ONE_THREAD: [&str; 5] = ["brk_test", "fork_test", "page_test", "shell_rtns_1", "signal_test"];

fn user(folder: &Path, work: f64) -> User {
    let common = folder.join("common");
    let own = folder.join("own");
    fs::create_dir_all(&common).expect("makes");
    fs::create_dir_all(&own).expect("makes");
    let common = CommonFiles::make(&common, Bytes(10 << 10), work, &|| Ok(())).expect("makes");
    User::new(own, common, work, Bytes(10 << 10), (1, 0))
}

#[test]
fn every_kind_of_the_published_list_is_there_once_and_in_order() {
    let names: Vec<&str> = tests().iter().map(|test| test.name).collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names, unique.into_iter().collect::<Vec<_>>());
    // 53 of the mix `shared`, and `sync_disk_update` of `dbase`.
    assert_eq!(names.len(), 54);
}

#[test]
fn an_unknown_name_gets_the_nearest_one() {
    assert_eq!(test("disk_rr").expect("is there").name, "disk_rr");
    let fault = test("disk_r").expect_err("there is none");
    assert!(fault.remedy.as_deref().is_some_and(|remedy| remedy.contains("disk_r")), "{fault}");
}

#[test]
fn every_job_passes_and_leaves_nothing_behind() {
    for work in [0.001, 0.02] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut user = user(folder.path(), work);
        for test in tests().iter().filter(|test| !ONE_THREAD.contains(&test.name)) {
            for _ in 0..3 {
                (test.run)(&mut user).unwrap_or_else(|fault| panic!("{fault}"));
            }
            assert_eq!(fs::read_dir(&user.folder).expect("reads").count(), 0, "{test:?}");
        }
    }
}

#[test]
fn a_fault_names_its_test_and_removes_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut user = user(folder.path(), 0.5);
    let mut bytes = fs::read(user.common.data()).expect("reads");
    bytes[1500] ^= 1;
    fs::write(user.common.data(), bytes).expect("writes");
    let fault = (test("disk_cp").expect("is there").run)(&mut user).expect_err("its source is damaged");
    assert!(fault.to_string().starts_with("disk_cp: block 1 "), "{fault}");
    assert_eq!(fs::read_dir(&user.folder).expect("reads").count(), 0);
}

#[test]
fn a_program_that_fails_is_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut user = user(folder.path(), 0.001);
    fs::write(user.common.program(), "#!/bin/sh\nexit 3\n").expect("writes");
    let fault = (test("exec_test").expect("is there").run)(&mut user).expect_err("it ends with 3");
    assert!(fault.message.contains("exit status: 3"), "{fault}");
}

#[test]
fn a_result_that_is_wrong_is_a_fault_with_both_values() {
    assert!(expect("primes", 168, 168).is_ok());
    assert_eq!(expect("primes", 167, 168).expect_err("differs").message, "primes: expected 168, found 167");
}
