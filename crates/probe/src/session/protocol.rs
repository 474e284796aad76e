//! The messages between the client and the server of a probe: one JSON object a line over the
//! control connection.

use serde::{Deserialize, Serialize};

use super::unix_address::UnixAddress;
use crate::bandwidth::counts::{ReceivedCount, ReportedInterval, SentCount};
use crate::bandwidth::session::Session as BandwidthSession;
use crate::latency::session::Session as LatencySession;

/// The version of the protocol; client and server refuse another one.
pub const VERSION: u32 = 5;

/// A message from the client to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// Opens the conversation: answered by [`Response::Hello`].
    Hello { version: u32 },
    /// Send every message back: answered by [`Response::Ready`].
    Echo(LatencySession),
    /// Count the bytes that the client sends: answered by [`Response::Ready`], meanwhile by
    /// [`Response::Interval`] if the session has reports, and at the end by [`Response::Counted`].
    /// Of a reversed session: send, answered at the end by [`Response::Sent`].
    Count(BandwidthSession),
    /// The client has sent everything.
    Finished,
}

/// A message from the server to the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Response {
    /// The version, the name of the server's clock if it has one, and the processors it may use.
    Hello {
        version: u32,
        clock: Option<String>,
        #[serde(default)]
        cpus: Vec<usize>,
    },
    /// The server is measuring with another client, for about `seconds` more.
    Busy { seconds: f64 },
    /// Connect, show the token, and begin.
    Ready(Ready),
    /// Bytes received in the last interval.
    Interval(ReportedInterval),
    /// All bytes received.
    Counted(ReceivedCount),
    /// All bytes sent.
    Sent(SentCount),
    /// The server refuses the session.
    Refused { reason: String },
}

/// What the client is to connect to, once the server is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The token that its data connections show.
    pub token: u64,
    /// The UDP ports, one a stream.
    pub udp: Vec<u16>,
    /// The Unix socket, of transports on one host.
    #[serde(rename = "spot")]
    pub unix: Option<UnixAddress>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::Fault;
    use crosstalk_core::message::receive;
    use proptest::prelude::*;

    const REQUESTS: [&str; 3] = [
        r#"{"ask":"hello","version":5}"#,
        r#"{"ask":"echo","transport":"tcp","size":64,"mode":"blocking","stamps":"both","pin":null,"seconds":1.0,"idle":5.0}"#,
        r#"{"ask":"count","transport":"udp","size":64,"seconds":1.0,"bytes":null,"rate":1e6,"interval":0.1,"report":1.0,"streams":2,"reverse":true,"congestion":"reno","no_delay":false,"pin":1}"#,
    ];
    const RESPONSES: [&str; 3] = [
        r#"{"answer":"hello","version":5,"clock":"a boot time:[1]","cpus":[0]}"#,
        r#"{"answer":"ready","token":18446744073709551615,"udp":[7],"spot":{"file":"/tmp/spot"}}"#,
        r#"{"answer":"counted","bytes":1,"receives":1,"seconds":0.0,"intervals":[1],"overhead":0.0,"congestion":null}"#,
    ];

    fn request(line: &str) -> Result<Option<Request>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    fn response(line: &str) -> Result<Option<Response>, Fault> {
        receive(&mut format!("{line}\n").as_bytes())
    }

    #[test]
    fn every_message_is_read() {
        for (asked, answered) in REQUESTS.into_iter().zip(RESPONSES) {
            let (asked, answered) = (request(asked), response(answered));
            assert!(
                matches!(asked, Ok(Some(_))) && matches!(answered, Ok(Some(_))),
                "{asked:?} {answered:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_damaged_line_is_a_fault_or_a_message(
            which in 0usize..3, at in 0usize..120, left_out in 0usize..6, by in "[-0-9a-z\"{}\\[\\]:,.]{0,6}",
        ) {
            for line in [REQUESTS[which], RESPONSES[which]] {
                let at = at % line.len();
                let line = format!("{}{by}{}", &line[..at], &line[(at + left_out).min(line.len())..]);
                // A message that is read is the same when it is written and read again.
                if let Ok(Some(message)) = request(&line) {
                    prop_assert_eq!(request(&serde_json::to_string(&message).expect("writes")), Ok(Some(message)));
                }
                if let Ok(Some(answer)) = response(&line) {
                    prop_assert_eq!(response(&serde_json::to_string(&answer).expect("writes")), Ok(Some(answer)));
                }
            }
        }

        #[test]
        fn any_bytes_are_a_fault(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut line = noise;
            line.push(b'\n');
            prop_assert!(receive::<Request>(&mut line.as_slice()).is_err());
            prop_assert!(receive::<Response>(&mut line.as_slice()).is_err());
        }
    }
}
