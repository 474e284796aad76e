//! What the two ends of a probe say to each other: one JSON object a line over
//! the control connection. Messages that are measured travel elsewhere.

use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crosstalk_core::Fault;

use super::greeting::{await_greeting, greet};
use super::meeting::Spot;
use super::{bandwidth, latency};
use crate::peer::socket::{accept, broken, connect, gone, is_readable, udp_beside};
use crate::peer::{Line, TICK, Until};

/// The version of this conversation; both ends refuse another one.
pub const VERSION: u32 = 3;

/// How much longer than it said a session may take, in seconds.
pub const GRACE: f64 = 10.0;

/// How long a data connection may take to show its token.
const SHOWING: Duration = Duration::from_secs(2);

/// From the measuring end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Ask {
    /// Opens the conversation: answered by [`Answer::Hello`].
    Hello { version: u32 },
    /// Send back what comes: answered by [`Answer::Ready`].
    Echo(latency::Session),
    /// Count what comes: answered by [`Answer::Ready`], and at the end by [`Answer::Counted`].
    Count(bandwidth::Session),
    /// No more will come.
    Finished,
}

/// From the serving end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The version, and the name of this end's clock where it has one.
    Hello { version: u32, clock: Option<String> },
    /// Connect, say the token, and begin.
    Ready(Ready),
    /// What came.
    Counted(bandwidth::Counted),
    /// It will not do, and why.
    Refused { reason: String },
}

/// What the measuring end connects to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// What it has to say, so that nobody else is taken for it.
    pub token: u64,
    /// The port of the datagrams.
    pub udp: Option<u16>,
    /// Where two ends on one host meet.
    pub spot: Option<Spot>,
}

/// Greets a serving end. Returns the conversation, and the name of its clock.
pub fn open(target: SocketAddr, until: &Until) -> Result<(Line, Option<String>), Fault> {
    let stream = connect(target, until).map_err(|f| {
        f.remedy(format!(
            "start the other end: `crosstalk probe latency --listen {target}`, \
             and check the route and the firewall between the hosts"
        ))
    })?;
    let mut line = Line::new(stream)?;
    line.say(&Ask::Hello { version: VERSION })?;
    match answer(&mut line, until)? {
        Answer::Hello { version: VERSION, clock } => Ok((line, clock)),
        Answer::Hello { version, .. } => Err(Fault::environment(format!(
            "the other end speaks version {version} of the probes' protocol, this one {VERSION}"
        ))
        .at(target.to_string())
        .remedy("run the same version of crosstalk on both hosts")),
        other => Err(unexpected(target, &other)),
    }
}

/// Waits for an answer that is not a refusal.
pub fn answer(line: &mut Line, until: &Until) -> Result<Answer, Fault> {
    match line.hear(until)? {
        Some(Answer::Refused { reason }) => {
            Err(Fault::attempt(format!("the other end refused: {reason}")).at(line.peer().to_string()))
        }
        Some(answer) => Ok(answer),
        None => Err(gone(line.peer())),
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

/// The serving end's UDP socket, connected to the measuring end once it has greeted.
pub fn expect_datagrams(
    listener: &TcpListener,
    line: &mut Line,
    token: u64,
    until: &Until,
) -> Result<UdpSocket, Fault> {
    let peer = line.peer();
    let port = listener.local_addr().map_err(|e| broken(peer, &e))?.port();
    let socket = udp_beside(SocketAddr::new(line.local()?.ip(), port))?;
    let port = socket.local_addr().map_err(|e| broken(peer, &e))?.port();
    line.say(&Answer::Ready(Ready { token, udp: Some(port), spot: None }))?;
    await_greeting(&socket, line, token, until)?;
    Ok(socket)
}

/// The measuring end's UDP socket, to a serving end that is ready.
pub fn datagrams_to(
    target: SocketAddr,
    line: &Line,
    ready: &Ready,
    until: &Until,
) -> Result<UdpSocket, Fault> {
    let port = ready.udp.ok_or_else(|| Fault::attempt("the other end did not say its UDP port"))?;
    greet(line.local()?.ip(), SocketAddr::new(target.ip(), port), ready.token, until)
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

/// The serving end's: the next connection that shows the token. Others are
/// turned away.
pub fn expect(listener: &TcpListener, line: &Line, token: u64, until: &Until) -> Result<TcpStream, Fault> {
    loop {
        comes(listener, line, until)?;
        let (mut stream, peer) = accept(listener, until)?;
        let mut shown = [0; 8];
        let read = stream.set_read_timeout(Some(SHOWING)).and_then(|()| stream.read_exact(&mut shown));
        if read.is_ok() && shown == token.to_le_bytes() {
            stream.set_read_timeout(None).map_err(|e| broken(peer, &e))?;
            return Ok(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::socket::listen;
    use crosstalk_core::message::receive;
    use crosstalk_core::units::Seconds;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    const ASKS: [&str; 3] = [
        r#"{"ask":"hello","version":3}"#,
        r#"{"ask":"echo","transport":"tcp","size":64,"mode":"blocking","stamps":"both","pin":null,"seconds":1.0}"#,
        r#"{"ask":"count","transport":"udp","size":64,"seconds":1.0,"interval":0.1,"pin":1}"#,
    ];
    const ANSWERS: [&str; 3] = [
        r#"{"answer":"hello","version":3,"clock":"a boot time:[1]"}"#,
        r#"{"answer":"ready","token":18446744073709551615,"udp":null,"spot":{"file":"/tmp/spot"}}"#,
        r#"{"answer":"counted","bytes":1,"receives":1,"seconds":0.0,"intervals":[1],"overhead":0.0}"#,
    ];

    fn asked(line: &str) -> Result<Option<Ask>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    fn answered(line: &str) -> Result<Option<Answer>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    /// A door, and both ends of a conversation.
    fn at_a_door(until: &Until) -> (TcpListener, Line, Line) {
        let door = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let there = connect(door.local_addr().expect("has one"), until).expect("connects");
        let (here, _) = accept(&door, until).expect("accepts");
        (door, Line::new(here).expect("has a peer"), Line::new(there).expect("has a peer"))
    }

    #[test]
    fn who_is_through_before_the_door_is_opened_has_come() {
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(5.0), &never);
        let (door, here, mut there) = at_a_door(&until);
        let came = data(door.local_addr().expect("has one"), 7, &until).expect("connects");
        drop(came);
        there.say(&Ask::Finished).expect("says");
        assert_eq!(comes(&door, &here, &until), Ok(()));
        expect(&door, &here, 7, &until).expect("is let in");
    }

    #[test]
    fn who_hangs_up_instead_is_not_waited_for() {
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(5.0), &never);
        let (door, here, there) = at_a_door(&until);
        drop(there);
        assert_eq!(comes(&door, &here, &until), Err(gone(here.peer())));
        let _another = data(door.local_addr().expect("has one"), 7, &until).expect("connects");
        assert_eq!(comes(&door, &here, &until), Err(gone(here.peer())));
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
