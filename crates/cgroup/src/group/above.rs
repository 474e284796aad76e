//! What limits a group by those that it is in: processes that leave it leave these limits, too.

use std::fs;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::reading::number;
use super::{Group, Setting};

/// The settings by which a group that is made elsewhere has no more than `home` has: of each limit the least
/// on the way up. Those that are nowhere are missing.
pub(super) fn limits(home: &Group) -> Vec<Setting> {
    let v2 = home.dir("");
    // Beside v1 there may be a tree of v2 without that controller.
    let trees = |controller| [v2, home.dir(controller)].into_iter().flatten();
    let bytes = |file| Some(Bytes(least(v2?, |dir| number(&read(dir, file)?))?));
    let processors = trees("cpuset").find_map(|dir| {
        let lists = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
        // Where its controller ends above the group, the nearest one that has it counts.
        let read_list = |dir: &Path| lists.into_iter().find_map(|file| read(dir, file));
        groups(dir).find_map(read_list).filter(|list| !list.is_empty())
    });
    let quota = trees("cpu").find_map(|dir| least(dir, quota));
    let settings = [
        quota.map(|cores| Setting::Quota(Some(cores))),
        bytes("memory.max").map(|bytes| Setting::MemoryMax(Some(bytes))),
        bytes("memory.high").map(|bytes| Setting::MemoryHigh(Some(bytes))),
        v2.and_then(|dir| least(dir, |dir| number(&read(dir, "pids.max")?)))
            .map(|most| Setting::Processes(Some(most))),
        processors.map(Setting::Cores),
    ];
    settings.into_iter().flatten().collect()
}

/// Sets a limit in a group of ours, unless a smaller one holds for it already.
///
/// # Errors
/// Those of [`Group::set`].
pub fn tighten(group: &Group, limit: &Setting) -> Result<(), Fault> {
    if limits(group).iter().any(|holds| holds.is_below(limit)) {
        return Ok(());
    }
    group.set(limit)
}

/// Gives a group of ours the limits of a group that processes leave for it: those that do not hold in it anyway.
///
/// # Errors
/// Those of [`Group::set`].
pub fn keep_within(group: &Group, home: &Group) -> Result<(), Fault> {
    let holding = limits(group);
    let lost = |limit: &&Setting| group.place(limit).is_some() && !holding.contains(limit);
    limits(home).iter().filter(lost).try_for_each(|limit| group.set(limit))
}

/// The most memory that a group may have: the least limit on the way up, if there is one.
pub fn memory_limit(group: &Group) -> Option<Bytes> {
    let files = [("", "memory.max"), ("memory", "memory.limit_in_bytes")];
    let least = |(tree, file)| least(group.dir(tree)?, |dir| number(&read(dir, file)?));
    files.into_iter().filter_map(least).min().map(Bytes)
}

/// The group and those above it.
fn groups(dir: &Path) -> impl Iterator<Item = &Path> {
    dir.ancestors().take_while(|dir| dir.join("cgroup.procs").exists())
}

/// The least of what the group and those above it say.
fn least<T: PartialOrd>(dir: &Path, read: impl Fn(&Path) -> Option<T>) -> Option<T> {
    groups(dir).filter_map(read).reduce(|least, one| if one < least { one } else { least })
}

/// Processors' time that a group may use, by `cpu.max` or v1's two files.
fn quota(dir: &Path) -> Option<f64> {
    let text = read(dir, "cpu.max").or_else(|| {
        Some(format!("{} {}", read(dir, "cpu.cfs_quota_us")?, read(dir, "cpu.cfs_period_us")?))
    })?;
    let (quota, period) = text.split_once(' ')?;
    // `max`, and v1's −1, say that there is none.
    let (quota, period) = (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

fn read(dir: &Path, file: &str) -> Option<String> {
    Some(fs::read_to_string(dir.join(file)).ok()?.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Groups of plain files, one in the other: what each file says.
    fn nested(levels: &[&[(&str, &str)]]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut dir = folder.path().to_path_buf();
        for (at, files) in levels.iter().enumerate() {
            dir = dir.join(format!("{at}"));
            fs::create_dir(&dir).expect("makes");
            fs::write(dir.join("cgroup.procs"), "").expect("writes");
            files.iter().for_each(|(file, text)| fs::write(dir.join(file), text).expect("writes"));
        }
        (folder, dir)
    }

    #[test]
    fn of_each_limit_the_least_counts() {
        let (_folder, dir) = nested(&[
            &[("cpu.max", "max 100000\n"), ("memory.max", "5000\n"), ("pids.max", "max\n")],
            &[("cpu.max", "50000 100000\n"), ("memory.max", "9000\n"), ("memory.high", "max\n")],
            &[("cpu.max", "120000 100000\n"), ("memory.max", "max\n"), ("cpuset.cpus.effective", "0-1\n")],
        ]);
        let home = Group::new(BTreeMap::from([(String::new(), dir)]));
        let expected =
            [Setting::Quota(Some(0.5)), Setting::MemoryMax(Some(Bytes(5000))), Setting::Cores("0-1".into())];
        assert_eq!(limits(&home), expected);
    }

    #[test]
    fn memory_is_limited_in_either_version() {
        let (_v1, v1) =
            nested(&[&[("memory.limit_in_bytes", "9000\n")], &[("memory.limit_in_bytes", "7000\n")]]);
        let (_v2, v2) = nested(&[&[("memory.max", "max\n")]]);
        let group = Group::new(BTreeMap::from([("memory".into(), v1), (String::new(), v2.clone())]));
        assert_eq!(memory_limit(&group), Some(Bytes(7000)));
        assert_eq!(memory_limit(&Group::new(BTreeMap::from([(String::new(), v2)]))), None);
    }

    #[test]
    fn processors_are_read_where_their_controller_ends() {
        let (_folder, dir) =
            nested(&[&[("cpuset.cpus.effective", "0-3\n")], &[("cpuset.cpus.effective", "2\n")], &[]]);
        let home = Group::new(BTreeMap::from([(String::new(), dir)]));
        assert_eq!(limits(&home), [Setting::Cores("2".into())]);
    }

    #[test]
    fn in_v1_each_tree_has_its_own() {
        let (_cpu, cpu) = nested(&[
            &[("cpu.cfs_quota_us", "150000\n"), ("cpu.cfs_period_us", "100000\n")],
            &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")],
        ]);
        let (_sets, sets) = nested(&[&[("cpuset.effective_cpus", "1\n"), ("memory.max", "7\n")]]);
        let home = Group::new(BTreeMap::from([("cpu".into(), cpu), ("cpuset".into(), sets)]));
        assert_eq!(limits(&home), [Setting::Quota(Some(1.5)), Setting::Cores("1".into())]);
        assert_eq!(limits(&Group::new(BTreeMap::new())), []);
    }
}
