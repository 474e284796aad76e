//! BOINC's own interface to a running client: what it has to do, when it may, and
//! with how much of the machine.
//!
//! Source: the protocol's page (`GuiRpcProtocol` of BOINC's documentation) and the
//! client 7.20 itself (`client/gui_rpc_server.cpp`, `client/gui_rpc_server_ops.cpp`).
//!
//! | file | holds |
//! |---|---|
//! | `dialect` | BOINC's markup, read as its own programs read it |
//! | `connection` | one request and its reply, limited in size and time |
//! | `rpc` | what can be asked of a client |
//! | `told` | what it answers, parsed |
//! | `config` | its two files of settings, changed without losing what else is in them |
//! | `found` | the client of this machine, by its process |
//! | `donor` | a program that is asked for processors, and to pause |
//! | `led` | the client as a donor, asked for processors and to stand still |

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

/// Reads a client's reply in every way there is, for `fuzz/`: whatever is in it, none may panic.
#[doc(hidden)]
pub fn fuzz_reply(reply: &str) {
    replies::tasks(reply);
    Status::of(reply);
    config::with_cores(reply, config::cores(reply));
}
