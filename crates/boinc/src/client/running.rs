//! The running client of this machine, found by its process: its address, and its data directory.
//!
//! Source: proc_pid_cmdline(5), proc_pid_cwd(5); the options `--gui_rpc_port` and `--dir`, which has
//! the client change into that directory, in `client/cs_cmdline.cpp`.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crosstalk_core::Fault;

use super::password::FOLDERS;
use super::rpc::PORT;
use crosstalk_cgroup::process::{Process, all, one};

/// The names of its program and process.
pub const NAMES: [&str; 2] = ["boinc", "boinc_client"];

/// Selects a client. What is `None` is found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientSelector {
    /// The address at which it listens.
    pub address: Option<SocketAddr>,
    /// The file with its password.
    pub password: Option<PathBuf>,
}

/// A running client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningClient {
    /// Its process number.
    pub pid: u32,
    /// That process's user, by number.
    pub user: u32,
    /// The address at which it listens.
    pub address: SocketAddr,
    /// Its data directory: from its process, else the packaged one of its user; `None` where neither is
    /// known.
    pub folder: Option<PathBuf>,
}

impl ClientSelector {
    /// Finds the client: the one that listens at the address; else the packaged one, then root's, then
    /// others', as anybody can call a program `boinc`. Of several alike, the lowest process number.
    ///
    /// # Errors
    /// A usage fault where none runs, or the address is another machine's: its processes must be here.
    pub fn find(&self) -> Result<RunningClient, Fault> {
        let mut clients = all().into_iter().filter(is_client).map(|process| RunningClient::of(&process));
        let Some(address) = self.address else {
            let packages = FOLDERS.map(|folder| fs::metadata(folder).ok().map(|folder| folder.uid()));
            return clients.min_by_key(|client| (preference(client.user, &packages), client.pid)).ok_or_else(
                || {
                    Fault::usage("BOINC's client does not run")
                        .remedy("start it: systemctl start boinc-client, or boinc --dir DIR")
                },
            );
        };
        if !is_here(address.ip()) {
            return Err(Fault::usage("that address is another machine's: expected a client of this one")
                .at(address.to_string())
                .remedy(format!("run this on that machine; here, use 127.0.0.1:{}", address.port())));
        }
        let there = clients.find(|client| client.address.port() == address.port());
        there.map(|client| RunningClient { address, ..client }).ok_or_else(|| {
            Fault::usage("no BOINC client of this machine listens there")
                .at(address.to_string())
                .remedy("its port is that of its option --gui_rpc_port, or 31416")
        })
    }
}

/// Rank of a client by its user; lower is preferred. `packages` are the owners of the packaged clients' data
/// directories.
fn preference(user: u32, packages: &[Option<u32>]) -> u8 {
    match user {
        user if packages.contains(&Some(user)) => 0,
        0 => 1,
        _ => 2,
    }
}

impl RunningClient {
    fn of(process: &Process) -> Self {
        let pid = process.pid;
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let port = option(&words, "gui_rpc_port").and_then(|port| port.parse().ok()).unwrap_or(PORT);
        // Another user's working directory cannot be read.
        let by_option = || option(&words, "dir").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let is_users =
            |folder: &PathBuf| fs::metadata(folder).is_ok_and(|status| status.uid() == process.user);
        let packaged = || FOLDERS.map(PathBuf::from).into_iter().find(is_users);
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok().or_else(by_option).or_else(packaged);
        RunningClient { pid, user: process.user, address: (Ipv4Addr::LOCALHOST, port).into(), folder }
    }
}

/// Whether an address is this machine's: no other can be bound.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The value after an option, which may have one dash or two.
fn option<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word.starts_with('-') && word.trim_start_matches('-') == name)?;
    words.get(at + 1).map(String::as_str)
}

/// Whether the process is a client.
pub fn is_client(process: &Process) -> bool {
    NAMES.contains(&process.name.as_str())
}

/// Whether this process runs and is a client.
pub fn is_running(pid: u32) -> bool {
    one(pid).as_ref().is_some_and(is_client)
}

#[cfg(test)]
mod tests;
