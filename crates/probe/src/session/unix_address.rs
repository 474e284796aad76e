//! The address of a Unix socket, as a server sends it to its client.

use serde::{Deserialize, Serialize};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::path::PathBuf;

/// The address of a Unix socket (unix(7)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnixAddress {
    /// A path.
    File(PathBuf),
    /// An abstract name in the network namespace, which goes with the socket.
    Name(String),
}

impl UnixAddress {
    /// The address for the system's calls.
    pub fn to_socket_address(&self) -> io::Result<SocketAddr> {
        match self {
            UnixAddress::File(path) => SocketAddr::from_pathname(path),
            UnixAddress::Name(name) => SocketAddr::from_abstract_name(name),
        }
    }
}
