//! The client: offers rates to a server.

use std::net::SocketAddr;

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};

use super::connection::Connection;
use super::non_blocking::{NonBlocking, NonBlockingDatagrams, NonBlockingStream};
use super::readings::readings;
use super::saturation::{MEASURED_SHARES, TRY_SECONDS, saturation};
use super::spec::Spec;
use crate::pin::pin;
use crate::readings::Readings;
use crate::session::client::{open_conversation, request_session};
use crate::session::datagrams::{connect_datagrams, only_socket};
use crate::session::medium::{Medium, WaitTimes, with_stream};
use crate::session::protocol::Request;
use crate::transport::Transport;
use crate::{clock, processors};
use crosstalk_work::peer::socket::connection_fault;
use crosstalk_work::peer::{Deadline, Line};

/// Measures with the server at `target`.
///
/// # Errors
/// Where the server cannot be reached or fails; interrupted.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Deadline) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::timing_overhead();
    let (mut line, server) = open_conversation(target, "load", until)?;
    processors::check(spec.mode, spec.pin, &server)?;
    let ready = request_session(&mut line, &Request::Echo(spec.session()), until)?;
    let mut readings = if spec.transport == Transport::Udp {
        let socket = only_socket(connect_datagrams(target, &line, &ready, until)?)?;
        let messages = NonBlockingDatagrams::new(socket).map_err(|e| connection_fault(target, &e))?;
        curve(messages, spec, &line, until)
    } else {
        // The client never sleeps. The server may have to be woken.
        let waiting = WaitTimes { nap: None, peer_sleeps: spec.server_sleeps() };
        let medium = Medium::connect(spec.transport, target, &ready, waiting, until)?;
        with_stream!(medium, stream => curve(NonBlockingStream(stream), spec, &line, until))
    }?;
    line.send(&Request::Finished)?;
    readings.push((Reading::value("own_overhead", overhead, Origin::Measured), 1));
    let labelled = |(reading, n): (Reading, u64)| {
        let reading = reading.label("transport", spec.transport.name()).label("size", spec.size.0);
        (reading.label("mode", spec.mode.name()), n)
    };
    Ok(readings.into_iter().map(labelled).collect())
}

/// Measures every rate of `spec`, or shares of the saturation.
fn curve(messages: impl NonBlocking, spec: &Spec, line: &Line, until: &Deadline) -> Result<Readings, Fault> {
    let mut all = Readings::new();
    let mut connection = Connection::new(messages, spec.size, line);
    let mut offer = |rate: f64, seconds: f64| {
        connection.send_on_schedule(&spec.schedule(rate, seconds), spec.patience, until)
    };
    let rates = match &spec.rates {
        Some(rates) => rates.clone(),
        None => {
            let highest = saturation(|rate| Ok(offer(rate, TRY_SECONDS)?.kept_up()))?;
            all.push((Reading::value("saturation", highest, Origin::Measured), 1));
            MEASURED_SHARES.iter().map(|share| share * highest).collect()
        }
    };
    for rate in rates.into_iter().filter(|rate| *rate > 0.0) {
        all.extend(readings(&offer(rate, spec.duration.0)?, rate));
    }
    Ok(all)
}
