//! The time of a system call.

use rustix::process::getppid;

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Seconds;

use crate::batches::time_batches;
use crate::clock;
use crosstalk_work::peer::Deadline;

/// Calls in a batch.
const CALLS: usize = 1000;

/// The median time of a call, over batches of calls.
///
/// # Errors
/// Interrupted; at the deadline.
pub fn system_call(duration: Seconds, until: &Deadline) -> Result<(Reading, u64), Fault> {
    let timed = time_batches(duration, until, "the system calls to be timed", || {
        let begin = clock::now();
        for _ in 0..CALLS {
            std::hint::black_box(getppid());
        }
        (clock::now() - begin) as f64 * 1e-9 / CALLS as f64
    })?;
    Ok((Reading::value("system_call", timed.each, Origin::Measured), timed.batches))
}
