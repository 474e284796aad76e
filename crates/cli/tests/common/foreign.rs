//! Groups that somebody else has made.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crosstalk_host::cpu::parse_list;

/// A group in each tree of v1, below one above it if that has a name; they go with it.
pub struct Foreign {
    /// Each tree, and what it is called there.
    places: Vec<(PathBuf, String)>,
}

impl Foreign {
    /// One right below the top.
    pub fn at_the_top() -> Self {
        Foreign::new(format!("crosstalk-test-{}", std::process::id()))
    }

    /// One below another at the top, as services are.
    pub fn service() -> Self {
        Foreign::new(format!("crosstalk-test-{}.slice/service", std::process::id()))
    }

    fn new(name: String) -> Self {
        let trees = fs::read_dir("/sys/fs/cgroup").expect("is there").flatten().map(|tree| tree.path());
        let trees = trees.filter(|tree| tree.join("cgroup.procs").exists() && !tree.is_symlink());
        let foreign = Foreign { places: trees.map(|tree| (tree, name.clone())).collect() };
        for (tree, name) in &foreign.places {
            for dir in levels(tree, name) {
                fs::create_dir(&dir).expect("makes");
                let set = ["cpuset.cpus", "cpuset.mems"].map(|file| (tree.join(file), dir.join(file)));
                for (all, file) in set.iter().filter(|(_, file)| file.exists()) {
                    fs::write(file, fs::read_to_string(all).expect("reads")).expect("may be set");
                }
            }
        }
        foreign
    }

    /// What it is called, as `--background` takes it.
    pub fn name(&self) -> String {
        format!("/{}", self.places[0].1)
    }

    /// Its directory in each tree.
    pub fn dirs(&self) -> Vec<PathBuf> {
        self.places.iter().map(|(tree, name)| tree.join(name)).collect()
    }

    /// Its file of this name, if a tree has it.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.dirs().into_iter().map(|dir| dir.join(name)).find(|file| file.exists())
    }

    /// What that says.
    pub fn text_of(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.file(name)?).expect("reads").trim().to_string())
    }

    /// Whether what is in it is paused.
    pub fn is_frozen(&self) -> bool {
        is_frozen(&self.dirs())
    }

    /// Moves the process there.
    pub fn takes(&self, pid: u32) {
        self.dirs()
            .iter()
            .for_each(|dir| fs::write(dir.join("cgroup.procs"), pid.to_string()).expect("may be moved"));
    }

    /// The processors that it may have.
    pub fn processors(&self) -> Vec<usize> {
        parse_list(&self.text_of("cpuset.cpus").expect("has processors"))
    }

    /// Gives it another name, where a tree lets it have one: v2's does not.
    pub fn rename(&mut self, to: &str) {
        for (tree, name) in &mut self.places {
            if fs::rename(tree.join(&*name), tree.join(to)).is_ok() {
                *name = to.into();
            }
        }
    }
}

/// Whether one of these directories has paused what is in it.
pub fn is_frozen(dirs: &[PathBuf]) -> bool {
    let says = |dir: &PathBuf, file: &str| fs::read_to_string(dir.join(file)).unwrap_or_default();
    dirs.iter()
        .any(|dir| says(dir, "cgroup.freeze").trim() == "1" || says(dir, "freezer.state").trim() == "FROZEN")
}

/// The directories of a group in a tree, the upper one first.
fn levels(tree: &Path, name: &str) -> Vec<PathBuf> {
    let whole = tree.join(name);
    let mut levels: Vec<PathBuf> =
        whole.ancestors().take_while(|dir| *dir != tree).map(Path::to_path_buf).collect();
    levels.reverse();
    levels
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // Its processes may be ending. To fail here would hide why a test has failed.
        let until = Instant::now() + Duration::from_secs(10);
        for dir in self.places.iter().flat_map(|(tree, name)| levels(tree, name).into_iter().rev()) {
            while fs::remove_dir(&dir).is_err() && dir.exists() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
