//! Signals. The first interruption asks the run to close its journal and end its cluster. The second ends the
//! program at once; the reaper then undoes what it leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGXFSZ};

/// How often a wait for long work checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A flag that the first interruption sets.
pub fn interrupted() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|e| Fault::environment(format!("cannot watch for interruptions: {e}")))?;
    }
    Ok(flag)
}

/// Lets a write beyond the file size limit (`ulimit -f`) fail, instead of ending the program silently. Programs
/// that are started do not inherit this.
///
/// # Errors
/// If the signal cannot be handled.
pub fn fail_at_file_limit() -> Result<(), Fault> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(|e| Fault::environment(format!("cannot watch for files that are full: {e}")))
}

/// A flag that Ctrl-Z sets instead of pausing the program, for callers that must first undo something.
pub fn pause_flag() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTSTP, Arc::clone(&flag))
        .map_err(|e| Fault::environment(format!("cannot watch for Ctrl-Z: {e}")))?;
    Ok(flag)
}

/// `result`, or the fault of an interruption. An interruption replaces other faults, which are probably its
/// consequence: a terminal's Ctrl-C reaches every program that was being started.
pub fn unless_interrupted<T>(interrupted: &AtomicBool, result: Result<T, Fault>) -> Result<T, Fault> {
    if interrupted.load(Ordering::SeqCst) { Err(Fault::interrupted()) } else { result }
}

/// Does `work` on a thread of its own, and abandons it when the user interrupts. `work` must not write anything.
pub fn unless_interrupted_during<T: Send + 'static>(
    interrupted: &AtomicBool,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let worker = thread::spawn(work);
    while !worker.is_finished() {
        unless_interrupted(interrupted, Ok(()))?;
        thread::sleep(POLL_INTERVAL);
    }
    let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    unless_interrupted(interrupted, done)
}

/// Ignores Ctrl-C, for an agent. The terminal's Ctrl-C reaches it too, but its runner ends it after closing the
/// attempt.
pub fn ignore_interruptions() -> Result<(), Fault> {
    signal_hook::flag::register(SIGINT, Arc::default())
        .map(drop)
        .map_err(|e| Fault::environment(format!("cannot ignore Ctrl-C: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_is_waited_for_and_abandoned_when_interrupted() {
        let flag = AtomicBool::new(false);
        assert_eq!(unless_interrupted_during(&flag, || Ok(7)), Ok(7));
        assert_eq!(
            unless_interrupted_during(&flag, || Err::<(), _>(Fault::usage("no"))),
            Err(Fault::usage("no"))
        );
        let began = Instant::now();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                flag.store(true, Ordering::SeqCst);
            });
            unless_interrupted_during(&flag, || {
                thread::sleep(Duration::from_secs(20));
                Ok(())
            })
        });
        assert_eq!(result, Err(Fault::interrupted()));
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_interruption_replaces_the_fault_that_it_caused() {
        let fault = || Err::<(), _>(Fault::environment("the holder has ended"));
        assert_eq!(unless_interrupted(&AtomicBool::new(false), fault()), fault());
        assert_eq!(unless_interrupted(&AtomicBool::new(true), fault()), Err(Fault::interrupted()));
    }
}
