//! Files that jobs only read, and users may share: a file of data, a tree of empty files with a list of them, and
//! shell scripts.
//!
//! The tree is as deep and as large as AIM7's (8 folders of 40 files, up to 6 levels), and as many files of the
//! list are looked up (57) and made (43).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use crate::block::{self, Block};

/// Where such files are.
#[derive(Debug, Clone)]
pub struct CommonFiles {
    folder: PathBuf,
}

/// Begins a line of the list with a file that is looked up.
pub const LOOK_UP: &str = "look up ";

/// Begins a line of the list with a file that is made and removed again. It does not exist before.
pub const MAKE: &str = "make ";

/// The stamp of the blocks of the file of data.
pub const STAMP: u64 = 0;

/// The tree's folders.
const FOLDERS: [&str; 8] = [
    ".",
    "tools",
    "var/mail/queue/late",
    "home/ann/work/site/text/part1",
    "home/ben/code/old/lib",
    "home/carl",
    "home/dora/plan/2016/draft",
    "home/emil/port/src/pack",
];

const MEBIBYTE: usize = 1 << 20;

/// Files in each folder of the tree.
const FILES: usize = 40;

/// Files that are looked up, and that are made.
const LOOKED_UP: usize = 57;
const MADE: usize = 43;

impl CommonFiles {
    /// Makes the files in `folder`, which exists; `file_size` and `work` are those of the users. `proceed` is called
    /// before every mebibyte; its fault ends it.
    ///
    /// # Errors
    /// An environment fault if they cannot be made; those of `proceed`.
    pub fn make(
        folder: &Path,
        file_size: Bytes,
        work: f64,
        proceed: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        let files = CommonFiles { folder: folder.into() };
        let fault = |e: io::Error| Fault::environment(format!("cannot make the users' common files: {e}"));
        let fault = |e: io::Error| fault(e).at(folder.display().to_string());
        let mut data = File::create(files.data()).map_err(fault)?;
        let mut block = Block::new();
        for index in 0..block::count(file_size, work) {
            if index.is_multiple_of(MEBIBYTE / block::BLOCK) {
                proceed()?;
            }
            data.write_all(block.stamped(STAMP, index)).map_err(fault)?;
        }
        files.make_tree().map_err(fault)?;
        Ok(files)
    }

    /// The files that [`CommonFiles::make`] has made in `folder`.
    pub fn made(folder: &Path) -> Self {
        CommonFiles { folder: folder.into() }
    }

    fn make_tree(&self) -> io::Result<()> {
        fs::create_dir(self.tree())?;
        for folder in FOLDERS {
            fs::create_dir_all(self.tree().join(folder))?;
        }
        // All names of the tree are of one empty file.
        let first = self.tree().join(name(0, 0));
        File::create(&first)?;
        for path in (1..FOLDERS.len() * FILES).map(|file| name(file / FILES, file % FILES)) {
            fs::hard_link(&first, self.tree().join(path))?;
        }
        fs::write(self.list(), list())?;
        for script in [self.program(), self.script()] {
            write_script(&script)?;
        }
        Ok(())
    }

    /// The folder that they are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file of stamped blocks, as many as the users' own files have.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The tree of files.
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The list of the tree's files.
    pub fn list(&self) -> PathBuf {
        self.tree().join("list")
    }

    /// The program that `exec_test` executes: a shell script that lists the current folder.
    pub fn program(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// The script of `shell_rtns_1`, which does the same.
    pub fn script(&self) -> PathBuf {
        self.folder.join("script")
    }
}

/// A file of the tree: its path in it.
fn name(folder: usize, file: usize) -> String {
    format!("{}/file{file:02}", FOLDERS[folder])
}

/// The list: every file of the tree, some of which are looked up, and in each folder some that are to be made.
fn list() -> String {
    let mut lines = Vec::new();
    let due = |so_far: usize, all: usize, of: usize| (so_far + 1) * all / of > so_far * all / of;
    for (folder, path) in FOLDERS.iter().enumerate() {
        lines.push((*path).to_owned());
        for file in 0..FILES {
            let so_far = folder * FILES + file;
            let mark = if due(so_far, LOOKED_UP, FOLDERS.len() * FILES) { LOOK_UP } else { "" };
            lines.push(format!("{mark}{}", name(folder, file)));
            if due(so_far, MADE, FOLDERS.len() * FILES) {
                lines.push(format!("{MAKE}{path}/new{file:02}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

fn write_script(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(b"#!/bin/sh\n# Lists the current folder.\nls -l > /dev/null 2>&1\n")?;
    file.set_permissions(Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_as_many_files_of_each_kind_as_aim7s() {
        let list = list();
        let count = |mark| list.lines().filter(|line| line.starts_with(mark)).count();
        assert_eq!((count(LOOK_UP), count(MAKE)), (57, 43));
        let folder = tempfile::tempdir().expect("a folder");
        let common = CommonFiles::make(folder.path(), Bytes(4096), 1.0, &|| Ok(())).expect("makes");
        let there = |path: &str| common.tree().join(path).exists();
        assert!(list.lines().filter_map(|line| line.strip_prefix(LOOK_UP)).all(there));
        assert!(!list.lines().filter_map(|line| line.strip_prefix(MAKE)).any(there));
        assert_eq!(fs::metadata(common.data()).expect("is there").len(), 4096);
    }
}
