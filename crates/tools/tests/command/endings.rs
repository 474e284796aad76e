//! Nothing that a program starts outlives it.

use std::time::Duration;

use crosstalk_core::FaultKind;
use crosstalk_tools::command::Command;

use super::{fault_of_node_0, is_gone, play, scene, scratch, shell, wait_for};

#[test]
fn its_child_its_session_and_its_daemon_end_with_it() {
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["child", "session", "daemon"]);
    let script = format!(
        "sleep 3600 & echo $! > {path}/child
         setsid sh -c 'echo $$ > {path}/session; exec sleep 3600' &
         (setsid sh -c 'sh -c \"echo \\$\\$ > {path}/daemon; exec sleep 3600\" &' &)
         {wait}"
    );
    scene::finished(play(&shell(&script), 1, 20.0));
    for name in ["child", "session", "daemon"] {
        assert!(is_gone(&folder.path().join(name)), "the {name} is still there");
    }
}

#[test]
fn a_program_that_hangs_is_killed_with_its_grandchildren() {
    let folder = scratch();
    let path = folder.path().display();
    let script = format!("echo busy >&2; trap '' TERM; sh -c 'echo $$ > {path}/grandchild; exec sleep 3600'");
    let fault = fault_of_node_0(&shell(&script), 0.5);
    assert!(fault.message.contains("not finished after") && fault.message.contains("busy"), "{fault}");
    assert!(is_gone(&folder.path().join("grandchild")), "the grandchild is still there");
}

#[test]
fn a_cancelled_program_is_interrupted() {
    let (outcomes, _) = scene::cancelled(&Command, &shell("sleep 3600"), Duration::from_millis(300));
    let interrupted = |fault: &crosstalk_core::Fault| fault.kind == FaultKind::Interrupted;
    assert!(outcomes.iter().all(|node| node.as_ref().is_err_and(interrupted)), "{outcomes:?}");
}
