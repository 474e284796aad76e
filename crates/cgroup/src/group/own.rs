//! A group of ours: made where this user may, in every tree, and gone with the drop.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::ledger::{Entry, Knob};
use crosstalk_host::process::fresh_mark;

use super::above::keep_within;
use super::lasting::disabled;
use super::{Group, Hierarchy, Location};

/// The group. Dropping it kills what is in it, or gives guests back, and takes it away.
#[derive(Debug)]
pub struct OwnGroup {
    group: Group,
    // Dropped in this order: the group goes before what was enabled for it is disabled.
    entry: Option<Entry>,
    _enabled: Vec<Knob>,
}

impl OwnGroup {
    /// Makes a group whose name begins with `name`. What limits this process, by the groups that it stands
    /// in, limits the group.
    ///
    /// # Errors
    /// Where this user may make none, or the kernel refuses; nothing is left then.
    pub fn new(name: &str, ledger: &Ledger) -> Result<OwnGroup, Fault> {
        let what = format!("control group {name}");
        let hierarchy = Hierarchy::here();
        let location = Location::find(&hierarchy, &may_write)?;
        let made = Self::at(&location, name, |paths, _| ledger.group(paths, &what), ledger)?;
        keep_within(&made.group, &Group::standing(&hierarchy))?;
        Ok(made)
    }

    /// Makes a group for processes that are there already, in the trees in which they go back to
    /// `home`. Memory of v1, whose charges would not follow them, has none. What limits them at home, itself
    /// or by what it is in, limits them there.
    ///
    /// # Errors
    /// As [`OwnGroup::new`].
    pub fn for_guests(name: &str, home: &Group, ledger: &Ledger) -> Result<OwnGroup, Fault> {
        let mut location = Location::find(&Hierarchy::here(), &may_write)?;
        location.parents.retain(|name, _| name != "memory" && home.dir(name).is_some());
        let what = format!("control group {name}, for processes that were there before");
        let made = Self::at(
            &location,
            name,
            |paths, controllers| {
                let back: Vec<PathBuf> =
                    controllers.iter().filter_map(|name| Some(home.dir(name)?.to_path_buf())).collect();
                ledger.group_of_existing(paths, &back, &what)
            },
            ledger,
        )?;
        keep_within(&made.group, home)?;
        Ok(made)
    }

    fn at(
        location: &Location,
        name: &str,
        enter: impl FnOnce(&[PathBuf], &[String]) -> Result<Entry, Fault>,
        ledger: &Ledger,
    ) -> Result<OwnGroup, Fault> {
        let name = format!("{name}-{}", &fresh_mark()?[..8]);
        let dirs: BTreeMap<String, PathBuf> =
            location.parents.iter().map(|(tree, above)| (tree.clone(), above.join(&name))).collect();
        // Controllers that are mounted together have one directory.
        let (mut paths, mut first) = (Vec::new(), Vec::new());
        for (tree, dir) in &dirs {
            if !paths.contains(dir) {
                paths.push(dir.clone());
                first.push(tree.clone());
            }
        }
        let v2 = location.parents.get("");
        let mut enabled = v2.map(|above| enable(above, ledger)).transpose()?.unwrap_or_default();
        let entry = enter(&paths, &first)?;
        // Who had enabled one may have taken it away before the group was there; now they leave it.
        enabled.extend(v2.map(|above| enable(above, ledger)).transpose()?.unwrap_or_default());
        let group = Group::new(dirs);
        let made = OwnGroup { group, entry: Some(entry), _enabled: enabled };
        made.inherit_processors()?;
        Ok(made)
    }

    /// v1's new groups have no processors and no memory nodes, and take nobody without.
    fn inherit_processors(&self) -> Result<(), Fault> {
        let Some(dir) = self.group.dir("cpuset") else { return Ok(()) };
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let (above, foreground) = (dir.parent().unwrap_or(dir).join(file), dir.join(file));
            let copied = fs::read_to_string(&above).and_then(|text| fs::write(&foreground, text.trim()));
            copied.map_err(|e| Fault::environment(e.to_string()).at(foreground.display().to_string()))?;
        }
        Ok(())
    }

    /// The group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Has the process that `command` starts begin in it.
    ///
    /// # Errors
    /// Where its files cannot be opened.
    pub fn place<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command, Fault> {
        self.group.start_in(command)
    }

    /// Takes it away, with what is in it.
    ///
    /// # Errors
    /// When something resists; it then stays in the ledger.
    pub fn remove(mut self) -> Result<(), Fault> {
        self.entry.take().map_or(Ok(()), Entry::undo)
    }
}

/// Enables the controllers that are there and not enabled yet for groups below `above`, somebody else's group of v2.
///
/// # Errors
/// If the ledger cannot be written.
pub fn enable(above: &Path, ledger: &Ledger) -> Result<Vec<Knob>, Fault> {
    let mut knobs = Vec::new();
    for name in disabled(above) {
        let path = above.join("cgroup.subtree_control");
        let mut knob = ledger.knob_with_undo(&path, &format!("-{name}"), "a controller for groups below");
        // A controller that cannot be had is one that the group does not offer.
        match knob.set(&format!("+{name}")) {
            Ok(()) => knobs.push(knob),
            Err(_) => knob.forget()?,
        }
    }
    Ok(knobs)
}

/// Whether this user may make groups in a directory.
pub fn may_write(dir: &Path) -> bool {
    // Opening for writing asks the file system's rights and its mount; nothing is written.
    OpenOptions::new().write(true).open(dir.join("cgroup.procs")).is_ok()
}
