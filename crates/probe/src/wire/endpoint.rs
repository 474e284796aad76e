//! A process that runs an endpoint of the wire, or both. It reads its configuration from standard
//! input, prints the line `ready`, and then its result ([`super::result`]). The programs in C do the
//! same.

use std::io::{BufRead, Write};
use std::net::UdpSocket;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::process::die_with_parent;

use super::config::{EndpointConfig, Role};
use super::exchange::{return_messages, time_calls_in_one_thread, time_in_one_thread, time_round_trips};
use super::port::{AfXdp, Memory, Port};
use super::result::{EndpointResult, write_result};
use super::stream::{count_frames, send_frames};
use super::times::MeasureLimits;
use super::transport::Transport;
use crate::mode::Mode;

/// The longest sleep of an endpoint.
const NAP: Duration = Duration::from_millis(100);

/// Runs an endpoint of the wire, in a process that was started for it, with the configuration on
/// `input`.
///
/// # Errors
/// Where the configuration cannot be read, or the wire fails.
pub fn run_endpoint(mut input: impl BufRead, mut out: impl Write) -> Result<(), Fault> {
    die_with_parent();
    let mut line = String::new();
    let read = input.read_line(&mut line);
    read.map_err(|e| Fault::environment(format!("cannot read the endpoint's configuration: {e}")))?;
    let config: EndpointConfig = serde_json::from_str(&line)
        .map_err(|e| Fault::environment(format!("expected an endpoint's configuration as JSON: {e}")))?;
    let result = match config.transport {
        Transport::Udp => run::<UdpSocket>(&config, &mut out),
        Transport::AfXdp => run::<AfXdp>(&config, &mut out),
        Transport::Shared => run::<Memory>(&config, &mut out),
        other => {
            return Err(Fault::environment(format!(
                "another program runs the endpoints of `{}`",
                other.name()
            )));
        }
    }?;
    write_result(&result, &mut out).map_err(|e| gone(&e))
}

fn run<P: Port>(config: &EndpointConfig, out: &mut impl Write) -> Result<EndpointResult, Fault> {
    let (size, nap) = (config.size, config.mode.longest_sleep(NAP));
    let limits =
        MeasureLimits::new(Duration::from_nanos(config.duration), config.most, config.mode == Mode::Polling);
    let open = |endpoint: usize| P::open(&config.places[endpoint], endpoint, nap);
    let mut ready = || out.write_all(b"ready\n").and_then(|()| out.flush()).map_err(|e| gone(&e));
    let mut one = |endpoint: usize| open(endpoint).and_then(|port| ready().map(|()| port));
    match config.role {
        Role::Ping => time_round_trips(one(0)?, size, limits).map(EndpointResult::Times),
        Role::Echo => return_messages(one(1)?, size).map(EndpointResult::Times),
        Role::Send => send_frames(one(0)?, size, limits.duration).map(EndpointResult::Stream),
        Role::Count => count_frames(one(1)?, size, limits.spins).map(EndpointResult::Stream),
        Role::OneThread | Role::OneThreadCalls => {
            let (first, second) = (open(0)?, open(1)?);
            ready()?;
            let run =
                if config.role == Role::OneThread { time_in_one_thread } else { time_calls_in_one_thread };
            run(first, second, size, limits).map(EndpointResult::Times)
        }
    }
}

fn gone(e: &std::io::Error) -> Fault {
    Fault::environment(format!("the process that started this endpoint is gone: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_configuration_is_refused() {
        assert!(run_endpoint(&b"{}\n"[..], Vec::new()).is_err());
    }
}
