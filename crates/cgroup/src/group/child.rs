//! Groups below one of ours: apart in some controllers, together in the others.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crosstalk_core::Fault;

use super::{Group, OwnGroup};

impl OwnGroup {
    /// The group `name` below this one, made if it is not there yet. It is apart for these controllers of v1 or v2;
    /// for the others its processes are in this group. It goes when this group does. All groups below one are for
    /// the same controllers: v2 enables them for all.
    ///
    /// # Errors
    /// If a controller is missing, or the kernel refuses.
    pub fn child(&self, name: &str, controllers: &[&str]) -> Result<Group, Fault> {
        let mut dirs = self.group().dirs.clone();
        let mut missing: Vec<&str> = controllers.to_vec();
        if let Some(above) = dirs.get_mut("") {
            let offered = fs::read_to_string(above.join("cgroup.controllers")).unwrap_or_default();
            let here = |name: &&str| offered.split_whitespace().any(|word| word == *name);
            for controller in controllers.iter().filter(|name| here(name)) {
                let path = above.join("cgroup.subtree_control");
                fs::write(&path, format!("+{controller}")).map_err(|e| not_enabled(controller, &path, &e))?;
            }
            missing.retain(|name| !here(name));
            *above = above.join(name);
        }
        // Controllers that are mounted together have one directory.
        let apart: Vec<_> =
            controllers.iter().filter_map(|controller| dirs.get(*controller)).cloned().collect();
        missing.retain(|controller| !dirs.contains_key(*controller));
        if let Some(controller) = missing.first() {
            return Err(Fault::environment(format!("the controller `{controller}` is missing here"))
                .at(self.group().paths().first().map(|path| path.display().to_string()).unwrap_or_default())
                .remedy("v2: echo +NAME > cgroup.subtree_control, in the group above; v1: mount it"));
        }
        for (tree, dir) in &mut dirs {
            if !tree.is_empty() && apart.contains(dir) {
                *dir = dir.join(name);
            }
        }
        let group = Group::new(dirs);
        group.paths().iter().try_for_each(|path| create(path))?;
        Ok(group)
    }
}

fn create(path: &Path) -> Result<(), Fault> {
    match fs::create_dir(path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(refused(path, &e)),
        _ => Ok(()),
    }
}

fn not_enabled(controller: &str, path: &Path, e: &std::io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot enable the controller `{controller}`: {e}"));
    fault.at(path.display().to_string()).remedy(match e.kind() {
        ErrorKind::ResourceBusy => {
            "move the processes of that group to another one: v2 allows none beside groups"
        }
        _ => "run it as root, or enable it in the group above: echo +NAME > cgroup.subtree_control",
    })
}

fn refused(path: &Path, e: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot make a control group: {e}"))
        .at(path.display().to_string())
        .remedy("run it as root")
}
