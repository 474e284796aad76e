//! The facts of this machine, for which a result holds.
//!
//! They are read from `/proc` and `/sys` (proc(5), `Documentation/ABI/`). A fact that this
//! kernel does not report is left out. Values contain their units.

use crosstalk_core::provenance::Provenance;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{clock, cpu};

/// The facts of this machine, such as its kernel and processors, or those of this process's
/// namespaces.
pub fn provenance() -> Provenance {
    let files = Files { root: "/".into() };
    let mut moment = moment(&files);
    if let Some(steal) = clock::stolen_time() {
        moment.insert("steal".into(), format!("{} s", steal.as_secs_f64()));
    }
    let mut fixed = fixed(&files);
    fixed.insert("cores allowed".into(), cpu::allowed().len().to_string());
    fixed.insert("crosstalk".into(), env!("CARGO_PKG_VERSION").into());
    // SAFETY: sysconf reads a constant and touches no memory of ours.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    fixed.insert("page size".into(), format!("{page} B"));
    Provenance { fixed, moment }
}

/// The files that facts are read from, below a root that tests set.
struct Files {
    root: PathBuf,
}

impl Files {
    fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_string())
    }

    fn has(&self, path: &str) -> bool {
        Path::new(&self.root).join(path).exists()
    }
}

fn fixed(files: &Files) -> BTreeMap<String, String> {
    let cpuinfo = files.read("proc/cpuinfo").unwrap_or_default();
    let os_release = files.read("etc/os-release").unwrap_or_default();
    let facts = [
        ("kernel", files.read("proc/sys/kernel/osrelease")),
        ("distribution", assigned(&os_release, "PRETTY_NAME")),
        ("processor", field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "CPU part"))),
        ("cores", cores(&cpuinfo)),
        ("memory", files.read("proc/meminfo").and_then(|text| field(&text, "MemTotal"))),
        ("hypervisor", hypervisor(files, &cpuinfo)),
        ("governor", files.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("clock source", files.read("sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("transparent huge pages", chosen(files, "sys/kernel/mm/transparent_hugepage/enabled")),
        ("mitigations", mitigations(files)),
        ("smt", files.read("sys/devices/system/cpu/smt/control")),
        ("cgroups", Some(cgroup_mode(files).into())),
        ("congestion control", files.read("proc/sys/net/ipv4/tcp_congestion_control")),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

fn moment(files: &Files) -> BTreeMap<String, String> {
    let meminfo = files.read("proc/meminfo").unwrap_or_default();
    let load = files.read("proc/loadavg");
    let facts = [
        ("load", load.map(|text| text.split_whitespace().take(3).collect::<Vec<_>>().join(" "))),
        ("free memory", field(&meminfo, "MemAvailable")),
        (
            "frequency",
            files.read("proc/cpuinfo").and_then(|text| field(&text, "cpu MHz")).map(|v| v + " MHz"),
        ),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// The value of the first `name : value` line.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

/// The value of a `NAME="value"` line.
fn assigned(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches('"').to_string())
}

/// The word in brackets of a file such as `always [madvise] never`.
fn chosen(files: &Files, path: &str) -> Option<String> {
    let text = files.read(path)?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_string())
}

fn cores(cpuinfo: &str) -> Option<String> {
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    (count > 0).then(|| count.to_string())
}

fn hypervisor(files: &Files, cpuinfo: &str) -> Option<String> {
    let virtual_cpu = field(cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|flag| flag == "hypervisor"));
    let named = files
        .read("sys/hypervisor/type")
        .or_else(|| virtual_cpu.then(|| files.read("sys/class/dmi/id/sys_vendor")).flatten());
    match (named, virtual_cpu) {
        (Some(name), _) => Some(name),
        (None, true) => Some("unnamed".into()),
        (None, false) => None,
    }
}

/// The kernel's `mitigations=` option against speculative execution, which may cost system
/// calls up to half of their speed.
fn mitigations(files: &Files) -> Option<String> {
    let line = files.read("proc/cmdline")?;
    let option = line.split_whitespace().find_map(|word| word.strip_prefix("mitigations="));
    Some(option.unwrap_or("default").to_string())
}

/// The version of control groups that is mounted (cgroups(7)).
fn cgroup_mode(files: &Files) -> &'static str {
    if files.has("sys/fs/cgroup/cgroup.controllers") {
        "v2"
    } else if files.has("sys/fs/cgroup/unified/cgroup.controllers") {
        "hybrid"
    } else if files.has("sys/fs/cgroup/memory") || files.has("sys/fs/cgroup/cpu") {
        "v1"
    } else {
        "none"
    }
}

/// Bytes of memory that programs can still take; `None` where the kernel does not say. Source: proc_meminfo(5).
pub fn available_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(|kib: u64| kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("creates folders");
            fs::write(path, text).expect("writes");
        }
        let root = folder.path().into();
        (folder, Files { root })
    }

    #[test]
    fn facts_read_as_the_kernel_wrote_them() {
        let (_folder, files) = machine(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: X  Y\nflags\t: fpu hypervisor\nprocessor\t: 1\n"),
            ("proc/meminfo", "MemTotal:       24684096 kB\nMemAvailable:   1 kB\n"),
            ("proc/loadavg", "0.10 0.20 0.30 1/100 4242\n"),
            ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n"),
        ]);
        let facts = fixed(&files);
        assert_eq!(facts["processor"], "X Y");
        assert_eq!(facts["cores"], "2");
        assert_eq!(facts["memory"], "24684096 kB");
        assert_eq!(facts["hypervisor"], "unnamed");
        assert_eq!(facts["distribution"], "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(facts["transparent huge pages"], "madvise");
        assert_eq!(facts["cgroups"], "hybrid");
        assert_eq!(moment(&files)["load"], "0.10 0.20 0.30");
    }

    #[test]
    fn what_the_kernel_does_not_report_is_left_out() {
        let (_folder, files) = machine(&[]);
        assert_eq!(fixed(&files).into_iter().collect::<Vec<_>>(), [("cgroups".into(), "none".into())]);
        assert!(moment(&files).is_empty());
    }

    #[test]
    fn this_machine_has_a_kernel_and_cores() {
        let facts = provenance().fixed;
        assert!(facts.contains_key("kernel"));
        assert_ne!(facts["cores allowed"], "0");
    }
}
