//! Programs that cannot run, or fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crosstalk_core::FaultKind;

use super::{argv, fault_of_node_0, scratch, shell};

#[test]
fn a_program_that_cannot_be_found_is_named() {
    let fault = fault_of_node_0(&argv(&["no-such-program-anywhere"]), 5.0);
    assert_eq!(fault.kind, FaultKind::Environment);
    assert!(
        fault.message.contains("`no-such-program-anywhere`") && fault.message.contains("PATH"),
        "{fault}"
    );
    let fault = fault_of_node_0(&argv(&["./no/such/file"]), 5.0);
    assert!(fault.message.contains("`./no/such/file` cannot be found"), "{fault}");
}

#[test]
fn a_file_that_is_no_program_is_refused() {
    let directory = scratch();
    let path = directory.path().join("job");
    let job = path.to_str().expect("is text");
    fs::write(&path, "just text").expect("writes");
    let fault = fault_of_node_0(&argv(&[job]), 5.0);
    assert!(fault.message.contains("may not be executed"), "{fault}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("sets");
    let fault = fault_of_node_0(&argv(&[job]), 5.0);
    assert!(fault.remedy.is_some_and(|r| r.contains("#!/bin/sh")), "no remedy");
}

#[test]
fn an_exit_code_comes_with_the_last_output() {
    let fault = fault_of_node_0(&shell("echo out; echo 'no such input' >&2; exit 3"), 5.0);
    assert_eq!(fault.kind, FaultKind::Attempt);
    assert!(fault.message.contains("exit code 3") && fault.message.contains("no such input"), "{fault}");
    assert_eq!(fault.node(), Some(0));
}

#[test]
fn a_signal_is_named() {
    let fault = fault_of_node_0(&shell("kill -SEGV $$"), 5.0);
    assert!(fault.message.contains("SIGSEGV"), "{fault}");
}
