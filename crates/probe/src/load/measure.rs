//! The client: offers rates to a server.

use std::net::SocketAddr;

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};

use super::connection::Connection;
use super::duplex::{DatagramDuplex, Duplex, StreamDuplex};
use super::readings::readings;
use super::saturation::{SHARES, TRY_SECONDS, saturation};
use super::spec::Spec;
use crate::pin::pin;
use crate::readings::Readings;
use crate::session::client::{open, request_session};
use crate::session::datagrams::{connect_datagrams, only};
use crate::session::medium::{Medium, Waiting, with_stream};
use crate::session::protocol::Request;
use crate::transport::Transport;
use crate::{clock, processors};
use crosstalk_work::peer::socket::broken;
use crosstalk_work::peer::{Line, Until};

/// Measures with the server at `target`.
///
/// # Errors
/// Where the server cannot be reached or fails; interrupted.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Until) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::overhead();
    let (mut line, server) = open(target, "load", until)?;
    processors::check(spec.mode, spec.pin, &server)?;
    let ready = request_session(&mut line, &Request::Echo(spec.session()), until)?;
    let mut readings = if spec.transport == Transport::Udp {
        let socket = only(connect_datagrams(target, &line, &ready, until)?)?;
        let duplex = DatagramDuplex::new(socket).map_err(|e| broken(target, &e))?;
        curve(duplex, spec, &line, until)
    } else {
        // The client never sleeps. The server may have to be woken.
        let waiting = Waiting { nap: None, peer_sleeps: spec.server_sleeps() };
        let medium = Medium::connect(spec.transport, target, &ready, waiting, until)?;
        with_stream!(medium, stream => curve(StreamDuplex(stream), spec, &line, until))
    }?;
    line.say(&Request::Finished)?;
    readings.push((Reading::value("own_overhead", overhead, Origin::Measured), 1));
    let labelled = |(reading, n): (Reading, u64)| {
        let reading = reading.label("transport", spec.transport.name()).label("size", spec.size.0);
        (reading.label("mode", spec.mode.name()), n)
    };
    Ok(readings.into_iter().map(labelled).collect())
}

/// Measures every rate of `spec`, or shares of the saturation.
fn curve(duplex: impl Duplex, spec: &Spec, line: &Line, until: &Until) -> Result<Readings, Fault> {
    let mut all = Readings::new();
    let mut connection = Connection::new(duplex, spec.size, line);
    let mut offer =
        |rate: f64, seconds: f64| connection.offer(&spec.schedule(rate, seconds), spec.patience, until);
    let rates = match &spec.rates {
        Some(rates) => rates.clone(),
        None => {
            let highest = saturation(|rate| Ok(offer(rate, TRY_SECONDS)?.kept_up()))?;
            all.push((Reading::value("saturation", highest, Origin::Measured), 1));
            SHARES.iter().map(|share| share * highest).collect()
        }
    };
    for rate in rates.into_iter().filter(|rate| *rate > 0.0) {
        all.extend(readings(&offer(rate, spec.duration.0)?, rate));
    }
    Ok(all)
}
