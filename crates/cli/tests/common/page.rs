//! The pages of the documentation.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A page: its path from the root of the repository, and its text.
pub struct Page {
    pub path: String,
    pub text: String,
}

/// A block of a page.
pub struct Block {
    pub language: String,
    pub text: String,
    /// The paragraph above it.
    pub above: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Markdown files below a folder, by their path from the root.
pub fn below(folder: &str, found: &mut Vec<String>) {
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
pub fn pages() -> Vec<Page> {
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
    /// Whether it is a page for users: its blocks are marked, and its commands run.
    pub fn is_for_users(&self) -> bool {
        let first = ["README.md", "docs/README.md", "docs/tutorial.md"].contains(&self.path.as_str());
        first || ["docs/how-to/", "docs/explanation/"].iter().any(|folder| self.path.starts_with(folder))
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut above, mut is_inside, mut is_over) = (String::new(), false, true);
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
                None if line.trim().is_empty() => is_over = true,
                None => {
                    above = if is_over { line.to_string() } else { format!("{above} {line}") };
                    is_over = false;
                }
            }
        }
        assert!(!is_inside, "{}: a block has no end", self.path);
        blocks
    }

    /// Blocks of commands that are run. Above other blocks a paragraph says what they need.
    pub fn commands(&self) -> impl Iterator<Item = Block> {
        let blocks = self.blocks().into_iter();
        blocks.filter(|block| block.language == "sh" && !block.above.starts_with("Needs"))
    }

    /// The text outside of blocks and of code.
    fn prose(&self) -> String {
        let blocks = self.text.split("```").step_by(2);
        blocks.flat_map(|part| part.split('`').step_by(2)).collect()
    }

    /// The targets of its links within the repository.
    pub fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let links = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string()));
        links.filter(|link| !link.contains("://")).collect()
    }

    /// The anchors of its headings, as GitHub makes them.
    pub fn anchors(&self) -> BTreeSet<String> {
        let outside: String = self.text.split("\n```").step_by(2).collect();
        let headings = outside.lines().filter(|line| line.starts_with('#')).map(|line| {
            let kept = line.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        });
        headings.collect()
    }

    pub fn folder(&self) -> PathBuf {
        root().join(&self.path).parent().expect("a folder").to_path_buf()
    }
}
