//! Interruptions. The first asks the run to close its journal and take the
//! cluster down; the second ends the program at once (the reaper undoes what
//! it leaves).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

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

/// For an agent: the terminal's Ctrl-C reaches it too, but it ends when its
/// runner says so, after the attempt was closed in order.
pub fn leave_to_the_runner() -> Result<(), Fault> {
    signal_hook::flag::register(SIGINT, Arc::default())
        .map(drop)
        .map_err(|e| Fault::environment(format!("cannot ignore Ctrl-C: {e}")))
}
