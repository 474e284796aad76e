//! The groups that programs are put into, with their files open: a program waits meanwhile.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crosstalk_cgroup::group::Group;

use crate::name::GroupName;
use crate::process_limit::RefusalCount;
use crate::standing::{Existence, standing};
use crate::unusable::{BUSY, holds_groups};

/// ESRCH of errno(3): the process has ended.
const ENDED: i32 = 3;

/// Why a process was not put into a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No such group is registered, or it was removed by something else than `crosstalk groups remove`.
    Missing,
    /// It has ended.
    Ended,
    /// The kernel refuses, with the reason.
    Refused(String),
}

/// Groups whose files are open.
#[derive(Debug, Default)]
pub struct Targets {
    open: BTreeMap<GroupName, Vec<(PathBuf, File)>>,
    /// How many processes the kernel had refused groups in use, and those that they are in.
    refused: BTreeMap<GroupName, RefusalCount>,
}

impl Targets {
    /// Puts a process with its threads into a group, in each tree.
    ///
    /// # Errors
    /// If there is no such group, or the kernel refuses.
    pub fn put(&mut self, name: &GroupName, pid: u32) -> Result<(), Refusal> {
        let known = self.open.contains_key(name);
        match self.write(name, pid) {
            // Its files are of a group that was removed, and perhaps made anew.
            Err(Refusal::Missing) if known => self.write(name, pid),
            done => done,
        }
    }

    /// Groups to which the kernel has refused processes since this was called last: they have as many as they may.
    pub fn full(&mut self) -> Vec<GroupName> {
        let counts = self.refused.values_mut();
        counts.filter_map(|count| (count.more() > 0).then(|| count.name.clone())).collect()
    }

    /// Counts from now on what is refused to a group, and to those that it is in.
    fn count_refused(&mut self, name: &GroupName) {
        let found = standing(Some(name)).ok().and_then(|found| found.into_iter().next());
        let counts = found.map(|found| RefusalCount::begin(name, &found.group)).unwrap_or_default();
        self.refused.extend(counts.into_iter().map(|count| (count.name.clone(), count)));
    }

    fn write(&mut self, name: &GroupName, pid: u32) -> Result<(), Refusal> {
        if !self.open.contains_key(name) {
            self.open.insert(name.clone(), files(name)?);
            self.count_refused(name);
        }
        let text = pid.to_string();
        let written = self.open[name].iter().try_for_each(|(path, file)| {
            // Of a process its threads are moved, too.
            file.write_all_at(text.as_bytes(), 0).map_err(|e| match e.raw_os_error() {
                Some(ENDED) => Refusal::Ended,
                Some(BUSY) => Refusal::Refused(holds_groups(name).sentence()),
                _ if !path.exists() => Refusal::Missing,
                _ => Refusal::Refused(format!("{}: {e}", path.display())),
            })
        });
        if written == Err(Refusal::Missing) {
            self.open.remove(name);
        }
        written
    }
}

fn files(name: &GroupName) -> Result<Vec<(PathBuf, File)>, Refusal> {
    // A registry that is just being replaced is read next time.
    let found = standing(Some(name)).map_err(|_| Refusal::Missing)?.into_iter().next();
    let found = found.filter(|found| found.existence() != Existence::Vanished).ok_or(Refusal::Missing)?;
    open(&found.group).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Refusal::Missing,
        _ => Refusal::Refused(format!("group `{name}`: {e}")),
    })
}

/// The files of a group that take processes.
fn open(group: &Group) -> io::Result<Vec<(PathBuf, File)>> {
    let paths = group.paths().into_iter().map(|dir| dir.join("cgroup.procs"));
    paths.map(|path| Ok((path.clone(), OpenOptions::new().write(true).open(path)?))).collect()
}
