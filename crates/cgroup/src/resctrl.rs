//! Cache and memory bandwidth shared out by the processor, where it can do that
//! (`Documentation/filesystems/resctrl.rst`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::Ledger;
use crosstalk_host::kernel;
use crosstalk_host::ledger::Entry;
use crosstalk_host::process::fresh_mark;

/// Where the kernel shows it.
const MOUNT: &str = "/sys/fs/resctrl";
/// The share of bandwidth that background work is left with, in percent; rounded up by the kernel. Where
/// bandwidth is told in MB a second instead, nobody tells of how many, and it has no limit.
const BANDWIDTH: u64 = 10;

/// Whether this host has it.
pub fn need() -> Need {
    let what = "cache partitions";
    let shared = "background work shares the cache: the guard lets it run for less of the time instead";
    if Path::new(MOUNT).join("schemata").exists() {
        return Need::found(what, MOUNT);
    }
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let able = flags
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|flag| matches!(flag, "cat_l3" | "cat_l2" | "mba")));
    if able {
        Need::missing(what, shared, "sudo mount -t resctrl resctrl /sys/fs/resctrl")
    } else {
        let why = "this processor has no such partitions, or the hypervisor keeps them";
        Need::unavailable(what, format!("{shared} ({why})"))
    }
}

/// A partition with the least that the processor can set aside. Dropping it takes it away; its
/// tasks are everybody's again.
#[derive(Debug)]
pub struct Partition {
    path: PathBuf,
    _entry: Entry,
}

impl Partition {
    /// Makes one; `None` where this host has none.
    ///
    /// # Errors
    /// When the kernel refuses: too many partitions, most likely.
    pub fn new(ledger: &Ledger) -> Result<Option<Partition>, Fault> {
        let mount = Path::new(MOUNT);
        let Ok(all) = fs::read_to_string(mount.join("schemata")) else { return Ok(None) };
        let mounts = kernel::text("/proc/self/mounts").unwrap_or_default();
        let least = least(&all, &smallest(mount), in_megabytes(&mounts));
        if least.is_empty() {
            return Ok(None);
        }
        let path = mount.join(format!("crosstalk-{}", &fresh_mark()?[..8]));
        let paths = [path.clone()];
        let entry = ledger.group_of_existing(&paths, &[mount.to_path_buf()], "a cache partition")?;
        fs::write(path.join("schemata"), least)
            .map_err(|e| Fault::environment(format!("cannot set it: {e}")).at(path.display().to_string()))?;
        Ok(Some(Partition { path, _entry: entry }))
    }

    /// Puts a task into it; one that has ended is no error.
    pub fn take_in(&self, task: u32) {
        let _ = fs::write(self.path.join("tasks"), task.to_string());
    }
}

/// Cache → how many bits a mask of it must have.
fn smallest(mount: &Path) -> BTreeMap<String, u32> {
    let entries = fs::read_dir(mount.join("info")).into_iter().flatten().flatten();
    let told = entries.filter_map(|entry| {
        let bits = fs::read_to_string(entry.path().join("min_cbm_bits")).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), bits.trim().parse().ok()?))
    });
    told.collect()
}

/// Whether bandwidth is told in MB a second: by the mount's option (resctrl.rst).
fn in_megabytes(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, options) = (words.next(), words.nth(1).unwrap_or_default());
        at == Some(MOUNT) && options.split(',').any(|option| option == "mba_MBps")
    })
}

/// The text of `schemata` with the least of everything: of a cache its lowest ways, of bandwidth a
/// tenth, unless that is told in `megabytes`.
fn least(schemata: &str, smallest: &BTreeMap<String, u32>, megabytes: bool) -> String {
    let mut text = String::new();
    for line in schemata.lines() {
        let Some((name, domains)) = line.split_once(':') else { continue };
        let name = name.trim();
        if name == "MB" && megabytes {
            continue;
        }
        let bits = smallest.get(name).copied().unwrap_or(1).clamp(1, 31);
        let value = if name == "MB" { BANDWIDTH.to_string() } else { format!("{:x}", (1_u32 << bits) - 1) };
        let domains: Vec<String> = domains
            .split(';')
            .filter_map(|domain| Some(format!("{}={value}", domain.trim().split_once('=')?.0)))
            .collect();
        text += &format!("{name}:{}\n", domains.join(";"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn background_work_is_left_with_the_least() {
        let all = "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n";
        let smallest = BTreeMap::from([("L3".to_string(), 2)]);
        assert_eq!(least(all, &smallest, false), "MB:0=10;1=10\nL3:0=3;1=3\n");
        assert_eq!(least(all, &smallest, true), "L3:0=3;1=3\n");
    }

    #[test]
    fn the_mount_tells_in_what_bandwidth_is_told() {
        let mounts = "proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime,mba_MBps 0 0\n";
        assert!(in_megabytes(mounts));
        assert!(!in_megabytes(&mounts.replace(",mba_MBps", "")) && !in_megabytes(""));
    }

    #[test]
    fn whether_it_is_here_is_told() {
        assert_eq!(need().is_found(), Path::new(MOUNT).join("schemata").exists());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            least(&text, &BTreeMap::new(), false);
            least(&format!("L3:{text};{text}={text}"), &BTreeMap::from([("L3".into(), u32::MAX)]), true);
            in_megabytes(&text);
        }
    }
}
