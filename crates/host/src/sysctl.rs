//! Kernel knobs under `/proc/sys` (sysctl(7)). Those under `net` belong to the caller's
//! network namespace.

use crosstalk_core::Fault;
use std::fs;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    ["/proc/sys"].into_iter().chain(name.split('.')).collect()
}

/// Reads a kernel setting (sysctl(8)), such as `net.core.rmem_max`, if this kernel has it.
pub fn read(name: &str) -> Option<String> {
    Some(fs::read_to_string(path(name)).ok()?.trim().to_string())
}

/// Sets a kernel setting of a namespace, which ends with its processes. Any other setting must
/// be set through the ledger.
///
/// # Errors
/// If there is no such knob, or it refuses the value.
pub fn write(name: &str, value: &str) -> Result<(), Fault> {
    fs::write(path(name), value)
        .map_err(|e| Fault::environment(format!("cannot set {name} to {value}: {e}")).at(name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_path() {
        assert_eq!(path("net.ipv4.tcp_rmem").to_str(), Some("/proc/sys/net/ipv4/tcp_rmem"));
        assert!(read("kernel.osrelease").is_some());
        assert_eq!(read("kernel.there_is_no_such_knob"), None);
    }

    #[test]
    fn a_missing_knob_is_named() {
        let fault = write("kernel.there_is_no_such_knob", "1").expect_err("not there");
        assert_eq!(fault.place.as_deref(), Some("kernel.there_is_no_such_knob"));
    }
}
