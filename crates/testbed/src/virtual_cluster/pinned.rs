//! What is the same in every node, whatever the host is set to
//! (`Documentation/networking/ip-sysctl.rst`).

use crosstalk_host::sysctl;

/// Knobs of a network namespace and their values. Those that a kernel does not
/// have, or does not give to namespaces, are passed over where they are optional.
const KNOBS: &[(&str, &str, bool)] = &[
    // A pause must not cost an established connection its window.
    ("net.ipv4.tcp_slow_start_after_idle", "0", true),
    // One attempt must not teach the next about the path.
    ("net.ipv4.tcp_no_metrics_save", "1", true),
    // The kernel's own default, as RFC 6298 leaves it to implementations (Linux 6.11 on).
    ("net.ipv4.tcp_rto_min_us", "200000", false),
    // Nodes speak IPv4: no neighbour discovery between the messages.
    ("net.ipv6.conf.default.disable_ipv6", "1", false),
];

const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// Sets them in the caller's network namespace; says which could not be set.
pub(super) fn pin() -> Vec<String> {
    let mut notes: Vec<String> = KNOBS
        .iter()
        .filter(|(name, value, needed)| sysctl::write(name, value).is_err() && *needed)
        .map(|(name, value, _)| format!("{name} could not be set to {value} in the nodes"))
        .collect();
    // CUBIC is what most machines use. Namespaces may only choose among what the
    // host allows (tcp_allowed_congestion_control), which always includes Reno.
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
