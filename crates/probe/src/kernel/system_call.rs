//! The time of a system call.

use rustix::process::getppid;

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Seconds;

use crate::clock;
use crate::settle::median;
use crosstalk_work::peer::Deadline;

/// Calls in a batch.
const CALLS: usize = 1000;

/// The median time of a call, over batches of calls.
///
/// # Errors
/// Where the duration is too short; interrupted.
pub fn system_call(duration: Seconds, until: &Deadline) -> Result<(Reading, u64), Fault> {
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut batches = Vec::new();
    let mut now = 0;
    while now < end {
        let begin = clock::now();
        for _ in 0..CALLS {
            std::hint::black_box(getppid());
        }
        now = clock::now();
        batches.push((now - begin) as f64 * 1e-9 / CALLS as f64);
        until.check("the system calls to be timed")?;
    }
    let each = median(&batches).ok_or_else(too_short)?;
    Ok((Reading::value("system_call", each, Origin::Measured), batches.len() as u64))
}

fn too_short() -> Fault {
    Fault::usage("too few were timed for a median").of_parameter("duration").remedy("allow a longer one")
}
