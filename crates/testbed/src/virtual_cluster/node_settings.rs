//! Network settings that are the same in every node, whatever the host's are
//! (`Documentation/networking/ip-sysctl.rst`).

use crosstalk_host::sysctl;

/// Knobs of a network namespace, their values, and whether they are required. Optional ones are
/// skipped if the kernel does not have them, or not in namespaces.
const KNOBS: &[(&str, &str, bool)] = &[
    // A connection keeps its window after a pause.
    ("net.ipv4.tcp_slow_start_after_idle", "0", true),
    // An attempt does not use metrics of the path from an earlier one.
    ("net.ipv4.tcp_no_metrics_save", "1", true),
    // The kernel's default, which RFC 6298 leaves to implementations (from Linux 6.11 on).
    ("net.ipv4.tcp_rto_min_us", "200000", false),
    // Nodes use IPv4 only: no neighbour discovery between messages.
    ("net.ipv6.conf.default.disable_ipv6", "1", false),
];

const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// Applies them in the caller's network namespace. Returns notes on those that could not be set.
pub(super) fn apply() -> Vec<String> {
    let mut notes: Vec<String> = KNOBS
        .iter()
        .filter(|(name, value, required)| sysctl::write(name, value).is_err() && *required)
        .map(|(name, value, _)| format!("{name} could not be set to {value} in the nodes"))
        .collect();
    // Most machines use CUBIC. Namespaces may only choose what the host allows
    // (tcp_allowed_congestion_control), which always includes Reno.
    let chosen = ["cubic", "reno"].into_iter().find(|name| sysctl::write(CONGESTION, name).is_ok());
    match chosen {
        Some("cubic") => {}
        Some(other) => {
            notes.push(format!("congestion control in the nodes is {other}: cubic is not allowed"))
        }
        None => {
            let left = sysctl::read(CONGESTION).unwrap_or_else(|| "unknown".into());
            notes.push(format!("congestion control in the nodes is the host's: {left}"));
        }
    }
    notes
}
