//! The pages are true: each is short, listed and linked, the reference is what the code says, and every
//! command that a page shows is run, or stands below a line that begins with "Needs" and says why it is not.
//! `docs/README.md` tells writers the same.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{crosstalk, finish, stderr, stdout, study, virtual_nodes};

/// Lines that a page may have.
const LONGEST: usize = 150;

/// Still to be rewritten: neither short, nor with commands that are run.
const TO_BE_REWRITTEN: [&str; 2] = ["docs/guard.md", "docs/tenants.md"];

/// What a block may hold.
const LANGUAGES: [&str; 6] = ["sh", "text", "toml", "ini", "xml", "json"];

/// One page: where it is, from the root of the repository, and its text.
struct Page {
    path: String,
    text: String,
}

/// A block of a page.
struct Block {
    language: String,
    text: String,
    /// The last line of text above it.
    above: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything in Markdown below a folder, by its path from the root.
fn below(folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).expect("a folder").flatten() {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            below(&path, found);
        } else if path.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Every page for users, and those for contributors.
fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_string(), "CONTRIBUTING.md".to_string()];
    below("docs", &mut paths);
    paths.sort();
    let page = |path: String| {
        let text = fs::read_to_string(root().join(&path)).expect("a page");
        Page { path, text }
    };
    paths.into_iter().map(page).collect()
}

impl Page {
    /// Whether users read it from top to bottom: its blocks say what they hold, and its commands run.
    fn is_for_users(&self) -> bool {
        let first = ["README.md", "docs/README.md", "docs/tutorial.md"].contains(&self.path.as_str());
        first || ["docs/how-to/", "docs/explanation/"].iter().any(|folder| self.path.starts_with(folder))
    }

    fn is_to_be_rewritten(&self) -> bool {
        TO_BE_REWRITTEN.contains(&self.path.as_str())
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut above, mut is_inside) = (String::new(), false);
        for line in self.text.lines() {
            match line.trim_start().strip_prefix("```") {
                Some(language) if !is_inside => {
                    let language = language.to_string();
                    blocks.push(Block { language, text: String::new(), above: above.clone() });
                    is_inside = true;
                }
                Some(_) => {
                    is_inside = false;
                    above.clear();
                }
                None if is_inside => {
                    let block = blocks.last_mut().expect("has begun");
                    block.text += &format!("{line}\n");
                }
                None if !line.trim().is_empty() => above = line.to_string(),
                None => {}
            }
        }
        assert!(!is_inside, "{}: a block has no end", self.path);
        blocks
    }

    /// Blocks of commands that are run: of a block that is not, the line above says what it needs.
    fn commands(&self) -> impl Iterator<Item = Block> {
        let blocks = self.blocks().into_iter();
        blocks.filter(|block| block.language == "sh" && !block.above.starts_with("Needs"))
    }

    /// The text outside of blocks and of code.
    fn prose(&self) -> String {
        let blocks = self.text.split("```").step_by(2);
        blocks.flat_map(|part| part.split('`').step_by(2)).collect()
    }

    /// Where its links lead, but for those to other hosts.
    fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let links = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string()));
        links.filter(|link| !link.contains("://")).collect()
    }

    /// The anchors of its headings, as GitHub makes them.
    fn anchors(&self) -> BTreeSet<String> {
        let outside: String = self.text.split("\n```").step_by(2).collect();
        let headings = outside.lines().filter(|line| line.starts_with('#')).map(|line| {
            let kept = line.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        });
        headings.collect()
    }

    fn folder(&self) -> PathBuf {
        root().join(&self.path).parent().expect("a folder").to_path_buf()
    }
}

#[test]
fn a_page_is_short() {
    for page in pages().iter().filter(|page| !page.is_to_be_rewritten()) {
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
    for page in pages() {
        // These have an index of their own, which is listed.
        let apart = ["docs/reference/", "docs/decisions/"].iter().any(|folder| page.path.starts_with(folder));
        let is_listed = listed.contains(&root().join(&page.path).canonicalize().expect("is there"));
        let is_index = page.path == "docs/README.md";
        let must =
            page.path.starts_with("docs/") && !is_index && (!apart || page.path.ends_with("/README.md"));
        assert!(
            !must || is_listed || page.path.matches('/').count() > 2,
            "docs/README.md lists no {}",
            page.path
        );
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
        let made = fs::read_to_string(&made).unwrap_or_else(|_| panic!("{path}: nothing writes it any more"));
        let kept = fs::read_to_string(root().join(&path)).expect("reads");
        assert!(made == kept, "{path} is out of date: write it anew by `crosstalk docs docs/reference`");
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
            let hidden = language != "sh" && block.text.lines().any(is_command);
            assert!(!hidden, "{path}: a command stands in a block of {language}, where it is not run");
        }
    }
}

/// The program as pages call it, but quick: one block of a run, a tenth of a second of a measurement.
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

/// Runs the commands of a page, block by block, in one temporary folder with the examples. What failed.
fn run_commands(page: &Page) -> Option<String> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).expect("makes");
    quick_program(&bin);
    for folder in ["examples", "studies", "docs"] {
        symlink(root().join(folder).canonicalize().expect("is there"), dir.path().join(folder))
            .expect("links");
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    for block in
        page.blocks().iter().filter(|block| block.language == "sh" && !block.above.starts_with("Needs"))
    {
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
        // How fast this machine is, is no fault of the page.
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
    let failed: Vec<String> = pages.iter().filter_map(run_commands).collect();
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
    for told in
        ["# Findings: Two networks, small messages", "| Began | 20", kernel, "revision", "## Repeat it"]
    {
        assert!(page.contains(told), "no {told}:\n{page}");
    }
    // What was measured is never overwritten.
    let output = crosstalk(dir.path(), &["report", "r", "--page", "r/journal.ndjson"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
