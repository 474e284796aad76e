//! Threads and processes that cannot begin, since there is no room for more: a limit of processes (`ulimit -u`,
//! `pids.max`), or no memory.

use std::io;
use std::thread::{Builder, JoinHandle};

use crosstalk_core::Fault;

/// What does not begin for want of something, which is nobody's mistake: errno(3).
const SCARCE: [i32; 4] = [libc::EAGAIN, libc::ENOMEM, libc::ENFILE, libc::EMFILE];

/// Whether something did not begin for want of room.
pub fn is_scarce(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|error| SCARCE.contains(&error))
}

/// The fault that `what` could not be done.
pub fn cannot(what: &str, error: &io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot {what}: {error}"));
    if is_scarce(error) {
        return fault.remedy(
            "end some processes, or allow more (ulimit -a, pids.max of the control group), and try again",
        );
    }
    fault
}

/// Begins a thread of this name.
///
/// # Errors
/// Where there is no room for another.
pub fn begin_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Fault> {
    Builder::new().name(name.into()).spawn(work).map_err(|e| cannot("begin a thread", &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scarce_has_a_remedy() {
        let told = |errno| cannot("begin a thread", &io::Error::from_raw_os_error(errno));
        assert!(told(libc::EAGAIN).remedy.is_some_and(|remedy| remedy.contains("pids.max")));
        assert!(told(libc::EPERM).remedy.is_none());
        assert_eq!(begin_thread("a test", || 7).expect("has room").join().expect("ends"), 7);
    }
}
