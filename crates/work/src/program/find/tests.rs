//! Tests of `find`.

use super::*;

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(ToString::to_string).collect()
}

#[test]
fn a_program_that_is_nowhere_is_named_with_the_path() {
    let fault = find_in("no-such-program", OsStr::new("/nowhere:/neither")).expect_err("is nowhere");
    assert!(fault.message.contains("`no-such-program`"), "{fault}");
    assert!(fault.message.contains("/nowhere:/neither"), "{fault}");
}

#[test]
fn administrators_programs_are_found_without_their_folders_in_path() {
    // Every Linux has one of them, and PATH of a plain user has no such folder.
    let there = |program: &&str| ADMINISTRATORS.iter().any(|dir| Path::new(dir).join(program).is_file());
    let program = ["ldconfig", "fsck", "mount.fuse3"].into_iter().find(there).expect("one is installed");
    let found = find_with("/nowhere".as_ref(), program).expect("is found");
    assert!(ADMINISTRATORS.iter().any(|dir| found.starts_with(dir)), "{}", found.display());
    let fault = find_with("/nowhere".as_ref(), "no-such-program").expect_err("is nowhere");
    assert!(fault.message.contains("PATH (/nowhere)"), "the fault names PATH: {fault}");
}

#[test]
fn a_line_for_a_shell_is_refused_with_what_to_write() {
    for (line, instead) in [
        (&["a | b"] as &[&str], "sh -c 'a | b'"),
        (&["a && b"], "sh -c 'a && b'"),
        (&["FOO=1", "true", "a b"], "env FOO=1 true 'a b'"),
        (&["cd", "x"], "sh -c 'cd x'"),
        (&["~/no-such-job"], "sh -c '~/no-such-job'"),
        (&["no-such-python job.py"], "no-such-python job.py"),
        (&["echo 'x' > y"], r"sh -c 'echo '\''x'\'' > y'"),
    ] {
        let fault = find_program_of(&words(line)).expect_err("is no program");
        assert_eq!(fault.remedy, Some(format!("write -- {instead}")), "{line:?}: {fault}");
    }
    let fault = find_program_of(&words(&["no-such-program", "|"])).expect_err("is nowhere");
    assert!(fault.message.contains("cannot be found in PATH"), "{fault}");
}

#[test]
fn a_script_is_judged_by_its_first_line() {
    let directory = tempfile::tempdir().expect("makes one");
    let path = directory.path().join("job");
    let write = |text: &str, mode| {
        fs::write(&path, text).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("sets");
        find_in("job", directory.path().as_os_str())
    };
    let fault = write("#!/bin/sh\n", 0o644).expect_err("may not run");
    assert!(fault.remedy.is_some_and(|r| r.starts_with("chmod +x")), "no remedy");
    assert_eq!(write("#!/bin/sh\n", 0o755), Ok(path.clone()));
    assert_eq!(write("\x7fELF and more", 0o755), Ok(path.clone()));
    for (text, said) in [
        ("#!/bin/sh\r\necho\r\n", "is `/bin/sh\\r`"),
        ("#!/no/such/python -u\n", "interpreter `/no/such/python` cannot be found"),
        ("#!/usr/bin/env no-such-python\n", "interpreter `no-such-python` cannot be found"),
        ("#!\n", "names no interpreter"),
    ] {
        let fault = write(text, 0o755).expect_err("has no interpreter");
        assert!(fault.message.contains(said) && fault.remedy.is_some(), "{said}: {fault}");
        assert!(fault.place.as_deref().is_some_and(|place| place.ends_with("/job:1")), "{fault}");
    }
}
