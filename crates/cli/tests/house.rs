//! The table of rooms in `docs/house.md`, held against `cargo metadata`: a room
//! imports only from the rooms it may know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rooms that may hold `unsafe`, each block with its invariant.
const MAY_BE_UNSAFE: &[&str] = &["host", "comm", "observe"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Room → the rooms it may know, as written in `docs/house.md`.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("docs/house.md")).expect("docs/house.md");
    text.lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|line| {
            let cells: Vec<_> = line.trim_end_matches(" |").split(" | ").collect();
            let room = cells[0].trim_end_matches('`').to_string();
            let knows = cells[cells.len() - 1];
            (room, knows.split(", ").filter(|k| *k != "–").map(String::from).collect())
        })
        .collect()
}

fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

#[test]
fn every_room_knows_only_what_the_table_allows() {
    let table = table();
    let mut seen = BTreeSet::new();
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let room = name.strip_prefix("crosstalk-").expect("rooms are called crosstalk-NAME");
        let allowed = table.get(room).unwrap_or_else(|| panic!("room `{room}` is not in the table"));
        seen.insert(room.to_string());
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(known) = dependency["name"].as_str().and_then(|n| n.strip_prefix("crosstalk-")) else {
                continue;
            };
            // What a test borrows is no part of the room.
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            assert!(kind == "dev" || allowed.contains(known), "`{room}` must not know `{known}`");
        }
    }
    assert_eq!(seen, table.into_keys().collect(), "the table and the workspace hold the same rooms");
}

#[test]
fn the_table_has_no_way_round_in_a_circle() {
    let table = table();
    let mut settled: BTreeSet<String> = BTreeSet::new();
    while settled.len() < table.len() {
        let before = settled.len();
        for (room, knows) in &table {
            if knows.is_subset(&settled) {
                settled.insert(room.clone());
            }
        }
        assert!(settled.len() > before, "a circle among the rooms outside {settled:?}");
    }
}

#[test]
fn only_the_rooms_next_to_the_machine_hold_unsafe_code() {
    for room in table().keys() {
        let file = if room == "cli" { "main.rs" } else { "lib.rs" };
        let path = root().join("crates").join(room).join("src").join(file);
        let text = std::fs::read_to_string(&path).expect("a crate root");
        let forbidden = text.contains("#![forbid(unsafe_code)]");
        assert_eq!(forbidden, !MAY_BE_UNSAFE.contains(&room.as_str()), "{}", path.display());
    }
}

#[test]
fn only_the_one_writer_writes_to_the_terminal() {
    for room in table().keys() {
        let file = if room == "cli" { "main.rs" } else { "lib.rs" };
        let path = root().join("crates").join(room).join("src").join(file);
        let text = std::fs::read_to_string(&path).expect("a crate root");
        let denied = "deny(clippy::print_stdout, clippy::print_stderr)";
        assert!(text.contains(denied), "{}: expected {denied}", path.display());
    }
}
