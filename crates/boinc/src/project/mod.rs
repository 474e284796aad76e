//! A BOINC project: a server that sends work units of [`super::collatz`] to clients, and takes the results.
//!
//! Every event is a line of a journal, which is on disk before anything of it is sent. The project's state
//! follows from these lines. So it can be killed at any moment, and continues where it was.
//!
//! | file | holds |
//! |---|---|
//! | `settings`, `requested` | a project's settings, and those that a user names |
//! | `url` | the address at which hosts find it |
//! | `line`, `journal` | events, and the file that holds them |
//! | `unit`, `state` | the state that follows from the events, and the next possible ones: pure |
//! | `keys` | the keys that sign programs and certificates |
//! | `request`, `reply`, `upload` | the messages of hosts, and the replies |
//! | `store`, `scheduler` | answers requests by the state, and records the events |
//! | `http`, `server`, `load` | the connections |
//! | `pages` | what each address answers |
//! | `directory` | the project's directory |
//! | `working_directory` | the directory and the user that its process runs in and as |

#[cfg(test)]
mod damage;
mod directory;
mod http;
mod journal;
mod keys;
mod line;
mod load;
mod pages;
mod reply;
mod request;
mod requested;
mod scheduler;
mod server;
mod settings;
mod state;
mod store;
mod unit;
mod upload;
mod url;
mod working_directory;

pub use directory::{Attachment, Directory, OpenProject, read_counts};
pub use reply::PROJECT_NAME;
pub use requested::RequestedSettings;
pub use server::{Server, ServerAddress, TRANSFERS};
pub use settings::Settings;
pub use state::Counts;
pub use url::{SCHEDULER, Url};
pub use working_directory::WorkingDirectory;

/// Parses a request's head and body in every way, for `fuzz/`: no input may panic.
#[doc(hidden)]
pub fn fuzz_request(bytes: &[u8]) {
    if let Ok(Some((head, length))) = http::Head::parse(bytes) {
        head.parameter("name");
        request::SchedulerRequest::parse(&bytes[length..]);
        request::upload_elements(&String::from_utf8_lossy(&bytes[length..])).count();
    }
}
