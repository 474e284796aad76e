//! A server goes on serving whatever its clients send, and refuses what it cannot serve.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_probe::latency::{Spec, measure};
use crosstalk_probe::{Conversations, Deadline, listen, serve};

const HELLO: &str = r#"{"ask":"hello","version":5}"#;

/// A request to echo messages, with one field changed.
fn echo(change: (&str, &str)) -> String {
    let usual = [
        ("transport", "\"tcp\""),
        ("size", "64"),
        ("mode", "\"blocking\""),
        ("stamps", "\"none\""),
        ("pin", "null"),
        ("seconds", "1"),
        ("idle", "1"),
    ];
    let fields =
        usual.map(|(name, value)| format!("\"{name}\":{}", if name == change.0 { change.1 } else { value }));
    format!("{{\"ask\":\"echo\",{}}}", fields.join(","))
}

/// The server's responses to lines, up to its hang-up or a while of silence.
fn responses(target: SocketAddr, lines: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(target).expect("connects");
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("sets");
    for line in lines {
        // It may have hung up already.
        let _ = stream.write_all(format!("{line}\n").as_bytes());
    }
    BufReader::new(stream).lines().map_while(Result::ok).collect()
}

/// Runs `test` with a server, which must then serve as before.
fn with_server<T>(test: impl FnOnce(SocketAddr) -> T) -> T {
    let (never, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            serve(&listener, Conversations::Forever, &Deadline::new(Seconds(60.0), &over), &mut |_| ())
        });
        let result = test(target);
        let spec = Spec::from_params(&Params::default().with("duration", "50 ms")).expect("reads");
        let measured = measure(target, &spec, &Deadline::new(Seconds(20.0), &never));
        over.store(true, Ordering::Relaxed);
        let _ = serving.join().expect("no panic");
        assert!(measured.is_ok(), "{measured:?}");
        result
    })
}

#[test]
fn invalid_requests_are_refused() {
    let invalid = [
        ("size", "0"),
        ("size", "18446744073709551615"),
        ("size", "-1"),
        ("pin", "1000000"),
        ("seconds", "\"long\""),
        ("transport", "\"pigeon\""),
        ("stamps", "7"),
    ];
    with_server(|target| {
        for (name, value) in invalid {
            let lines = responses(target, &[HELLO, &echo((name, value))]);
            let ready = lines.iter().any(|line| line.contains("\"ready\""));
            assert!(!ready, "{name} = {value}: {lines:?}");
        }
        // A request that can be read is refused with the reason.
        let lines = responses(target, &[HELLO, &echo(("size", "0"))]);
        assert!(
            lines.last().is_some_and(|line| line.contains("refused") && line.contains("1 to")),
            "{lines:?}"
        );
    });
}

#[test]
fn callers_that_send_noise_or_nothing_are_hung_up_on() {
    with_server(|target| {
        for noise in ["GET / HTTP/1.0\r\n\r", "", "{}", "[[[[[[[[", "\u{0}\u{1}", &"x".repeat(100_000)] {
            assert_eq!(responses(target, &[noise]), Vec::<String>::new(), "{noise:.20}");
        }
        // A caller that says nothing: the read ends with the hang-up.
        let silent = TcpStream::connect(target).expect("connects");
        silent.set_read_timeout(Some(Duration::from_secs(30))).expect("sets");
        let mut reader = BufReader::new(&silent);
        assert_eq!(reader.read_line(&mut String::new()).expect("is hung up on"), 0);
    });
}

#[test]
fn a_client_that_does_not_connect_is_not_waited_for() {
    with_server(|target| {
        for transport in ["tcp", "udp", "unix", "pipe", "shared"] {
            let lines = responses(target, &[HELLO, &echo(("transport", &format!("\"{transport}\"")))]);
            assert!(lines.iter().any(|line| line.contains("\"ready\"")), "{transport}: {lines:?}");
        }
    });
}
