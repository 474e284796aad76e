//! Whether client and server have a processor each when both poll. On one processor they would take
//! turns at the scheduler's pace, and the scheduler would be timed.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::cpu::allowed;

use super::clock;
use super::mode::Mode;
use super::session::client::ServerInfo;

const REMEDY: &str = "let them use two processors (taskset, pin = \"0,1\"), or take mode = \"blocking\"";

/// What client and server on one machine need in this mode.
pub fn need(mode: Mode) -> Option<Need> {
    (mode == Mode::Polling).then(|| match allowed()[..] {
        [only] => Need::missing("two processors to poll on", why(only), REMEDY),
        _ => Need::found("two processors to poll on", "this machine's"),
    })
}

/// Refuses client and server that poll on the only processor that both may use.
///
/// # Errors
/// A usage fault if `pin` says so, else an environment fault.
pub fn check(mode: Mode, pin: [Option<usize>; 2], server: &ServerInfo) -> Result<(), Fault> {
    if mode != Mode::Polling || !clock::is_shared(&server.clock) {
        return Ok(());
    }
    let client = pin[0].map_or_else(allowed, |cpu| vec![cpu]);
    let served = pin[1].map_or_else(|| server.cpus.clone(), |cpu| vec![cpu]);
    match (&client[..], &served[..]) {
        ([cpu], [other]) if cpu == other => Err(match pin {
            [Some(_), Some(_)] => Fault::usage(why(*cpu)).of_parameter("pin"),
            _ => Fault::environment(why(*cpu)),
        }
        .remedy(REMEDY)),
        _ => Ok(()),
    }
}

fn why(cpu: usize) -> String {
    format!("client and server need a processor each to poll on, and both may use only processor {cpu}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_on_one_processor_is_refused() {
        let here = |cpus: &[usize]| ServerInfo { clock: clock::clock_identity(), cpus: cpus.to_vec() };
        let polls = |pin, server: &ServerInfo| check(Mode::Polling, pin, server);
        let fault = polls([Some(1), Some(1)], &here(&[0, 1])).expect_err("is refused");
        assert!(fault.message.contains("processor 1") && fault.remedy.is_some(), "{fault}");
        assert!(polls([Some(0), None], &here(&[0])).is_err());
        assert_eq!(polls([Some(0), Some(1)], &here(&[0, 1])), Ok(()));
        assert_eq!(polls([Some(0), None], &here(&[0, 1])), Ok(()));
        assert_eq!(polls([Some(0), None], &here(&[])), Ok(()), "a server that does not report them");
        let elsewhere = ServerInfo { clock: Some("another host".into()), cpus: vec![0] };
        assert_eq!(polls([Some(0), Some(0)], &elsewhere), Ok(()));
        assert_eq!(check(Mode::Blocking, [Some(0), Some(0)], &here(&[0])), Ok(()));
    }
}
