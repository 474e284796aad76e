//! Control groups: made, filled, changed, read and taken away; v1, v2 and both at once.
//!
//! A [`Group`] is one directory in each tree of the host. Groups of ours vanish with all their
//! settings; what is set in others' goes through the undo ledger's knobs. Processes are placed at
//! their launch, because memory charges do not follow one that is moved.

mod above;
mod child;
pub mod hierarchy;
mod lasting;
mod location;
mod own;
pub mod reading;
mod setting;

pub use above::{keep_within, memory_limit, tighten};
pub use hierarchy::{Hierarchy, Tree};
pub use location::{Location, Reach, anybodys};
pub use own::{OwnGroup, enable, may_write};
pub use setting::Setting;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::ledger::Knob;
use crosstalk_host::process::place;

/// A group that is there, ours or another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Controller of v1, or nothing for v2 → the directory.
    dirs: BTreeMap<String, PathBuf>,
}

impl Group {
    /// The group that has these directories: controller of v1, or nothing for v2 → where it is.
    pub fn new(dirs: BTreeMap<String, PathBuf>) -> Self {
        Group { dirs }
    }

    /// The groups that a process is in, by its number.
    ///
    /// # Errors
    /// A usage fault where there is no such process.
    pub fn of_process(pid: u32) -> Result<Self, Fault> {
        let group = Self::standing(&Hierarchy::of(&pid.to_string()));
        if group.is_nowhere() {
            return Err(Fault::usage(format!(
                "there is no process {pid}, or it is in no control group seen here"
            )));
        }
        if group.dirs.values().any(|dir| dir.to_string_lossy().contains(char::REPLACEMENT_CHARACTER)) {
            return Err(nameless().at(format!("process {pid}")));
        }
        Ok(group)
    }

    /// The groups that the process is in whose trees these are; nowhere where none is seen.
    pub fn standing(hierarchy: &Hierarchy) -> Self {
        Self::of_trees(hierarchy, Tree::here)
    }

    /// The groups called `name` that a process is in, or below: one in each tree that has it there.
    pub fn around(pid: u32, name: &str) -> Self {
        Self::of_trees(&Hierarchy::of(&pid.to_string()), |tree| {
            let here = tree.here.as_deref()?;
            tree.path(here.ancestors().find(|group| group.file_name().is_some_and(|last| last == name))?)
        })
    }

    /// The directory that `dir` finds in each tree.
    fn of_trees(hierarchy: &Hierarchy, dir: impl Fn(&Tree) -> Option<PathBuf>) -> Self {
        let v2 = hierarchy.v2.as_ref().map(|tree| (String::new(), tree));
        let v1 = hierarchy.v1.iter().map(|(name, tree)| (name.clone(), tree));
        Group { dirs: v2.into_iter().chain(v1).filter_map(|(name, tree)| Some((name, dir(tree)?))).collect() }
    }

    /// The group of this name: below `/sys/fs/cgroup` in any tree, or a directory.
    ///
    /// # Errors
    /// A usage fault where no tree has it, with those that are there.
    pub fn named(name: &Path, hierarchy: &Hierarchy) -> Result<Self, Fault> {
        if name.to_str().is_none() {
            return Err(nameless().at(name.display().to_string()));
        }
        // Below one tree's mount it is meant in the others, too.
        let inside = hierarchy.trees().into_iter().find_map(|tree| name.strip_prefix(&tree.mount).ok());
        let inside = inside.unwrap_or_else(|| name.strip_prefix("/").unwrap_or(name));
        let there = |tree: &Tree| {
            // Memory's, for example, may be below the group of whoever made it.
            let below = [Some(tree.mount.join(inside)), tree.here().map(|here| here.join(inside))];
            below.into_iter().flatten().find(|path| path.join("cgroup.procs").exists())
        };
        let group = Self::of_trees(hierarchy, there);
        if inside.as_os_str().is_empty() || group.is_nowhere() {
            return Err(unknown(name, hierarchy));
        }
        Ok(group)
    }

    /// It in the trees that are meant, and what it has in the others; trees by their controller of v1,
    /// or nothing for v2.
    pub fn parted(self, meant: impl Fn(&str) -> bool) -> (Self, Self) {
        let (meant, others) = self.dirs.into_iter().partition(|(controller, _)| meant(controller));
        (Group { dirs: meant }, Group { dirs: others })
    }

    /// With what `other` has in trees in which it has nothing.
    #[must_use]
    pub fn with(mut self, other: &Group) -> Self {
        for (controller, dir) in &other.dirs {
            self.dirs.entry(controller.clone()).or_insert_with(|| dir.clone());
        }
        self
    }

    /// Whether it is in no tree.
    pub fn is_nowhere(&self) -> bool {
        self.dirs.is_empty()
    }

    /// Its directories, each once.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.dirs.values().cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Controller of v1, or nothing for v2 → its directory.
    pub fn paths_by_tree(&self) -> BTreeMap<String, PathBuf> {
        self.dirs.clone()
    }

    /// Its directory for a controller of v1, or v2's for an empty name.
    pub fn dir(&self, controller: &str) -> Option<&Path> {
        self.dirs.get(controller).map(PathBuf::as_path)
    }

    /// Whether the other is this one, or is in it, in any tree.
    pub fn holds(&self, other: &Group) -> bool {
        let inside = |(tree, dir): (&String, &PathBuf)| {
            other.dirs.get(tree).is_some_and(|other| other.starts_with(dir))
        };
        self.dirs.iter().any(inside)
    }

    /// Whether it is still there.
    pub fn exists(&self) -> bool {
        self.dirs.values().any(|dir| dir.exists())
    }

    /// The first of these files that it has: controller of v1 (or nothing for v2) and file name.
    pub fn file(&self, places: &[(&str, &str)]) -> Option<PathBuf> {
        let there = |(controller, file): &(&str, &str)| Some(self.dirs.get(*controller)?.join(file));
        places.iter().filter_map(there).find(|path| path.exists())
    }

    /// Where a setting goes, if this group offers it.
    pub fn place(&self, setting: &Setting) -> Option<PathBuf> {
        self.file(setting.places())
    }

    /// Has the process that `command` starts begin in it.
    ///
    /// # Errors
    /// Where its files cannot be opened.
    pub fn start_in<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command, Fault> {
        let open = |dir: PathBuf| -> Result<File, Fault> {
            let path = dir.join("cgroup.procs");
            let file = OpenOptions::new().write(true).open(&path);
            file.map_err(|e| Fault::environment(e.to_string()).at(path.display().to_string()))
        };
        // The tree of processors is entered last: in its idle class the process hardly runs beside others.
        let processors = ["", "cpu"].map(|tree| self.dir(tree));
        let mut paths = self.paths();
        paths.sort_by_key(|path| processors.contains(&Some(path.as_path())));
        let files = paths.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(place(command, files))
    }

    /// Moves a process into it, with its threads.
    ///
    /// # Errors
    /// Where the kernel refuses; one that has ended is no error.
    pub fn take_in(&self, pid: u32) -> Result<(), Fault> {
        for dir in self.paths() {
            let path = dir.join("cgroup.procs");
            match fs::write(&path, pid.to_string()) {
                // ESRCH of errno(3): it has ended.
                Err(e) if e.raw_os_error() != Some(3) => {
                    return Err(Fault::environment(format!("cannot move process {pid}: {e}"))
                        .at(path.display().to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets it in a group that this program has made. Nothing is put into the undo ledger: what is set goes with the
    /// group. In others, see [`Group::knob`].
    ///
    /// # Errors
    /// Where the group does not offer it, or the kernel refuses.
    pub fn set(&self, setting: &Setting) -> Result<(), Fault> {
        let path = self.place(setting).ok_or_else(|| self.lacks(setting))?;
        let text = setting.text(&name_of(&path));
        let written = OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(if text.is_empty() { b"\n" } else { text.as_bytes() }));
        written.map_err(|e| {
            Fault::environment(format!("cannot set {} to `{text}`: {e}", setting.what()))
                .at(path.display().to_string())
        })
    }

    /// Takes the knob of a setting, which is put back with the drop.
    ///
    /// # Errors
    /// Where the group does not offer it, or it cannot be read.
    pub fn knob(&self, setting: &Setting, ledger: &Ledger) -> Result<Dial, Fault> {
        let path = self.place(setting).ok_or_else(|| self.lacks(setting))?;
        let knob = ledger.knob(&path, setting.what())?;
        Ok(Dial { knob, file: name_of(&path) })
    }

    /// The same for one that stays set only while the ledger is renewed.
    ///
    /// # Errors
    /// Those of [`Group::knob`].
    pub fn leased(&self, setting: &Setting, ledger: &Ledger) -> Result<Dial, Fault> {
        let Dial { knob, file } = self.knob(setting, ledger)?;
        Ok(Dial { knob: knob.leased(), file })
    }

    fn lacks(&self, setting: &Setting) -> Fault {
        let fault = Fault::environment(format!("this group does not offer {}", setting.what()));
        // In v1's trees no directory lacks it: the tree that has it is missing.
        let fault = match self.dir("").filter(|_| self.dirs.len() == 1) {
            Some(dir) => fault.at(dir.display().to_string()),
            None => fault,
        };
        match setting {
            Setting::Idle(_) => fault.remedy("it takes Linux 5.15 or later and the cpu controller"),
            Setting::MemoryHigh(_) | Setting::MemoryMin(_) | Setting::MemoryLow(_) => {
                fault.remedy("it takes v2's memory controller: boot with systemd.unified_cgroup_hierarchy=1")
            }
            Setting::IoWeight(_) => fault
                .remedy("choose a scheduler that has weights: echo bfq > /sys/block/DEVICE/queue/scheduler"),
            _ => fault.remedy(self.offered_by(setting)),
        }
    }

    /// What makes the group offer a setting.
    fn offered_by(&self, setting: &Setting) -> String {
        let places = setting.places();
        let old = places.iter().map(|(tree, _)| *tree).find(|tree| !tree.is_empty());
        match old.filter(|_| self.dirs.keys().any(|tree| !tree.is_empty())) {
            Some(tree) => format!(
                "mount its controller: mkdir -p /sys/fs/cgroup/{tree} && mount -t cgroup -o {tree} cgroup \
                 /sys/fs/cgroup/{tree}"
            ),
            None => {
                let controller =
                    places.first().and_then(|(_, file)| file.split('.').next()).unwrap_or_default();
                format!(
                    "enable its controller in the group above: echo +{controller} > cgroup.subtree_control"
                )
            }
        }
    }

    /// The processes in it and below, in ascending order.
    pub fn processes(&self) -> Vec<u32> {
        let mut all = Vec::new();
        if let Some(dir) = self.dirs.values().next() {
            collect(dir, &mut all);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn collect(dir: &Path, all: &mut Vec<u32>) {
    let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    all.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    // Two links, and one for each group in it (kernfs); some file systems count none.
    if fs::metadata(dir).is_ok_and(|dir| dir.nlink() == 2) {
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), all);
        }
    }
}

/// What is set is written down in JSON, and a group is found again by its name.
fn nameless() -> Fault {
    Fault::usage("expected a control group whose name is UTF-8, found other bytes in it")
        .remedy("move what is in it to another group: echo PID > /sys/fs/cgroup/…/NAME/cgroup.procs")
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn unknown(name: &Path, hierarchy: &Hierarchy) -> Fault {
    let top = |part| matches!(part, Component::RootDir | Component::CurDir);
    if !name.as_os_str().is_empty() && name.components().all(top) {
        return Fault::usage(
            "everything on this host is in that group, this program and foreground work included",
        )
        .remedy("name the group of the work that is meant, or its process");
    }
    let mut known: Vec<String> = hierarchy.trees().iter().flat_map(|tree| below(&tree.mount)).collect();
    // Where this program stands is nobody's background work.
    let here = |tree: &Tree| Some(tree.here()?.strip_prefix(&tree.mount).ok()?.iter().next()?.to_owned());
    let here: Vec<_> = hierarchy.trees().into_iter().filter_map(here).collect();
    known.retain(|name| !here.iter().any(|here| here == name.as_str()));
    known.sort();
    known.dedup();
    let names = known.iter().map(String::as_str);
    let fault = crosstalk_core::name::unknown("control group", &name.display().to_string(), names);
    match fault.remedy {
        None => fault.remedy("there is none; start one with `crosstalk exec --background -- COMMAND`"),
        Some(_) => fault,
    }
}

/// The names of the groups right below a directory.
pub fn below(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.path().join("cgroup.procs").exists());
    dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A knob that takes settings. Dropping it puts back what was there.
#[derive(Debug)]
pub struct Dial {
    knob: Knob,
    file: String,
}

impl Dial {
    /// What it said before.
    pub fn was(&self) -> &str {
        self.knob.original()
    }

    /// Whether it says that now, whoever has set it.
    pub fn says(&self, setting: &Setting) -> bool {
        self.knob.current().is_ok_and(|text| text.trim() == setting.text(&self.file))
    }

    /// Sets it.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn set(&mut self, setting: &Setting) -> Result<(), Fault> {
        self.knob.set(&setting.text(&self.file))
    }

    /// Writes down what it says, which setting another changes.
    ///
    /// # Errors
    /// Those of [`Knob::record`].
    pub fn keep(&mut self) -> Result<(), Fault> {
        self.knob.record()
    }

    /// Leaves it as it is set.
    ///
    /// # Errors
    /// Those of [`Knob::forget`].
    pub fn leave(self) -> Result<(), Fault> {
        self.knob.forget()
    }

    /// Sets it to what it said before, and keeps it.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn reset(&mut self) -> Result<(), Fault> {
        self.knob.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of plain files, in which every setting of that version can be had.
    fn pretended(controller: &str, files: &[&str]) -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in files {
            fs::write(folder.path().join(file), "").expect("writes");
        }
        let dirs = BTreeMap::from([(controller.to_string(), folder.path().to_path_buf())]);
        (folder, Group::new(dirs))
    }

    #[test]
    fn a_setting_goes_into_the_file_that_is_there() {
        let (folder, group) = pretended("cpu", &["cpu.idle", "cpu.shares"]);
        group.set(&Setting::Idle(true)).expect("offered");
        group.set(&Setting::Weight(50)).expect("offered");
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).expect("reads");
        assert_eq!((read("cpu.idle").as_str(), read("cpu.shares").as_str()), ("1", "512"));
        let fault = group.set(&Setting::MemoryHigh(None)).expect_err("not offered");
        assert!(fault.message.contains("soft memory limit") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn a_setting_that_is_not_offered_is_refused_with_what_would_offer_it() {
        let limit = Setting::MemoryMax(Some(crosstalk_core::units::Bytes(1 << 20)));
        for (tree, remedy) in [
            ("cpu", "mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory"),
            ("", "echo +memory > cgroup.subtree_control"),
        ] {
            let (_folder, group) = pretended(tree, &[]);
            let fault = group.set(&limit).expect_err("not offered");
            assert!(fault.remedy.as_deref().is_some_and(|said| said.contains(remedy)), "{fault}");
        }
    }

    #[test]
    fn an_unknown_group_is_answered_with_the_nearest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("batch")).expect("makes");
        fs::write(folder.path().join("batch/cgroup.procs"), "12\n7\n").expect("writes");
        let mounts = format!("35 24 0:30 / {} rw - cgroup2 cgroup2 rw", folder.path().display());
        let hierarchy = Hierarchy::parse(&mounts, "0::/");
        let group = Group::named(Path::new("/batch"), &hierarchy).expect("is there");
        assert_eq!(group.processes(), [7, 12]);
        let again = Group::named(&folder.path().join("batch"), &hierarchy).expect("by its directory");
        assert_eq!(group, again);
        let fault = Group::named(Path::new("bacth"), &hierarchy).expect_err("is not");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `batch`?"));
        assert!(Group::named(Path::new("/"), &hierarchy).is_err(), "the top holds everybody");
    }
}
