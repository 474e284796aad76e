//! The processors of the two endpoints.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::cpu::allowed;

use super::spec::EndpointProcesses;

const ONE_PROCESSOR: &str = "two endpoints need a processor each, and this process may use one";
const TWO_PROCESSORS: &str = "take ends = \"one-thread\", or let it use two (taskset)";

/// Whether two processes have a processor each.
pub fn two_processors_need() -> Need {
    match processors(EndpointProcesses::TwoProcesses) {
        Ok((first, second)) => Need::found("two processors", format!("{second} and {first}")),
        Err(_) => Need::missing("two processors", ONE_PROCESSOR, TWO_PROCESSORS),
    }
}

/// The processors of the first and the second endpoint. One thread uses the first only.
///
/// # Errors
/// An environment fault where there are too few.
pub fn processors(ends: EndpointProcesses) -> Result<(usize, usize), Fault> {
    let cpus = allowed();
    match (cpus.last(), cpus.first()) {
        (Some(last), Some(first)) if last != first || ends == EndpointProcesses::OneThread => {
            Ok((*last, *first))
        }
        (Some(_), _) => Err(Fault::environment(ONE_PROCESSOR).remedy(TWO_PROCESSORS)),
        _ => Err(Fault::environment("the kernel does not report which processors may be used")),
    }
}
