//! How long a session may take, and its client be silent.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_work::peer::Deadline;

/// How much longer than announced a session may take, in seconds.
pub const SESSION_GRACE: f64 = 10.0;

/// How long a client may ask for nothing, or send nothing of what it has announced. Then it is
/// stopped or the path is cut, and the server hangs up to serve others.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// The longest session, in seconds.
pub const LONGEST_SESSION: f64 = 86_400.0;

/// An announced time in seconds, if it is one: any number may come from another host.
pub fn parse_announced_time(seconds: f64) -> Duration {
    Duration::from_secs_f64(if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, LONGEST_SESSION) })
}

/// The limit of a session that is to take `seconds`.
pub fn session_deadline<'a>(seconds: f64, until: &Deadline<'a>) -> Deadline<'a> {
    until.at_most(parse_announced_time(seconds) + Duration::from_secs_f64(SESSION_GRACE))
}

/// The fault for a client that has fallen silent.
pub fn silent_client_fault(client: SocketAddr) -> Fault {
    Fault::attempt("the client has fallen silent, so that the server hung up")
        .at(client.to_string())
        .remedy("see whether it is stopped, or the path is cut")
}

/// Whether an error says that the peer has closed the connection, which ends a session well.
pub fn is_closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    proptest! {
        #[test]
        fn a_session_may_announce_any_time(seconds: f64) {
            let never = AtomicBool::new(false);
            let until = Deadline::new(Seconds(1.0), &never);
            prop_assert!(session_deadline(seconds, &until).time_left() <= Duration::from_secs(1));
            prop_assert!(parse_announced_time(seconds) <= Duration::from_secs_f64(LONGEST_SESSION));
        }
    }
}
