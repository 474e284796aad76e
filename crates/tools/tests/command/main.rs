//! The user's own program on nodes of this host.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock};

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use crosstalk_core::value::{Params, Value};
use crosstalk_tools::command::Command;
use tempfile::TempDir;

mod endings;
mod failures;
mod nodes;
mod output;
#[path = "../../../work/tests/scene/mod.rs"]
mod scene;
mod times;

fn argv(words: &[&str]) -> Params {
    let words = words.iter().map(|w| Value::from(*w)).collect();
    Params([("argv".to_string(), Value::List(words))].into())
}

fn shell(script: &str) -> Params {
    argv(&["/bin/sh", "-c", script])
}

/// Shared by tests; held alone by one that measures, since programs that compete for processors take longer.
static MACHINE: RwLock<()> = RwLock::new(());

fn play(params: &Params, nodes: usize, deadline: f64) -> Vec<Result<Vec<Reading>, Fault>> {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    scene::play(&Command, params, nodes, deadline, &AtomicBool::new(false))
}

/// The same on one node, while no other test runs a program.
fn play_alone(params: &Params, deadline: f64) -> Vec<Result<Vec<Reading>, Fault>> {
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    scene::play(&Command, params, 1, deadline, &AtomicBool::new(false))
}

fn fault_of_node_0(params: &Params, deadline: f64) -> Fault {
    play(params, 1, deadline).remove(0).expect_err("the program fails")
}

fn scratch() -> TempDir {
    tempfile::tempdir().expect("makes one")
}

/// A line of a script that waits until these files of a folder are there and not empty.
fn wait_for(folder: &Path, files: &[&str]) -> String {
    let there: Vec<String> = files.iter().map(|file| format!("[ -s {}/{file} ]", folder.display())).collect();
    format!("until {}; do sleep 0.01; done", there.join(" && "))
}

/// Whether the process whose id a program wrote to `path` is gone.
fn is_gone(path: &Path) -> bool {
    let pid = fs::read_to_string(path).expect("the program wrote its id");
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default().is_empty()
}
