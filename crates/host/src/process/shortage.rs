//! Faults of threads and processes that cannot be started for lack of resources: a limit of processes (`ulimit -u`,
//! `pids.max`), or memory.

use std::io;
use std::thread::{Builder, JoinHandle};

use crosstalk_core::Fault;

/// The error numbers of a lack of resources: errno(3).
const SHORTAGES: [i32; 4] = [libc::EAGAIN, libc::ENOMEM, libc::ENFILE, libc::EMFILE];

/// Whether an error is a lack of resources.
pub fn is_resource_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|error| SHORTAGES.contains(&error))
}

/// The fault that `what` cannot be done because of `error`.
pub fn cannot(what: &str, error: &io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot {what}: {error}"));
    if is_resource_shortage(error) {
        return fault.remedy(
            "end some processes, or allow more (ulimit -a, pids.max of the control group), and try again",
        );
    }
    fault
}

/// Starts a thread of this name.
///
/// # Errors
/// If no more threads can be started.
pub fn spawn_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Fault> {
    Builder::new().name(name.into()).spawn(work).map_err(|e| cannot("start a thread", &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_resources_has_a_remedy() {
        let fault = |errno| cannot("start a thread", &io::Error::from_raw_os_error(errno));
        assert!(fault(libc::EAGAIN).remedy.is_some_and(|remedy| remedy.contains("pids.max")));
        assert!(fault(libc::EPERM).remedy.is_none());
        assert_eq!(spawn_thread("a test", || 7).expect("has room").join().expect("ends"), 7);
    }
}
