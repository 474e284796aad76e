//! Whether two ends that never sleep have a processor each: on one they take turns at the
//! scheduler's pace, and what is timed is the scheduler.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::cpu::allowed;

use super::clock;
use super::control::Host;
use super::latency::Mode;

const REMEDY: &str = "let them use two processors (taskset, pin = \"0,1\"), or take mode = \"blocking\"";

/// What two ends on this machine need that wait as `mode` says.
pub fn need(mode: Mode) -> Option<Need> {
    (mode == Mode::Polling).then(|| match allowed()[..] {
        [only] => Need::missing("two processors to poll on", why(only), REMEDY),
        _ => Need::found("two processors to poll on", "there are"),
    })
}

/// Refuses two ends that poll on the only processor that both may use.
pub fn each_polls(mode: Mode, pin: [Option<usize>; 2], other: &Host) -> Result<(), Fault> {
    if mode != Mode::Polling || !clock::is_shared(&other.clock) {
        return Ok(());
    }
    let near = pin[0].map_or_else(allowed, |cpu| vec![cpu]);
    let far = pin[1].map_or_else(|| other.cpus.clone(), |cpu| vec![cpu]);
    match (&near[..], &far[..]) {
        ([near], [far]) if near == far => Err(match pin {
            [Some(_), Some(_)] => Fault::usage(why(*near)).of_parameter("pin"),
            _ => Fault::environment(why(*near)),
        }
        .remedy(REMEDY)),
        _ => Ok(()),
    }
}

fn why(cpu: usize) -> String {
    format!("two ends that poll need a processor each, and both may use only processor {cpu}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_that_poll_on_one_processor_are_refused_and_others_are_not() {
        let here = |cpus: &[usize]| Host { clock: clock::identity(), cpus: cpus.to_vec() };
        let polls = |pin, host: &Host| each_polls(Mode::Polling, pin, host);
        let fault = polls([Some(1), Some(1)], &here(&[0, 1])).expect_err("is refused");
        assert!(fault.message.contains("processor 1") && fault.remedy.is_some(), "{fault}");
        assert!(polls([Some(0), None], &here(&[0])).is_err());
        assert_eq!(polls([Some(0), Some(1)], &here(&[0, 1])), Ok(()));
        assert_eq!(polls([Some(0), None], &here(&[0, 1])), Ok(()));
        assert_eq!(polls([Some(0), None], &here(&[])), Ok(()), "an end that does not say");
        let elsewhere = Host { clock: Some("another host".into()), cpus: vec![0] };
        assert_eq!(polls([Some(0), Some(0)], &elsewhere), Ok(()));
        assert_eq!(each_polls(Mode::Blocking, [Some(0), Some(0)], &here(&[0])), Ok(()));
    }
}
