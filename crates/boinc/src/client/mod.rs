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
//! | `config` | its two settings files, changed without losing other settings |
//! | `running`, `password` | the client of this machine, found by its process, and its password |
//! | `throttle` | a program whose processors can be limited, and that can be paused |
//! | `throttled` | the client as such a program |

mod config;
mod connection;
pub mod markup;
#[cfg(test)]
mod mock;
mod password;
mod replies;
mod rpc;
mod running;
pub mod throttle;
mod throttled;

pub use config::{Preferences, preferences};
pub use connection::{DEADLINE, LONGEST};
pub use password::PASSWORD;
pub use replies::{Active, Status, Task, TaskState};
pub use rpc::{Client, Mode, PORT, md5_hex};
pub use running::{ClientSelector, NAMES, RunningClient};
pub use running::{is_client, is_running};
pub use throttle::Throttle;
pub use throttled::NAME;
pub use throttled::{ThrottledClient, restore_cores};

/// Parses a reply in every way, for `fuzz/`: no input may panic.
#[doc(hidden)]
pub fn fuzz_reply(reply: &str) {
    replies::tasks(reply);
    Status::of(reply);
    config::with_cores(reply, config::cores(reply));
}
