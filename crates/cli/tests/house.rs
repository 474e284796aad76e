//! Compares the table of rooms in `docs/house.md` with `cargo metadata`: a room imports only from the rooms in its row.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rooms that may hold `unsafe`, each block with its invariant.
const MAY_BE_UNSAFE: &[&str] = &["host", "comm", "observe"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Room → the rooms that it may import, from `docs/house.md`.
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
fn every_room_imports_only_what_the_table_allows() {
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
            // Dependencies of tests do not count.
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            assert!(kind == "dev" || allowed.contains(known), "`{room}` must not import `{known}`");
        }
    }
    assert_eq!(seen, table.into_keys().collect(), "the table and the workspace hold the same rooms");
}

#[test]
fn the_table_has_no_circle() {
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
fn only_one_module_writes_to_the_terminal() {
    for room in table().keys() {
        let file = if room == "cli" { "main.rs" } else { "lib.rs" };
        let path = root().join("crates").join(room).join("src").join(file);
        let text = std::fs::read_to_string(&path).expect("a crate root");
        let denied = "deny(clippy::print_stdout, clippy::print_stderr)";
        assert!(text.contains(denied), "{}: expected {denied}", path.display());
    }
}

/// The Rust files of a room, with their text up to the first test module.
fn sources(room: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("crates").join(room).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a room has sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).expect("reads");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
                found.push((path, code));
            }
        }
    }
    found
}

/// The drawing: agents apply conditions and attach observers; the runner does not.
#[test]
fn only_the_agent_applies_conditions_and_attaches_observers() {
    for what in [".apply(", ".attach()"] {
        let all = ["lab", "testbed"].into_iter().flat_map(sources);
        // Links are shaped by another function of that name.
        let does = |code: &str| code.replace("shaping::apply(", "").contains(what);
        let places: Vec<PathBuf> = all.filter(|(_, code)| does(code)).map(|(path, _)| path).collect();
        let only = matches!(&places[..], [one] if one.ends_with("lab/src/agent/surroundings.rs"));
        assert!(only, "{what}: {places:?}");
    }
}

/// `core` has no process numbers and no files of this machine.
#[test]
fn the_vocabulary_knows_no_machine() {
    for (path, code) in sources("core") {
        for trace in ["std::fs", "std::process", "std::env", "UnixStream"] {
            assert!(!code.contains(trace), "{}: {trace}", path.display());
        }
    }
}
