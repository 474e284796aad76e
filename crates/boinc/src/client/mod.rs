//! BOINC's own interface to a running client: its tasks, when it may compute, and on how many processors.
//!
//! Source: the protocol's page (`GuiRpcProtocol` of BOINC's documentation) and the
//! client 7.20 itself (`client/gui_rpc_server.cpp`, `client/gui_rpc_server_ops.cpp`).
//!
//! | file | holds |
//! |---|---|
//! | `markup` | BOINC's markup, read as its own programs read it |
//! | `connection` | one request and its reply, limited in size and time |
//! | `rpc` | a client's operations |
//! | `replies` | its replies, parsed |
//! | `config` | its own limits |
//! | `running`, `password` | the client of this machine, found by its process, and its password |
//! | `pause` | pausing a client for a time |

mod config;
mod connection;
pub mod markup;
#[cfg(test)]
mod mock;
mod password;
mod pause;
mod replies;
mod rpc;
mod running;

pub use config::{Preferences, preferences};
pub use connection::{DEADLINE, LONGEST};
pub use password::PASSWORD;
pub use pause::{NAME, Pauser};
pub use replies::{Active, Status, Task, TaskState};
pub use rpc::{Client, Mode, PORT, md5_hex};
pub use running::{ClientSelector, NAMES, RunningClient};
pub use running::{is_client, is_running};

/// Parses a reply in every way, for `fuzz/`: no input may panic.
#[doc(hidden)]
pub fn fuzz_reply(reply: &str) {
    replies::tasks(reply);
    Status::of(reply);
}
