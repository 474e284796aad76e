//! What the two ends of a probe say to each other: one JSON object a line over
//! the control connection. Messages that are measured travel elsewhere.

use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crosstalk_core::{Fault, FaultKind};

use super::greeting::{await_greeting, greet};
use super::meeting::Spot;
use super::{bandwidth, latency};
use crosstalk_work::peer::socket::{broken, connect, gone, is_readable, udp_beside};
use crosstalk_work::peer::{Line, TICK, Until};

/// The version of this conversation; both ends refuse another one.
pub const VERSION: u32 = 4;

/// How much longer than it said a session may take, in seconds.
pub const GRACE: f64 = 10.0;

/// From the measuring end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Ask {
    /// Opens the conversation: answered by [`Answer::Hello`].
    Hello { version: u32 },
    /// Send back what comes: answered by [`Answer::Ready`].
    Echo(latency::Session),
    /// Count what comes: answered by [`Answer::Ready`], meanwhile by [`Answer::Interval`] where that is
    /// asked for, and at the end by [`Answer::Counted`]. Reversed: send, answered at the end by
    /// [`Answer::Sent`].
    Count(bandwidth::Session),
    /// No more will come.
    Finished,
}

/// From the serving end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The version, the name of this end's clock where it has one, and the processors it may use.
    Hello {
        version: u32,
        clock: Option<String>,
        #[serde(default)]
        cpus: Vec<usize>,
    },
    /// It is measuring with somebody else, for about so many seconds more.
    Busy { seconds: f64 },
    /// Connect, say the token, and begin.
    Ready(Ready),
    /// What came lately.
    Interval(bandwidth::Interval),
    /// What came.
    Counted(bandwidth::Counted),
    /// What was sent.
    Sent(bandwidth::SendCount),
    /// It will not do, and why.
    Refused { reason: String },
}

/// What the measuring end connects to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// What it has to say, so that nobody else is taken for it.
    pub token: u64,
    /// The ports of the datagrams, one a stream.
    pub udp: Vec<u16>,
    /// Where two ends on one host meet.
    pub spot: Option<Spot>,
}

/// What the serving end says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// The name of its clock, where it has one.
    pub clock: Option<String>,
    /// The processors it may use; none where it does not say.
    pub cpus: Vec<usize>,
}

/// Greets a serving end on behalf of the probe `kind`. Returns the conversation, and what that end says of itself.
///
/// # Errors
/// Where nobody listens at `target`, or something that is no other end of a probe; interrupted.
pub fn open(target: SocketAddr, kind: &str, until: &Until) -> Result<(Line, Host), Fault> {
    let stream = connect(target, until).map_err(|f| {
        f.remedy(format!(
            "start the other end: `crosstalk probe {kind} --listen {target}`, \
             and check the route and the firewall between the hosts"
        ))
    })?;
    let mut line = Line::new(stream)?;
    line.say(&Ask::Hello { version: VERSION })?;
    let heard = line.hear(until).and_then(|heard| heard.ok_or_else(|| gone(target)));
    let heard = heard.map_err(|fault| match fault.kind {
        FaultKind::Interrupted => fault,
        _ => fault.remedy(format!(
            "see what listens there (`ss -ltnp`): it is to be `crosstalk probe {kind} --listen {target}`"
        )),
    })?;
    match granted(&line, heard)? {
        Answer::Hello { version: VERSION, clock, cpus } => Ok((line, Host { clock, cpus })),
        Answer::Hello { version, .. } => Err(Fault::environment(format!(
            "the other end speaks version {version} of the probes' protocol, this one {VERSION}"
        ))
        .at(target.to_string())
        .remedy("run the same version of crosstalk on both hosts")),
        Answer::Busy { seconds } => {
            Err(Fault::environment("the other end is busy: it measures with another host")
                .at(target.to_string())
                .remedy(format!(
                    "try again in about {seconds:.0} s, or let another end listen on another port"
                )))
        }
        other => Err(unexpected(target, &other)),
    }
}

/// Waits for an answer that is not a refusal.
pub fn answer(line: &mut Line, until: &Until) -> Result<Answer, Fault> {
    match line.hear(until)? {
        Some(answer) => granted(line, answer),
        None => Err(gone(line.peer())),
    }
}

fn granted(line: &Line, answer: Answer) -> Result<Answer, Fault> {
    match answer {
        Answer::Refused { reason } => {
            Err(Fault::attempt(format!("the other end refused: {reason}")).at(line.peer().to_string()))
        }
        answer => Ok(answer),
    }
}

/// Asks for a session; what the serving end is ready with.
pub fn ready(line: &mut Line, ask: &Ask, until: &Until) -> Result<Ready, Fault> {
    line.say(ask)?;
    match answer(line, until)? {
        Answer::Ready(ready) => Ok(ready),
        other => Err(unexpected(line.peer(), &other)),
    }
}

/// The fault for an answer to another question.
pub fn unexpected(peer: SocketAddr, answer: &Answer) -> Fault {
    Fault::attempt(format!("the other end answered out of turn: {answer:?}")).at(peer.to_string())
}

/// The serving end's UDP sockets, each connected to one of the measuring end's once that has greeted.
pub fn expect_datagrams(
    listener: &TcpListener,
    line: &Line,
    token: u64,
    streams: usize,
    until: &Until,
) -> Result<Vec<UdpSocket>, Fault> {
    let peer = line.peer();
    let failed = |e| broken(peer, &e);
    let beside = SocketAddr::new(line.local()?.ip(), listener.local_addr().map_err(failed)?.port());
    let sockets: Vec<UdpSocket> = (0..streams).map(|_| udp_beside(beside)).collect::<Result<_, _>>()?;
    let port = |socket: &UdpSocket| socket.local_addr().map(|address| address.port());
    let udp = sockets.iter().map(port).collect::<Result<_, _>>().map_err(failed)?;
    line.say(&Answer::Ready(Ready { token, udp, spot: None }))?;
    sockets.iter().try_for_each(|socket| await_greeting(socket, line, token, until))?;
    Ok(sockets)
}

/// The measuring end's UDP sockets, to a serving end that is ready.
pub fn datagrams_to(
    target: SocketAddr,
    line: &Line,
    ready: &Ready,
    until: &Until,
) -> Result<Vec<UdpSocket>, Fault> {
    let local = line.local()?.ip();
    let to = |port: &u16| greet(local, SocketAddr::new(target.ip(), *port), ready.token, until);
    ready.udp.iter().map(to).collect()
}

/// The only one of them.
pub fn only(mut sockets: Vec<UdpSocket>) -> Result<UdpSocket, Fault> {
    sockets.pop().ok_or_else(|| Fault::attempt("the other end did not say its UDP port"))
}

/// The limit of a session that is to take `seconds`.
pub fn limit<'a>(seconds: f64, until: &Until<'a>) -> Until<'a> {
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 86_400.0) };
    until.within(Duration::from_secs_f64(seconds + GRACE))
}

/// Waits until the measuring end comes to `door`. One that has hung up instead, or has something
/// else to say, will not come: others are to be served. Unless it has come already: one that sends
/// little is through with it, and says so, before this end has opened the door.
pub fn comes(door: &impl AsFd, line: &Line, until: &Until) -> Result<(), Fault> {
    loop {
        until.check("the measuring end to come")?;
        // Looked at before the door is: who came before saying something is seen there.
        let stirs = line.stirs();
        let somebody = is_readable(door, if stirs { Duration::ZERO } else { TICK });
        // Looked at last: who is at the door of one that has hung up is another one.
        if line.hung_up() {
            return Err(gone(line.peer()));
        }
        match (somebody, stirs) {
            (true, _) => return Ok(()),
            (false, true) => return Err(gone(line.peer())),
            (false, false) => {}
        }
    }
}

/// A number that another connection cannot guess by accident.
pub fn token() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The measuring end's data connection: connects and shows the token.
pub fn data(target: SocketAddr, token: u64, until: &Until) -> Result<TcpStream, Fault> {
    let mut stream = connect(target, until)?;
    stream.write_all(&token.to_le_bytes()).map_err(|e| broken(target, &e))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::message::receive;
    use crosstalk_core::units::Seconds;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    const ASKS: [&str; 3] = [
        r#"{"ask":"hello","version":4}"#,
        r#"{"ask":"echo","transport":"tcp","size":64,"mode":"blocking","stamps":"both","pin":null,"seconds":1.0,"idle":5.0}"#,
        r#"{"ask":"count","transport":"udp","size":64,"seconds":1.0,"bytes":null,"rate":1e6,"interval":0.1,"report":1.0,"streams":2,"reverse":true,"congestion":"reno","pin":1}"#,
    ];
    const ANSWERS: [&str; 3] = [
        r#"{"answer":"hello","version":4,"clock":"a boot time:[1]","cpus":[0]}"#,
        r#"{"answer":"ready","token":18446744073709551615,"udp":[7],"spot":{"file":"/tmp/spot"}}"#,
        r#"{"answer":"counted","bytes":1,"receives":1,"seconds":0.0,"intervals":[1],"overhead":0.0}"#,
    ];

    fn asked(line: &str) -> Result<Option<Ask>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    fn answered(line: &str) -> Result<Option<Answer>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    #[test]
    fn what_is_said_is_understood() {
        for (ask, answer) in ASKS.into_iter().zip(ANSWERS) {
            let (ask, answer) = (asked(ask), answered(answer));
            assert!(matches!(ask, Ok(Some(_))) && matches!(answer, Ok(Some(_))), "{ask:?} {answer:?}");
        }
    }

    proptest! {
        #[test]
        fn a_spoilt_line_is_a_fault_or_a_message(
            which in 0usize..3, at in 0usize..120, left_out in 0usize..6, by in "[-0-9a-z\"{}\\[\\]:,.]{0,6}",
        ) {
            for line in [ASKS[which], ANSWERS[which]] {
                let at = at % line.len();
                let line = format!("{}{by}{}", &line[..at], &line[(at + left_out).min(line.len())..]);
                // What is understood reads the same when it is said again.
                if let Ok(Some(ask)) = asked(&line) {
                    prop_assert_eq!(asked(&serde_json::to_string(&ask).expect("writes")), Ok(Some(ask)));
                }
                if let Ok(Some(answer)) = answered(&line) {
                    prop_assert_eq!(answered(&serde_json::to_string(&answer).expect("writes")), Ok(Some(answer)));
                }
            }
        }

        #[test]
        fn any_bytes_are_a_fault(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut line = noise;
            line.push(b'\n');
            prop_assert!(receive::<Ask>(&mut line.as_slice()).is_err());
            prop_assert!(receive::<Answer>(&mut line.as_slice()).is_err());
        }

        #[test]
        fn a_session_may_say_any_time(seconds: f64) {
            let never = AtomicBool::new(false);
            let until = Until::new(Seconds(1.0), &never);
            prop_assert!(limit(seconds, &until).left() <= Duration::from_secs(1));
        }
    }
}
