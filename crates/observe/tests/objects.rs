//! The objects that the program carries are what the sources build.

use std::path::Path;
use std::process::Command;

const CARRIED: &str = "bpf/objects";

fn version(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("clang-version")).expect("reads").trim().into()
}

#[test]
fn carried_objects_are_what_the_sources_build() {
    let built = tempfile::tempdir().expect("a folder");
    let made = Command::new("../../tools/bpf").arg(built.path()).output().expect("bash is there");
    if made.status.code() == Some(4) {
        println!("skipped: {}", String::from_utf8_lossy(&made.stderr).trim());
        return;
    }
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let carried = Path::new(CARRIED);
    let (theirs, ours) = (version(carried), version(built.path()));
    if theirs != ours {
        println!("skipped: the objects were built by clang {theirs}, and this is clang {ours}");
        return;
    }
    let sources = std::fs::read_dir("bpf").expect("lists").filter_map(|entry| {
        let name = entry.expect("reads").file_name().into_string().expect("UTF-8");
        name.strip_suffix(".bpf.c").map(|stem| format!("{stem}.o"))
    });
    let mut compared = 0;
    for object in sources {
        let read = |dir: &Path| std::fs::read(dir.join(&object)).unwrap_or_default();
        assert!(
            read(carried) == read(built.path()),
            "{object} is not what its source builds: run tools/bpf and commit {CARRIED}"
        );
        compared += 1;
    }
    assert_eq!(compared, 3, "programs");
}
