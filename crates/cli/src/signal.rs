//! Interruptions. The first asks the run to close its journal and take the
//! cluster down; the second ends the program at once (the reaper undoes what
//! it leaves).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGXFSZ};

/// How often a wait for long work looks up.
const GLANCE: Duration = Duration::from_millis(5);

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

/// Has a write that would make a file larger than it may be (`ulimit -f`) fail, not end the program without a
/// word. Programs that are started are not changed: a signal that is handled is not inherited.
///
/// # Errors
/// Where the signal cannot be watched.
pub fn outlive_full_files() -> Result<(), Fault> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(|e| Fault::environment(format!("cannot watch for files that are full: {e}")))
}

/// A flag that Ctrl-Z sets, in the place of pausing: for who holds what must not stay so.
pub fn asked_to_pause() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTSTP, Arc::clone(&flag))
        .map_err(|e| Fault::environment(format!("cannot watch for Ctrl-Z: {e}")))?;
    Ok(flag)
}

/// `result`, unless the user has interrupted. That goes before a fault too,
/// which is then most likely its consequence: a terminal's Ctrl-C reaches
/// every program that was being started.
pub fn unless<T>(interrupted: &AtomicBool, result: Result<T, Fault>) -> Result<T, Fault> {
    if interrupted.load(Ordering::SeqCst) { Err(Fault::interrupted()) } else { result }
}

/// Does `work`, which looks at no flag itself, on a thread of its own, and
/// leaves it there when the user interrupts: it must not write anything.
pub fn unless_during<T: Send + 'static>(
    interrupted: &AtomicBool,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let worker = thread::spawn(work);
    while !worker.is_finished() {
        unless(interrupted, Ok(()))?;
        thread::sleep(GLANCE);
    }
    let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    unless(interrupted, done)
}

/// For an agent: the terminal's Ctrl-C reaches it too, but it ends when its
/// runner says so, after the attempt was closed in order.
pub fn leave_to_the_runner() -> Result<(), Fault> {
    signal_hook::flag::register(SIGINT, Arc::default())
        .map(drop)
        .map_err(|e| Fault::environment(format!("cannot ignore Ctrl-C: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_is_waited_for_and_left_when_interrupted() {
        let flag = AtomicBool::new(false);
        assert_eq!(unless_during(&flag, || Ok(7)), Ok(7));
        assert_eq!(unless_during(&flag, || Err::<(), _>(Fault::usage("no"))), Err(Fault::usage("no")));
        let began = Instant::now();
        let left = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                flag.store(true, Ordering::SeqCst);
            });
            unless_during(&flag, || {
                thread::sleep(Duration::from_secs(20));
                Ok(())
            })
        });
        assert_eq!(left, Err(Fault::interrupted()));
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_interruption_goes_before_the_fault_that_it_caused() {
        let fault = || Err::<(), _>(Fault::environment("the holder has ended"));
        assert_eq!(unless(&AtomicBool::new(false), fault()), fault());
        assert_eq!(unless(&AtomicBool::new(true), fault()), Err(Fault::interrupted()));
    }
}
