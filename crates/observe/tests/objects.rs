//! The committed BPF objects are what the sources build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// The folder of the committed objects.
const COMMITTED: &str = "bpf/objects";

fn version(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("clang-version")).expect("reads").trim().into()
}

#[test]
fn committed_objects_are_what_the_sources_build() {
    let built = tempfile::tempdir().expect("a folder");
    let build = Command::new("../../tools/bpf").arg(built.path()).output().expect("bash is there");
    if build.status.code() == Some(4) {
        println!("skipped: {}", String::from_utf8_lossy(&build.stderr).trim());
        return;
    }
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let committed = Path::new(COMMITTED);
    let (before, now) = (version(committed), version(built.path()));
    if before != now {
        println!("skipped: the objects were built by clang {before}, and this is clang {now}");
        return;
    }
    let objects = names("bpf", ".bpf.c");
    assert!(!objects.is_empty(), "bpf/ has no program");
    assert_eq!(
        names(COMMITTED, ".o"),
        objects,
        "each program has its object in {COMMITTED}, and no other is there"
    );
    for object in objects {
        let read = |dir: &Path| std::fs::read(dir.join(format!("{object}.o"))).expect("reads");
        assert!(
            read(committed) == read(built.path()),
            "{object}.o is not what its source builds: run tools/bpf and commit {COMMITTED}"
        );
    }
}

/// The names of a folder's files that end so, without that end.
fn names(folder: &str, end: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).expect("lists");
    let names = files.map(|entry| entry.expect("reads").file_name().into_string().expect("UTF-8"));
    names.filter_map(|name| name.strip_suffix(end).map(String::from)).collect()
}

/// All sources, in the order of `sort` in the C locale.
fn sources() -> Vec<PathBuf> {
    let (mut folders, mut sources) = (vec![PathBuf::from("bpf")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("lists") {
            let path = entry.expect("reads").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(end) if end == "c" || end == "h" => sources.push(path),
                _ => {}
            }
        }
    }
    sources.sort_by_key(|path| path.as_os_str().to_owned());
    sources
}

#[test]
fn committed_objects_were_built_from_these_sources() {
    let lines = sources().into_iter().map(|path| {
        let digest = Sha256::digest(std::fs::read(&path).expect("reads"));
        format!("{digest:x}  {}\n", path.display())
    });
    let committed = std::fs::read_to_string(format!("{COMMITTED}/sources.sha256")).expect("reads");
    assert_eq!(committed, lines.collect::<String>(), "run tools/bpf and commit {COMMITTED}");
}
