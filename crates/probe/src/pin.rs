//! The processor that the calling thread is held on (sched_setaffinity(2)).

use crosstalk_core::Fault;
use crosstalk_host::cpu::{PinnedThread, allowed};

/// Holds the calling thread on processor `cpu` until the result is dropped; `None` leaves it free.
///
/// # Errors
/// A usage fault with the processors that are allowed.
pub fn pin(cpu: Option<usize>) -> Result<Option<PinnedThread>, Fault> {
    let Some(cpu) = cpu else { return Ok(None) };
    let allowed = allowed();
    if !allowed.contains(&cpu) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        return Err(Fault::usage(format!("processor {cpu} is not among those allowed here"))
            .of_parameter("pin")
            .remedy(format!("one of: {}", allowed.join(", "))));
    }
    PinnedThread::begin(cpu).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_until_the_drop() {
        let before = allowed();
        let pinned = pin(before.last().copied()).expect("pins");
        assert_eq!(allowed(), before.last().copied().into_iter().collect::<Vec<_>>());
        drop(pinned);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_missing_processor_is_refused_with_those_that_are_allowed() {
        let fault = pin(Some(1 << 20)).expect_err("is refused");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("one of: ")), "no list");
    }
}
