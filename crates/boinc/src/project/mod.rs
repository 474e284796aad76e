//! A BOINC project: a server that a client attaches to, gets work units of [`super::collatz`]
//! from, and brings the results back to.
//!
//! All that happens is a line of a journal, which is on disk before anybody hears of it;
//! what the project is, is what the lines come to. So it can be killed at any moment, and
//! goes on where it was.
//!
//! | file | holds |
//! |---|---|
//! | `settings`, `wanted` | what a project is to do, and what is asked of it |
//! | `url` | where hosts find it |
//! | `line`, `journal` | what happened, and how it is kept |
//! | `book` | what that comes to, and what may happen next: pure |
//! | `keys` | what programs and certificates are signed by |
//! | `request`, `reply`, `upload` | what hosts say, and are told |
//! | `scheduler` | a request's way through the book and into the journal |
//! | `http`, `server` | how it comes and goes |
//! | `home` | the project's directory |

#[cfg(test)]
mod damage;
mod directory;
mod http;
mod journal;
mod keys;
mod line;
mod reply;
mod request;
mod requested;
mod scheduler;
mod server;
mod settings;
mod state;
mod upload;
mod url;

pub use directory::{Attachment, Directory, OpenProject, read_counts};
pub use reply::NAME;
pub use requested::RequestedSettings;
pub use server::{Endpoint, Server, TRANSFERS};
pub use settings::Settings;
pub use state::Counts;
pub use url::{SCHEDULER, Url};

/// Reads a request's head, and its body in every way there is, for `fuzz/`: whatever is in it, none may panic.
#[doc(hidden)]
pub fn fuzz_request(bytes: &[u8]) {
    if let Ok(Some((head, length))) = http::Head::parse(bytes) {
        head.parameter("name");
        request::SchedulerRequest::parse(&bytes[length..]);
        request::upload_elements(&String::from_utf8_lossy(&bytes[length..])).count();
    }
}
