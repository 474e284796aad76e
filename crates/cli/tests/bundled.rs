//! The program itself plans every bundled study, with its real registry.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The studies of the repository: name and path.
fn studies() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let paths = std::fs::read_dir(&folder).expect("studies/").map(|entry| entry.expect("an entry").path());
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut studies: Vec<_> = paths.map(|path| (name(&path), path)).collect();
    studies.sort();
    studies
}

/// The last line of `crosstalk plan --json`.
fn plan(study: &str, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosstalk"));
    let output = command.args(["plan", study, "--json"]).args(more).output().expect("runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{study} {more:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(said.lines().last().expect("says something")).expect("JSON")
}

/// The experiments of a plan, and those that are left out.
fn names(plan: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let text = |name: &Value| name.as_str().expect("a name").to_string();
    let planned = plan["experiments"].as_array().expect("experiments");
    let left_out = plan["left_out"].as_array().expect("left out");
    (planned.iter().map(|one| text(&one["name"])).collect(), left_out.iter().map(text).collect())
}

#[test]
fn every_bundled_study_is_planned_whole_and_quick() {
    for (name, path) in studies() {
        let written: toml::Table =
            toml::from_str(&std::fs::read_to_string(path).expect("reads")).expect("TOML");
        let written: BTreeSet<String> =
            written["experiment"].as_table().expect("some").keys().cloned().collect();
        for more in [&[][..], &["--quick"]] {
            let plan = plan(&name, more);
            let (planned, left_out) = names(&plan);
            assert_eq!(&planned | &left_out, written, "{name} {more:?}");
            assert_eq!(
                left_out.is_empty(),
                more.is_empty(),
                "{name}: a quick run leaves some out: {left_out:?}"
            );
            for experiment in plan["experiments"].as_array().expect("experiments") {
                let of = |key: &str| experiment[key].as_array().expect("a list").len();
                assert!(of("cells") > 0 && of("metrics") > 0, "{name} {more:?}: {experiment}");
            }
            let looks = plan["looks"].as_array().expect("looks");
            assert!(!looks.is_empty() && plan["seconds"]["least"].as_f64() > Some(0.0), "{name} {more:?}");
        }
    }
}

#[test]
fn what_is_bundled_is_what_the_repository_has() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_crosstalk")).args(["list", "--json"]).output().expect("runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    for (name, _) in studies() {
        assert!(said.contains(&format!("\"{name}\"")), "{name} is not bundled:\n{said}");
    }
}
