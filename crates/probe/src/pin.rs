//! Holding the calling thread on one processor (sched_setaffinity(2)).

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crosstalk_core::Fault;

/// A thread held on a processor; dropping it lets the thread go where it
/// could go before.
pub struct Pinned {
    before: Option<CpuSet>,
}

/// Holds the calling thread on processor `cpu`; `None` leaves it free.
pub fn pin(cpu: Option<usize>) -> Result<Pinned, Fault> {
    let Some(cpu) = cpu else {
        return Ok(Pinned { before: None });
    };
    let before =
        sched_getaffinity(None).map_err(|e| Fault::environment(format!("cannot ask for processors: {e}")))?;
    if cpu >= CpuSet::MAX_CPU || !before.is_set(cpu) {
        let allowed: Vec<_> =
            (0..CpuSet::MAX_CPU).filter(|c| before.is_set(*c)).map(|c| c.to_string()).collect();
        return Err(Fault::usage(format!("processor {cpu} is not among those allowed here"))
            .of_parameter("pin")
            .remedy(format!("one of: {}", allowed.join(", "))));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)
        .map_err(|e| Fault::environment(format!("cannot hold the thread on processor {cpu}: {e}")))?;
    Ok(Pinned { before: Some(before) })
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Nothing to be done where the processors were taken away meanwhile.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).expect("asks");
        (0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect()
    }

    #[test]
    fn a_pinned_thread_is_let_go_again() {
        let before = allowed();
        let pinned = pin(before.last().copied()).expect("pins");
        assert_eq!(allowed(), before.last().copied().into_iter().collect::<Vec<_>>());
        drop(pinned);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_processor_that_is_not_there_lists_those_that_are() {
        let fault = pin(Some(1 << 20)).err().expect("is refused");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("one of: ")), "no list");
    }
}
