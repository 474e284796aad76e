//! The client: measures every size, and sends or receives.

use std::net::SocketAddr;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::carriers::Carriers;
use super::counter::count_received;
use super::counts::{ReceivedCount, ReportedInterval, SentCount};
use super::outcome::Outcome;
use super::sender::{make_payload, send_on_all};
use super::session::Session;
use super::spec::Spec;
use crate::pin::pin;
use crate::session::client::{open_conversation, read_response, request_session, unexpected_fault};
use crate::session::datagrams::connect_datagrams;
use crate::session::medium::{Medium, WaitTimes};
use crate::session::protocol::{Request, Response};
use crate::transport::Transport;
use crosstalk_work::peer::socket::is_readable;
use crosstalk_work::peer::{Deadline, Line, TICK};

/// Receives the reports of a size while it is measured.
pub type ReportInterval<'a> = &'a mut dyn FnMut(&Spec, Bytes, ReportedInterval) -> Result<(), Fault>;

/// Measures every size of `spec` with the server at `target`.
///
/// # Errors
/// Where the server cannot be reached or fails; interrupted.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Deadline) -> Result<Vec<Outcome>, Fault> {
    measure_live(target, spec, until, &mut |_, _, _| Ok(()))
}

/// As [`measure`], with reports while it measures if `spec` has them.
///
/// # Errors
/// As of [`measure`]; those of `report`.
pub fn measure_live(
    target: SocketAddr,
    spec: &Spec,
    until: &Deadline,
    report: ReportInterval,
) -> Result<Vec<Outcome>, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let (mut line, _) = open_conversation(target, "bandwidth", until)?;
    let one = |size: &Bytes| {
        let mut report = |interval| report(spec, *size, interval);
        let (sent, counted) = session(&mut line, target, &spec.session(*size), until, &mut report)?;
        Outcome::new(spec, *size, &sent, &counted).map_err(|f| f.at(target.to_string()))
    };
    spec.sizes.iter().map(one).collect()
}

/// Measures one size.
fn session(
    line: &mut Line,
    target: SocketAddr,
    session: &Session,
    until: &Deadline,
    report: &mut dyn FnMut(ReportedInterval) -> Result<(), Fault>,
) -> Result<(SentCount, ReceivedCount), Fault> {
    let payload = if session.reverse { Vec::new() } else { make_payload(session) };
    let ready = request_session(line, &Request::Count(session.clone()), until)?;
    let carriers = if session.transport == Transport::Udp {
        Carriers::Datagrams(connect_datagrams(target, line, &ready, until)?)
    } else {
        let waiting = WaitTimes::same_on_both_sides(Some(TICK));
        let connect = |_| Medium::connect(session.transport, target, &ready, waiting, until);
        Carriers::Streams((0..session.streams).map(connect).collect::<Result<_, _>>()?)
    };
    if session.reverse {
        let counted = count_received(carriers, session, ready.token, line, until, report)?;
        return match read_response(line, until)? {
            Response::Sent(sent) => Ok((sent, counted)),
            other => Err(unexpected_fault(target, &other)),
        };
    }
    // The server counts until the last stream has ended, of which the threads here may hear later.
    let mut counted = None;
    let sent = send_on_all(carriers, session, &payload, target, until, |goes_on| {
        while session.report.is_some() && counted.is_none() && goes_on() {
            if line.is_readable() || is_readable(&*line, TICK / 5) {
                counted = next(line, target, until, report)?;
            }
        }
        Ok(())
    })?;
    line.send(&Request::Finished)?;
    loop {
        if let Some(counted) = counted {
            return Ok((sent, counted));
        }
        counted = next(line, target, until, report)?;
    }
}

/// The server's next response: a report, or at the end what it has counted.
fn next(
    line: &mut Line,
    target: SocketAddr,
    until: &Deadline,
    report: &mut dyn FnMut(ReportedInterval) -> Result<(), Fault>,
) -> Result<Option<ReceivedCount>, Fault> {
    match read_response(line, until)? {
        Response::Interval(interval) => report(interval).map(|()| None),
        Response::Counted(counted) => Ok(Some(counted)),
        other => Err(unexpected_fault(target, &other)),
    }
}
