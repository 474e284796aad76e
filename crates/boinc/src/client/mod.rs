//! BOINC's own interface to a running client: what it has to do, when it may, and
//! with how much of the machine.
//!
//! Source: the protocol's page (`GuiRpcProtocol` of BOINC's documentation) and the
//! client 7.20 itself (`client/gui_rpc_server.cpp`, `client/gui_rpc_server_ops.cpp`).
//!
//! | file | holds |
//! |---|---|
//! | `dialect` | BOINC's markup, read as its own programs read it |
//! | `conversation` | one request and its reply, limited in size and time |
//! | `rpc` | what can be asked of a client |
//! | `told` | what it answers, parsed |
//! | `config` | its two files of settings, changed without losing what else is in them |
//! | `found` | the client of this machine, by its process |
//! | `pause` | pausing a client for a time |

mod config;
mod conversation;
pub mod dialect;
mod found;
#[cfg(test)]
mod mock;
mod pause;
mod rpc;
mod told;

pub use config::{Preferences, preferences};
pub use conversation::{DEADLINE, LONGEST};
pub use found::{Found, NAMES, Way};
pub use found::{is_client, is_running};
pub use pause::{NAME, Pauser};
pub use rpc::{Client, Mode, PASSWORD, PORT, md5_hex};
pub use told::{Active, Status, Task, TaskState};

/// Reads a client's reply in every way there is, for `fuzz/`: whatever is in it, none may panic.
#[doc(hidden)]
pub fn fuzz_reply(reply: &str) {
    told::tasks(reply);
    Status::of(reply);
}
