//! BOINC's own interface to a running client: its tasks, and whether it may compute.
//!
//! Source: the protocol's page (`GuiRpcProtocol` of BOINC's documentation) and the
//! client 7.20 itself (`client/gui_rpc_server.cpp`, `client/gui_rpc_server_ops.cpp`).
//!
//! | file | holds |
//! |---|---|
//! | `connection` | one request and its reply, limited in size and time |
//! | `rpc` | a client's operations |
//! | `replies` | its replies, parsed |
//! | `running`, `password` | the client of this machine, found by its process, and its password |
//! | `pause` | pausing a client for a time |

mod connection;
#[cfg(test)]
mod mock;
mod password;
mod pause;
mod replies;
mod rpc;
mod running;

pub use password::PASSWORD;
pub use pause::{NAME, Pauser};
pub use replies::{Status, Task};
pub use rpc::{Client, PORT};
pub use running::{ClientSelector, NAMES, RunningClient, is_client, is_running};

/// Parses a reply in every way, for `fuzz/`: no input may panic.
#[doc(hidden)]
pub fn fuzz_reply(reply: &str) {
    replies::tasks(reply);
    Status::of(reply);
}
