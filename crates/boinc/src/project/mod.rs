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
//! | `desk` | a request's way through the book and into the journal |
//! | `http`, `server` | how it comes and goes |
//! | `home` | the project's directory |

mod book;
mod desk;
mod home;
mod http;
mod journal;
mod keys;
mod line;
mod reply;
mod request;
mod server;
mod settings;
#[cfg(test)]
mod spoilt;
mod upload;
mod url;
mod wanted;

pub use book::Counts;
pub use home::{Attach, Home, Open, look};
pub use reply::NAME;
pub use server::{Place, Server};
pub use settings::Settings;
pub use url::Url;
pub use wanted::Wanted;

/// Files that a client of ours fetches at a time: a hundred tasks and as many that wait begin with 200.
pub const TRANSFERS: u32 = 200;
/// Where, below its own address, its scheduler is.
pub const SCHEDULER: &str = "cgi";
/// Where, below its address, everything of a project is.
const ROOT: &str = "/project/";

/// Reads a request's head, and its body in every way there is, for `fuzz/`: whatever is in it, none may panic.
#[doc(hidden)]
pub fn fuzz_request(bytes: &[u8]) {
    if let Ok(Some((head, length))) = http::Head::parse(bytes) {
        head.parameter("name");
        request::Asked::parse(&bytes[length..]);
        request::upload_elements(&String::from_utf8_lossy(&bytes[length..])).count();
    }
}
