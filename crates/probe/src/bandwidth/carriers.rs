//! What carries the bytes of a session, and the measuring end, which says who sends.

use std::net::{SocketAddr, UdpSocket};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::count::{Counted, Interval, count};
use super::outcome::Outcome;
use super::send::{SendCount, payload, send};
use super::spec::{Session, Spec};
use crate::arguments::Transport;
use crate::control::{
    Answer, Ask, answer, datagrams_to, expect_datagrams, limit, open, ready, token, unexpected,
};
use crate::medium::{Medium, Waiting};
use crate::pin::pin;
use crate::server::Serving;
use crosstalk_work::peer::socket::is_readable;
use crosstalk_work::peer::{Line, TICK, Until};

/// Streams, or sockets for datagrams.
pub enum Carriers {
    /// Streams of bytes.
    Streams(Vec<Medium>),
    /// Connected UDP sockets.
    Datagrams(Vec<UdpSocket>),
}

impl Carriers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Carriers::Streams(media) => media.len(),
            Carriers::Datagrams(sockets) => sockets.len(),
        }
    }
}

/// Hears of what has come lately: whose size that is, and what.
pub type Report<'a> = &'a mut dyn FnMut(&Spec, Bytes, Interval) -> Result<(), Fault>;

/// Measures every size of `spec` against the serving end at `target`.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Until) -> Result<Vec<Outcome>, Fault> {
    measure_live(target, spec, until, &mut |_, _, _| Ok(()))
}

/// The same, with what comes being told while it goes on, where `spec` wants that.
pub fn measure_live(
    target: SocketAddr,
    spec: &Spec,
    until: &Until,
    report: Report,
) -> Result<Vec<Outcome>, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let (mut line, _) = open(target, "bandwidth", until)?;
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
    until: &Until,
    report: &mut dyn FnMut(Interval) -> Result<(), Fault>,
) -> Result<(SendCount, Counted), Fault> {
    let payload = if session.reverse { Vec::new() } else { payload(session) };
    let ready = ready(line, &Ask::Count(session.clone()), until)?;
    let carriers = if session.transport == Transport::Udp {
        Carriers::Datagrams(datagrams_to(target, line, &ready, until)?)
    } else {
        let waiting = Waiting::alike(Some(TICK));
        let meet = |_| Medium::meet(session.transport, target, &ready, waiting, until);
        Carriers::Streams((0..session.streams).map(meet).collect::<Result<_, _>>()?)
    };
    if session.reverse {
        let counted = count(carriers, session, ready.token, line, until, report)?;
        return match answer(line, until)? {
            Answer::Sent(sent) => Ok((sent, counted)),
            other => Err(unexpected(target, &other)),
        };
    }
    let sent = send(carriers, session, &payload, target, until, |goes_on| {
        while session.report.is_some() && goes_on() {
            if line.stirs() || is_readable(&*line, TICK / 5) {
                match answer(line, until)? {
                    Answer::Interval(interval) => report(interval)?,
                    other => return Err(unexpected(target, &other)),
                }
            }
        }
        Ok(())
    })?;
    line.say(&Ask::Finished)?;
    loop {
        match answer(line, until)? {
            Answer::Interval(interval) => report(interval)?,
            Answer::Counted(counted) => return Ok((sent, counted)),
            other => return Err(unexpected(target, &other)),
        }
    }
}

/// Serves one session of the probe.
pub fn serve(session: &Session, line: &Line, serving: Serving, until: &Until) -> Result<(), Fault> {
    session.check()?;
    let until = limit(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let token = token();
    let payload = if session.reverse { payload(session) } else { Vec::new() };
    let streams = session.streams;
    let carriers = if session.transport == Transport::Udp {
        Carriers::Datagrams(expect_datagrams(serving.door.listener, line, token, streams, &until)?)
    } else {
        let waiting = Waiting::alike(Some(TICK));
        let media = Medium::serve_all(session.transport, serving, line, token, waiting, streams, &until)?;
        Carriers::Streams(media)
    };
    if session.reverse {
        let sent = send(carriers, session, &payload, line.peer(), &until, |_| Ok(()))?;
        return line.say(&Answer::Sent(sent));
    }
    let counted =
        count(carriers, session, token, line, &until, &mut |interval| line.say(&Answer::Interval(interval)))?;
    line.say(&Answer::Counted(counted))
}
