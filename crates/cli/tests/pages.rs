//! Rules for pages: each is short, listed and linked, and the reference matches the code. Every command on a page is
//! run, or stands below a paragraph that begins with "Needs" and says why it is not. `docs/README.md` has these rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::page::{Page, below, pages, root};
use crate::common::{crosstalk, finish, stderr, stdout, study, virtual_nodes};

/// The most lines of a page.
const LONGEST: usize = 150;

/// The languages of blocks.
const LANGUAGES: [&str; 6] = ["sh", "text", "toml", "ini", "xml", "json"];

/// Folders with an index of their own.
const INDEXED: [&str; 3] = ["docs/reference/", "docs/decisions/", "docs/studies/"];

/// Commands that change the machine: no test runs them.
const CHANGES_THE_MACHINE: [&str; 6] = ["sudo", "apt-get", "pip", "systemctl", "make", "git"];

#[test]
fn a_page_is_short() {
    for page in &pages() {
        let (lines, path) = (page.text.lines().count(), &page.path);
        // Findings have as many lines as the study has claims.
        let may_be_long = path.starts_with("docs/studies/");
        assert!(lines <= LONGEST || may_be_long, "{path}: {lines} lines, {LONGEST} at most");
    }
}

#[test]
fn every_link_leads_somewhere() {
    let anchors: BTreeMap<PathBuf, BTreeSet<String>> = pages()
        .iter()
        .map(|page| (root().join(&page.path).canonicalize().expect("is there"), page.anchors()))
        .collect();
    for page in pages() {
        for link in page.links() {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { root().join(&page.path) } else { page.folder().join(file) };
            let target =
                target.canonicalize().unwrap_or_else(|_| panic!("{}: {link} is not there", page.path));
            let known = anchors.get(&target);
            let leads = anchor.is_empty() || known.is_none_or(|anchors| anchors.contains(anchor));
            assert!(leads, "{}: {link}: no such heading", page.path);
        }
    }
}

#[test]
fn every_page_is_listed() {
    let index = pages().into_iter().find(|page| page.path == "docs/README.md").expect("an index");
    let listed: BTreeSet<PathBuf> =
        index.links().iter().filter_map(|link| index.folder().join(link).canonicalize().ok()).collect();
    for Page { path, .. } in pages() {
        let must = match INDEXED.iter().find(|folder| path.starts_with(**folder)) {
            Some(folder) => path == format!("{folder}README.md"),
            None => path.starts_with("docs/") && path != "docs/README.md",
        };
        let is_listed = listed.contains(&root().join(&path).canonicalize().expect("is there"));
        assert!(!must || is_listed, "docs/README.md lists no {path}");
    }
}

#[test]
fn the_reference_is_what_the_code_says() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let output = crosstalk(dir.path(), &["docs", "reference"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut committed = Vec::new();
    below("docs/reference", &mut committed);
    let written = stdout(&output);
    assert!(written.starts_with(&format!("{} pages", committed.len())), "{written}: {committed:#?}");
    for path in committed {
        let made = dir.path().join(path.trim_start_matches("docs/"));
        let made = fs::read_to_string(&made)
            .unwrap_or_else(|_| panic!("{path}: `crosstalk docs` does not write it"));
        let kept = fs::read_to_string(root().join(&path)).expect("reads");
        assert!(made == kept, "{path} is out of date: run `crosstalk docs docs/reference`");
    }
}

#[test]
fn a_block_says_what_it_holds() {
    for page in pages().iter().filter(|page| page.is_for_users()) {
        for block in page.blocks() {
            let (path, language) = (&page.path, block.language.as_str());
            assert!(LANGUAGES.contains(&language), "{path}: ```{language}: expected one of {LANGUAGES:?}");
            let is_command = |line: &str| {
                let line = line.trim_start_matches(['$', ' ']).trim_start_matches("sudo ");
                line.starts_with("crosstalk ") && !line.contains(':')
            };
            // "Needs root:", not only "Needs".
            let reason = block.above.strip_prefix("Needs").map(str::trim);
            assert!(reason.is_none_or(|why| why.len() > 3), "{path}: a block needs something: what?");
            let hidden = language != "sh" && block.text.lines().any(is_command);
            assert!(!hidden, "{path}: a command stands in a block of {language}, where it is not run");
        }
    }
}

/// A quick program under the name that pages use: it runs one block, or measures for 0.1 s.
fn quick_program(bin: &Path) {
    let script = format!(
        r#"#!/bin/sh
program='{}'
case "$1 $*" in
run*--looks* | run*--runs*) ;;
run*) shift; set -- run --looks 1 "$@" ;;
probe*\ -t\ * | probe*--time*) ;;
probe*latency* | probe*load* | probe*bandwidth*)
    verb=$1 kind=$2; shift 2; set -- "$verb" "$kind" -t 0.1 "$@" ;;
esac
exec "$program" "$@"
"#,
        env!("CARGO_BIN_EXE_crosstalk")
    );
    let path = bin.join("crosstalk");
    fs::write(&path, script).expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
}

/// Runs the commands of a page, block by block, in one temporary folder with the examples. Returns what failed.
fn run_commands(page: &Page) -> Option<String> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).expect("makes");
    quick_program(&bin);
    let examples = root().join("examples").canonicalize().expect("is there");
    symlink(examples, dir.path().join("examples")).expect("links");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    for block in page.commands() {
        if let Some(word) = block.text.split_whitespace().find(|word| CHANGES_THE_MACHINE.contains(word)) {
            return Some(format!(
                "{}: `{word}` changes this machine: say above what the block needs",
                page.path
            ));
        }
        // Shown if one of them does not end.
        println!("{}: {}", page.path, block.text.trim());
        let child = Command::new("sh")
            .args(["-e", "-c", &block.text])
            .current_dir(dir.path())
            .envs([("PATH", path.as_str()), ("COLUMNS", "100"), ("CROSSTALK_COLOR", "0")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let output = finish(child);
        // A slow machine is no fault of the page.
        if stderr(&output).contains("found that a stream gets") {
            println!("skipped: {}: this machine holds no such links at the moment", page.path);
            return None;
        }
        if !output.status.success() {
            let said = format!("{}{}", stdout(&output), stderr(&output));
            return Some(format!("{}:\n{}\n{said}", page.path, block.text));
        }
    }
    None
}

#[test]
fn every_command_runs_or_says_what_it_needs() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    if !virtual_nodes(dir.path()) {
        return;
    }
    let pages: Vec<Page> = pages().into_iter().filter(Page::is_for_users).collect();
    let blocks: usize = pages.iter().map(|page| page.commands().count()).sum();
    assert!(blocks > 20, "{blocks} blocks of commands: are they marked as `sh`?");
    // Two pages at a time: most commands wait for their nodes.
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.lock().expect("nobody panicked").extend(run_commands(page));
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panicked");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn findings_are_a_page_with_date_machine_and_revision() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    study(dir.path());
    let output = crosstalk(dir.path(), &["run", "s.toml", "--quiet", "--out", "r", "--looks", "8"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = crosstalk(dir.path(), &["report", "r", "--page", "found.md"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(dir.path().join("found.md")).expect("a page");
    let provenance = fs::read_to_string(dir.path().join("r/provenance.json")).expect("reads");
    let provenance: serde_json::Value = serde_json::from_str(&provenance).expect("JSON");
    let kernel = provenance["before"]["0"]["fixed"]["kernel"].as_str().expect("a kernel");
    for reported in
        ["# Findings: Two networks, small messages", "| Began | 20", kernel, "revision", "## Repeat it"]
    {
        assert!(page.contains(reported), "no {reported}:\n{page}");
    }
    // Another run of it stands on the same page, under its name.
    let output = crosstalk(dir.path(), &["report", "r", "--page", "both.md", "--beside", "once more=r"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let both = fs::read_to_string(dir.path().join("both.md")).expect("a page");
    assert!(both.contains("## What was measured, once more"), "{both}");
    for (beside, said) in [("r", "expected a name and a run's directory"), ("x=nowhere", "nowhere")] {
        let output = crosstalk(dir.path(), &["report", "r", "--page", "both.md", "--beside", beside]);
        assert_eq!(output.status.code(), Some(2), "{beside}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    // A part of a run is never overwritten.
    let output = crosstalk(dir.path(), &["report", "r", "--page", "r/journal.ndjson"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A claim of the study, to which lines can be added.
const CLAIM: &str = r#"
    [claim.faster]
    statement = "It takes longer on MicroBlade"
    experiment = "b"
    ratio = { metric = "time", of = { system = "microblade" }, to = { system = "kosmos-srio" } }
    expect = "> 1"
"#;

/// An engine may make a claim not comparable, and then it is no primary one; what it asks is the same.
#[test]
fn runs_stand_beside_each_other_if_their_claims_ask_the_same() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    study(dir.path());
    let asked = fs::read_to_string(dir.path().join("s.toml")).expect("reads") + CLAIM;
    for (run, added) in [
        ("own", ""),
        ("alike", "not_comparable = \"a stand-in\"\nprimary = false"),
        ("unlike", "published = 7\nmargin = \"10 %\""),
    ] {
        fs::write(dir.path().join("other.toml"), format!("{asked}{added}")).expect("writes");
        let output = crosstalk(dir.path(), &["run", "other.toml", "--quiet", "--out", run, "--looks", "8"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let beside = format!("other={run}");
        let output = crosstalk(dir.path(), &["report", "own", "--page", "both.md", "--beside", &beside]);
        assert_eq!(output.status.success(), run != "unlike", "{}", stderr(&output));
        assert_eq!(
            stderr(&output).contains("differs from the page's"),
            run == "unlike",
            "{}",
            stderr(&output)
        );
    }
}
