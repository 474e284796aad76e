//! Compiled BPF programs: what they need, how they are loaded and attached.

use aya::maps::Map;
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, GlobalData, include_bytes_aligned};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use std::error::Error;
use std::path::Path;

/// The compiled BPF programs of `bpf/stages.bpf.c`.
pub static STAGES_OBJECT: &[u8] = include_bytes_aligned!("../bpf/objects/stages.o");

/// The compiled BPF programs of `bpf/service.bpf.c`.
pub static SERVICE_OBJECT: &[u8] = include_bytes_aligned!("../bpf/objects/service.o");

/// The compiled BPF programs of `bpf/waits.bpf.c`.
pub static WAITS_OBJECT: &[u8] = include_bytes_aligned!("../bpf/objects/waits.o");

/// The kernel's description of its types (BTF).
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// What programs of an object trace, and the kernel that can.
#[derive(Debug, Clone, Copy)]
pub struct Tracing {
    /// The newest of the tracepoints.
    newest: &'static str,
    /// What boots it.
    remedy: &'static str,
    /// What is missing without.
    consequence: &'static str,
}

/// Messages on their way.
pub const MESSAGES: Tracing = Tracing {
    newest: "sk_data_ready",
    remedy: "boot Linux 6.4 or later",
    consequence: "stages cannot be seen",
};

/// Tasks that wait inside the kernel.
pub const WAITS: Tracing = Tracing {
    newest: "contention_begin",
    remedy: "boot Linux 5.19 or later",
    consequence: "what tasks wait for inside the kernel cannot be seen",
};

impl Tracing {
    /// What it needs of a machine: the kernel's types, tracepoints, and privileges.
    pub fn need(&self) -> Need {
        match self.obstacle() {
            None => Need::found("BPF tracepoints", "the kernel's, with its types"),
            Some((why, remedy)) => {
                Need::missing("BPF tracepoints", format!("{}: {why}", self.consequence), remedy)
            }
        }
    }

    /// Why it cannot be done here, and what helps.
    fn obstacle(&self) -> Option<(&'static str, &'static str)> {
        if !Path::new(TYPES).exists() {
            return Some((
                "the kernel does not publish its types",
                "boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
            ));
        }
        if !has_tracepoint(self.newest) {
            return Some(("the kernel is too old", self.remedy));
        }
        if !may_trace() {
            return Some(("it takes privileges", "run as root, or give the program CAP_BPF and CAP_PERFMON"));
        }
        None
    }
}

/// What following messages needs: the kernel's types, Linux 6.4, and privileges.
pub fn need() -> Need {
    MESSAGES.need()
}

/// Whether the kernel has a tracepoint of that name.
pub fn has_tracepoint(name: &str) -> bool {
    let types = std::fs::read(TYPES).unwrap_or_default();
    memchr::memmem::find(&types, format!("\0btf_trace_{name}\0").as_bytes()).is_some()
}

/// Whether this process may load programs for tracepoints: CAP_BPF and CAP_PERFMON, or
/// CAP_SYS_ADMIN.
pub fn may_trace() -> bool {
    has_all(&[BPF, PERFMON]) || has_all(&[SYS_ADMIN])
}

/// Whether this process may redirect a device's frames to its own socket: CAP_NET_ADMIN,
/// CAP_NET_RAW, and CAP_BPF or CAP_SYS_ADMIN.
pub fn may_redirect() -> bool {
    has_all(&[NET_ADMIN, NET_RAW]) && (has_all(&[BPF]) || has_all(&[SYS_ADMIN]))
}

// linux/capability.h
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Whether this process has these capabilities in the machine's first user namespace
/// (capabilities(7)).
fn has_all(capabilities: &[u32]) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: &u32| effective >> capability & 1 == 1;
    let uid_map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_first_namespace = uid_map.split_whitespace().eq(["0", "0", "4294967295"]);
    is_first_namespace && capabilities.iter().all(has)
}

/// A constant of an object: its name and its value.
pub type ObjectConstant<'a> = (&'a str, GlobalData<'a>);

/// Loads an object with these values for its constants. Returns its programs, and the
/// kernel's types for [`attach`].
///
/// # Errors
/// An environment fault: something that [`Tracing::need`] names is missing, or the kernel refuses.
pub fn load<'a>(
    tracing: Tracing,
    object: &[u8],
    constants: impl IntoIterator<Item = ObjectConstant<'a>>,
) -> Result<(Ebpf, Btf), Fault> {
    if let Some((why, remedy)) = tracing.obstacle() {
        return Err(
            Fault::environment(format!("the kernel's tracepoints cannot be used: {why}")).remedy(remedy)
        );
    }
    let types = Btf::from_sys_fs().map_err(|e| failed_fault("read the kernel's types", &e))?;
    let mut loader = EbpfLoader::new();
    loader.btf(Some(&types));
    for (name, value) in constants {
        loader.override_global(name, value, true);
    }
    let programs = loader.load(object).map_err(|e| failed_fault("load the programs", &e))?;
    Ok((programs, types))
}

/// Attaches a program to the tracepoint of the same name.
///
/// # Errors
/// An environment fault: the kernel has no such tracepoint, or refuses the program.
pub fn attach(programs: &mut Ebpf, types: &Btf, name: &str) -> Result<(), Fault> {
    let program = programs
        .program_mut(name)
        .ok_or_else(|| Fault::environment(format!("there is no program `{name}`")))?;
    let program: &mut BtfTracePoint = program.try_into().map_err(|e| failed_fault(name, &e))?;
    program
        .load(name, types)
        .map_err(|e| failed_fault(&format!("load the program for tracepoint `{name}`"), &e))?;
    program.attach().map_err(|e| failed_fault(&format!("attach to tracepoint `{name}`"), &e))?;
    Ok(())
}

/// The map of that name, to be read.
///
/// # Errors
/// An environment fault: the object has no such map.
pub fn map<'a>(programs: &'a Ebpf, name: &str) -> Result<&'a Map, Fault> {
    programs.map(name).ok_or_else(|| Fault::environment(format!("there is no map `{name}`")))
}

/// The map of that name, to be written.
///
/// # Errors
/// An environment fault: the object has no such map.
pub fn map_mut<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, Fault> {
    programs.map_mut(name).ok_or_else(|| Fault::environment(format!("there is no map `{name}`")))
}

/// An environment fault: "cannot `action`", with `error` and all its causes.
pub fn failed_fault(action: &str, error: &dyn Error) -> Fault {
    let mut message = format!("cannot {action}");
    let mut cause = Some(error);
    while let Some(error) = cause {
        // The verifier's log has many lines: only the first and the last three explain it.
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().collect();
        let lines = if lines.len() > 4 { [&lines[..1], &lines[lines.len() - 3..]].concat() } else { lines };
        message = format!("{message}: {}", lines.join(" / "));
        cause = error.source();
    }
    Fault::environment(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::need::NeedState;

    #[test]
    fn what_is_missing_has_a_remedy() {
        if let NeedState::Missing { consequence, remedy } = need().state {
            assert!(!consequence.is_empty() && remedy.is_some_and(|remedy| !remedy.is_empty()));
        }
    }

    #[test]
    fn bytes_that_are_no_object_are_refused() {
        let fault = load(MESSAGES, b"no object", []).expect_err("refused");
        assert!(fault.message.starts_with("cannot load") || fault.remedy.is_some(), "{fault}");
    }
}
