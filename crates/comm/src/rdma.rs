//! RDMA verbs, through a small program in C (`endpoints/rdma.c`).

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crosstalk_core::need::Need;

use crate::embedded::EmbeddedProgram;

/// The embedded program in C that uses RDMA.
pub static PROGRAM: EmbeddedProgram =
    EmbeddedProgram { what: "RDMA verbs", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/rdma")) };

/// Where the kernel shows RDMA devices (Documentation/ABI/stable/sysfs-class-infiniband).
const DEVICES: &str = "/sys/class/infiniband";

/// How to create an RDMA device on a machine without one.
pub const REMEDY: &str =
    "over an ordinary card, as root: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev CARD";

/// Whether this machine can use RDMA devices.
pub fn need() -> Need {
    let consequence = "messages through them cannot be timed";
    static OBSTACLE: OnceLock<Option<String>> = OnceLock::new();
    if let Some(why) = OBSTACLE.get_or_init(|| PROGRAM.obstacle()) {
        return Need::missing(
            "RDMA verbs",
            format!("{consequence}: {why}"),
            "apt-get install libibverbs-dev pkg-config, then build it again",
        );
    }
    match active_devices().as_slice() {
        [] => {
            Need::missing("RDMA verbs", format!("{consequence}: no port of an RDMA device is active"), REMEDY)
        }
        found => Need::found("RDMA verbs", found.join(", ")),
    }
}

/// The names of the RDMA devices that have an active port.
pub fn active_devices() -> Vec<String> {
    active(Path::new(DEVICES))
}

fn active(devices: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(devices) else { return Vec::new() };
    let is_active = |device: &Path| {
        let ports = fs::read_dir(device.join("ports")).into_iter().flatten().flatten();
        // "4: ACTIVE"
        ports
            .map(|port| fs::read_to_string(port.path().join("state")))
            .any(|state| state.is_ok_and(|s| s.starts_with("4:")))
    };
    let named = entries.flatten().filter(|entry| is_active(&entry.path()));
    let mut names: Vec<String> = named.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_those_with_an_active_port() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (device, port, state) in
            [("b0", "1", "4: ACTIVE"), ("a0", "1", "1: DOWN"), ("a1", "2", "4: ACTIVE")]
        {
            let port = folder.path().join(device).join("ports").join(port);
            fs::create_dir_all(&port).expect("makes");
            fs::write(port.join("state"), format!("{state}\n")).expect("writes");
        }
        assert_eq!(active(folder.path()), ["a1", "b0"]);
        assert!(active(&folder.path().join("none")).is_empty());
    }
}
