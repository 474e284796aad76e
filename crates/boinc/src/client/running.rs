//! The client of this machine, found by its process: where it listens, and where its data are.
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

/// What its program and its process are called.
pub const NAMES: [&str; 2] = ["boinc", "boinc_client"];

/// Which client is meant, and how it is spoken to: what is not said is found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientSelector {
    /// Where it listens.
    pub address: Option<SocketAddr>,
    /// The file that holds its password.
    pub password: Option<PathBuf>,
}

/// A client that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningClient {
    /// Its process.
    pub pid: u32,
    /// Whose that is, by number.
    pub user: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its data directory, where that is told, or a package's that belongs to its user.
    pub folder: Option<PathBuf>,
}

impl ClientSelector {
    /// The client: of several the one that listens there, or else the package's before root's and others': anybody
    /// may call a program so. Of several of a kind it is that of the least number.
    ///
    /// # Errors
    /// A usage fault where none runs, or the address is another machine's: it is led beside its
    /// processes, which are here.
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
            return Err(Fault::usage("that address is another machine's: only a client of this one is led")
                .at(address.to_string())
                .remedy(format!("run this on that machine; here, take 127.0.0.1:{}", address.port())));
        }
        let there = clients.find(|client| client.address.port() == address.port());
        there.map(|client| RunningClient { address, ..client }).ok_or_else(|| {
            Fault::usage("no BOINC client of this machine listens there")
                .at(address.to_string())
                .remedy("its port is that of its option --gui_rpc_port, or 31416")
        })
    }
}

/// How likely the client of this user is meant, the likeliest first; `packages` are the owners of the folders
/// in which packages have it keep its data.
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
        // Another user's is not told.
        let told = || option(&words, "dir").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let theirs = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|told| told.uid() == process.user);
        let usual = || FOLDERS.map(PathBuf::from).into_iter().find(theirs);
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok().or_else(told).or_else(usual);
        RunningClient { pid, user: process.user, address: (Ipv4Addr::LOCALHOST, port).into(), folder }
    }
}

/// Whether an address is this machine's: nobody can listen at another's.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// What follows an option, which may have one dash or two.
fn option<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word.starts_with('-') && word.trim_start_matches('-') == name)?;
    words.get(at + 1).map(String::as_str)
}

/// Whether the process is a client.
pub fn is_client(process: &Process) -> bool {
    NAMES.contains(&process.name.as_str())
}

/// Whether the process of this number is there and a client.
pub fn is_running(pid: u32) -> bool {
    one(pid).as_ref().is_some_and(is_client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_with_one_dash_or_two() {
        let words = ["boinc", "--dir", "/d", "-gui_rpc_port", "7", "dir"].map(String::from);
        assert_eq!(option(&words, "dir"), Some("/d"));
        assert_eq!(option(&words, "gui_rpc_port"), Some("7"));
        assert_eq!(option(&words, "redirectio"), None);
        assert_eq!(option(&words[..2], "dir"), None, "nothing follows");
    }

    #[test]
    fn a_client_that_says_nothing_listens_where_all_do() {
        // This process's own line has no such option.
        let found = RunningClient::of(&one(std::process::id()).expect("is there"));
        assert_eq!(found.address, SocketAddr::from(([127, 0, 0, 1], PORT)));
        assert_eq!(found.folder, std::env::current_dir().ok());
    }

    #[test]
    fn an_address_of_another_machine_is_refused_with_what_to_do() {
        // A block that is for documents only (RFC 5737).
        let way = ClientSelector { address: Some(([192, 0, 2, 1], PORT).into()), password: None };
        let fault = way.find().expect_err("is another machine's");
        assert!(fault.message.contains("another machine"), "{fault}");
        assert_eq!(fault.place.as_deref(), Some("192.0.2.1:31416"));
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("127.0.0.1:31416")));
        assert!(is_here(Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn the_package_s_client_goes_before_whoever_is_called_so() {
        let packages = [Some(105), None];
        let mut users = [65_534, 0, 105];
        users.sort_by_key(|user| preference(*user, &packages));
        assert_eq!(users, [105, 0, 65_534]);
        assert_eq!(preference(0, &[Some(0)]), 0);
    }

    #[test]
    fn nobody_at_an_address_is_a_fault_that_names_it() {
        // The port of nobody.
        let way = ClientSelector { address: Some((Ipv4Addr::LOCALHOST, 1).into()), password: None };
        let fault = way.find().expect_err("nobody listens");
        assert_eq!(fault.place.as_deref(), Some("127.0.0.1:1"));
    }
}
