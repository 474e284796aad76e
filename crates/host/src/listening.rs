//! Listening TCP sockets and their processes: proc_net_tcp(5), proc_pid_fd(5).

use std::collections::BTreeSet;
use std::fs;
use std::io;

use crate::kernel;

/// A TCP socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener {
    /// Its port.
    pub port: u16,
    /// Its inode, as in `socket:[INODE]`.
    pub inode: u64,
}

/// The sockets that listen in a process's network namespace.
///
/// # Errors
/// If the process is gone, or may not be read.
pub fn listeners(pid: u32) -> io::Result<BTreeSet<Listener>> {
    let mut found = parse(&fs::read_to_string(format!("/proc/{pid}/net/tcp"))?);
    // A kernel without IPv6 does not have this file.
    found.extend(parse(&fs::read_to_string(format!("/proc/{pid}/net/tcp6")).unwrap_or_default()));
    Ok(found)
}

/// Parses a table of sockets. Returns those that listen.
fn parse(table: &str) -> BTreeSet<Listener> {
    const LISTEN: &str = "0A";
    let listener = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let local = fields.nth(1)?;
        let state = fields.nth(1)?;
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        let inode = fields.nth(5)?.parse().ok()?;
        (state == LISTEN).then_some(Listener { port, inode })
    };
    table.lines().skip(1).filter_map(listener).collect()
}

/// The inodes of a process's open sockets.
///
/// # Errors
/// If the process is gone, or may not be read.
pub fn open_sockets(pid: u32) -> io::Result<BTreeSet<u64>> {
    let links = fs::read_dir(format!("/proc/{pid}/fd"))?;
    // A descriptor may be closed meanwhile.
    let links = links.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    Ok(links.filter_map(|link| inode(link.to_str()?, "socket")).collect())
}

/// The inode in `kind:[INODE]`.
fn inode(link: &str, kind: &str) -> Option<u64> {
    link.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}

/// The inode of a process's network namespace.
///
/// # Errors
/// If the process is gone, or may not be read.
pub fn network_namespace(pid: u32) -> io::Result<u64> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net"))?;
    link.to_str()
        .and_then(|link| inode(link, "net"))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("found `{}`", link.display())))
}

/// The ids of all processes that this one sees.
pub fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes in a control group (cgroups(7)) and the groups below it.
///
/// # Errors
/// If there is no such group, or it may not be read.
pub fn processes_in(group: &std::path::Path) -> io::Result<BTreeSet<u32>> {
    let listed = fs::read_to_string(group.join("cgroup.procs"))?;
    let mut found: BTreeSet<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A subgroup may be gone by now.
            found.extend(processes_in(&entry.path()).unwrap_or_default());
        }
    }
    Ok(found)
}

/// The name of a process (proc_pid_comm(5)).
pub fn process_name(pid: u32) -> Option<String> {
    Some(kernel::text(format!("/proc/{pid}/comm")).ok()?.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:18EB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn only_listening_sockets_count() {
        assert_eq!(parse(TABLE), BTreeSet::from([Listener { port: 6379, inode: 4711 }]));
        let six =
            TABLE.replace("0100007F:18EB 00000000", "00000000000000000000000001000000:18EB 0000000000000000");
        assert_eq!(parse(&six), parse(TABLE));
    }

    #[test]
    fn a_broken_table_has_fewer() {
        for cut in 0..TABLE.len() {
            assert!(parse(&TABLE[..cut]).len() <= 1);
        }
        assert!(parse("head\n0: nothing 0A\n1: 0:x y 0A 1 2 3 4 5 6\n").is_empty());
    }

    #[test]
    fn a_link_contains_an_inode() {
        assert_eq!(inode("socket:[12]", "socket"), Some(12));
        assert_eq!(inode("net:[12]", "socket"), None);
        assert_eq!(inode("socket:[x]", "socket"), None);
    }

    #[test]
    fn our_own_listener_is_found() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = socket.local_addr().expect("has one").port();
        let own = process::id();
        let sockets = open_sockets(own).expect("ours");
        let found = listeners(own).expect("ours");
        assert!(found.iter().any(|l| l.port == port && sockets.contains(&l.inode)), "{found:?}");
        assert!(network_namespace(own).is_ok_and(|inode| inode > 0) && all_processes().contains(&own));
        assert!(process_name(own).is_some_and(|name| !name.is_empty()));
    }
}
