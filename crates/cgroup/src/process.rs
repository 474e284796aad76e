//! The processes of this host, as far as it takes to know foreground from background work.
//!
//! Source: proc_pid_stat(5), proc_pid_cgroup(5), sched(7).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crosstalk_host::kernel;

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its session's.
    pub session: u32,
    /// The user's number.
    pub user: u32,
    /// Its name, as `comm` has it.
    pub name: String,
    /// Its nice value.
    pub nice: i32,
    /// Whether it is in the idle class by itself (SCHED_IDLE).
    pub idle_class: bool,
    /// CPU time so far, in clock ticks.
    pub ticks: u64,
    /// The same of those that it has started and waited for, and of theirs.
    pub ended: u64,
    /// The text of its `cgroup` file.
    pub groups: String,
}

/// SCHED_IDLE of sched(7).
const SCHED_IDLE: u64 = 5;
/// What `/proc` counts CPU time in: USER_HZ, which is 100 on every architecture this runs on.
pub const TICK: Duration = Duration::from_millis(10);

/// All that are there now, threads of the kernel left out.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut all: Vec<Process> = numbers.filter_map(one).collect();
    all.sort_unstable_by_key(|process| process.pid);
    all
}

/// The process of this number; `None` where it has ended, whether or not its parent has waited for it,
/// or is a thread of the kernel.
pub fn one(pid: u32) -> Option<Process> {
    let folder = format!("/proc/{pid}");
    let mut process = parse_stat(&kernel::text(format!("{folder}/stat")).ok()?)?;
    process.user = fs::metadata(&folder).ok()?.uid();
    process.groups = kernel::text(format!("{folder}/cgroup")).ok()?;
    Some(process)
}

/// A thread of the kernel has this flag (PF_KTHREAD of include/linux/sched.h).
const KERNEL: u64 = 0x0020_0000;

/// Reads `stat`. The name is in parentheses and may hold any character. `None` as for [`one`].
pub fn parse_stat(text: &str) -> Option<Process> {
    let (pid, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Numbered from 3, the field behind the name.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |place: usize| field(place)?.parse::<u64>().ok();
    // Its first thread may end before the others do.
    let ended = matches!(field(3)?, "Z" | "X") && number(20)? <= 1;
    if number(9)? & KERNEL != 0 || ended {
        return None;
    }
    Some(Process {
        pid: pid.trim().parse().ok()?,
        parent: field(4)?.parse().ok()?,
        session: field(6)?.parse().unwrap_or_default(),
        user: 0,
        // It may be any bytes, chosen by whoever runs it, and is shown to people.
        name: name.chars().map(|c| if c.is_control() { '?' } else { c }).collect(),
        nice: field(19)?.parse().ok()?,
        idle_class: number(41).is_some_and(|policy| policy == SCHED_IDLE),
        ticks: number(14)?.saturating_add(number(15)?),
        ended: number(16)?.saturating_add(number(17)?),
        groups: String::new(),
    })
}

impl Process {
    /// Its group in the tree of a controller of v1, or in v2's for an empty name.
    pub fn group(&self, controller: &str) -> Option<&str> {
        self.groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, group) = (parts.next()?, parts.next()?);
            controllers.split(',').any(|name| name == controller).then_some(group)
        })
    }

    /// Its group in the tree that shares the CPU out: v1's where that has it, else v2's.
    pub fn cpu_group(&self) -> Option<&str> {
        self.group("cpu").or_else(|| self.group(""))
    }
}

/// The process and all that descend from it, as far as they are in `all`.
pub fn descendants(pid: u32, all: &[Process]) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        let children = all.iter().filter(|process| process.parent == parent && process.pid != parent);
        let new: Vec<u32> = children.map(|child| child.pid).filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "7 (a) b (c)) S 1 7 5 0 -1 4194560 1 2 3 4 50 6 7 8 39 19 1 0 4711 100 5 0 0 0 0 0 0 \
                        0 0 0 0 0 0 0 17 1 0 5 0 0 0";

    #[test]
    fn a_process_is_read_whatever_its_name_holds() {
        let process = parse_stat(STAT).expect("reads");
        assert_eq!((process.pid, process.parent, process.session), (7, 1, 5));
        assert_eq!((process.name.as_str(), process.nice), ("a) b (c)", 19));
        assert_eq!((process.ticks, process.ended), (56, 15));
        let steers = parse_stat(&STAT.replace("a) b", "a\x1b\n) b")).expect("reads");
        assert_eq!(steers.name, "a??) b (c)", "it is shown to people");
        assert!(process.idle_class);
        let kernel = STAT.replace("4194560", "2129984");
        assert_eq!(parse_stat(&kernel), None, "a thread of the kernel");
        let ended = STAT.replace(") S ", ") Z ");
        assert_eq!(parse_stat(&ended), None, "it has ended");
    }

    #[test]
    fn its_group_is_that_of_the_tree_that_shares_the_cpu() {
        let groups = |text: &str| Process { groups: text.into(), ..Process::default() };
        assert_eq!(groups("2:cpu,cpuacct:/a\n0::/u").cpu_group(), Some("/a"));
        assert_eq!(groups("0::/u").cpu_group(), Some("/u"));
        assert_eq!(groups("2:cpu:/a:b").cpu_group(), Some("/a:b"));
        assert_eq!(groups("").cpu_group(), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let child = |pid, parent| Process { pid, parent, ..Process::default() };
        let all = [child(1, 0), child(4, 3), child(3, 2), child(2, 1), child(9, 1), child(5, 5)];
        assert_eq!(descendants(2, &all), [2, 3, 4]);
        assert_eq!(descendants(5, &all), [5]);
    }

    #[test]
    fn this_process_is_among_all() {
        let foreground = std::process::id();
        let found = all().into_iter().find(|process| process.pid == foreground).expect("is there");
        assert!(found.parent > 0 && !found.name.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}", numbers in "[0-9 -]{0,200}") {
            parse_stat(&text);
            parse_stat(&format!("1 ({text}) S {numbers}"));
            let process = Process { groups: text, ..Process::default() };
            process.cpu_group();
        }
    }
}
