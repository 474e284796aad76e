//! Whatever comes in at a serving end's door, it goes on serving, and says what it will not do.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_probe::latency::{Spec, measure};
use crosstalk_probe::{Times, Until, listen, serve};

const HELLO: &str = r#"{"ask":"hello","version":4}"#;

/// What is asked of an end that echoes, with one thing being otherwise.
fn echo(otherwise: (&str, &str)) -> String {
    let usual = [
        ("transport", "\"tcp\""),
        ("size", "64"),
        ("mode", "\"blocking\""),
        ("stamps", "\"none\""),
        ("pin", "null"),
        ("seconds", "1"),
        ("idle", "1"),
    ];
    let said = usual
        .map(|(name, value)| format!("\"{name}\":{}", if name == otherwise.0 { otherwise.1 } else { value }));
    format!("{{\"ask\":\"echo\",{}}}", said.join(","))
}

/// What is answered to lines, up to the hang-up or a while of silence.
fn said(target: SocketAddr, lines: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(target).expect("connects");
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("sets");
    for line in lines {
        // It may have hung up already.
        let _ = stream.write_all(format!("{line}\n").as_bytes());
    }
    BufReader::new(stream).lines().map_while(Result::ok).collect()
}

/// What comes of `upon` at a serving end, which afterwards serves as before.
fn at_the_door<T>(upon: impl FnOnce(SocketAddr) -> T) -> T {
    let (never, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        let serving =
            scope.spawn(|| serve(&listener, Times::Forever, &Until::new(Seconds(60.0), &over), &mut |_| ()));
        let found = upon(target);
        let spec = Spec::from_params(&Params::default().with("duration", "50 ms")).expect("reads");
        let measured = measure(target, &spec, &Until::new(Seconds(20.0), &never));
        over.store(true, Ordering::Relaxed);
        let _ = serving.join().expect("no panic");
        assert!(measured.is_ok(), "{measured:?}");
        found
    })
}

#[test]
fn what_makes_no_sense_is_refused() {
    let odd = [
        ("size", "0"),
        ("size", "18446744073709551615"),
        ("size", "-1"),
        ("pin", "1000000"),
        ("seconds", "\"long\""),
        ("transport", "\"pigeon\""),
        ("stamps", "7"),
    ];
    at_the_door(|target| {
        for (name, value) in odd {
            let answers = said(target, &[HELLO, &echo((name, value))]);
            let ready = answers.iter().any(|line| line.contains("\"ready\""));
            assert!(!ready, "{name} = {value}: {answers:?}");
        }
        // What can be understood is answered with the reason.
        let answers = said(target, &[HELLO, &echo(("size", "0"))]);
        assert!(
            answers.last().is_some_and(|line| line.contains("refused") && line.contains("1 to")),
            "{answers:?}"
        );
    });
}

#[test]
fn noise_and_silence_end_soon() {
    at_the_door(|target| {
        for noise in ["GET / HTTP/1.0\r\n\r", "", "{}", "[[[[[[[[", "\u{0}\u{1}", &"x".repeat(100_000)] {
            assert_eq!(said(target, &[noise]), Vec::<String>::new(), "{noise:.20}");
        }
        // Somebody who connects and says nothing.
        let begin = Instant::now();
        let silent = TcpStream::connect(target).expect("connects");
        let mut reader = BufReader::new(&silent);
        assert_eq!(reader.read_line(&mut String::new()).expect("is hung up on"), 0);
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    });
}

#[test]
fn who_asks_and_does_not_come_is_not_waited_for() {
    at_the_door(|target| {
        for transport in ["tcp", "udp", "unix", "pipe", "shared"] {
            let answers = said(target, &[HELLO, &echo(("transport", &format!("\"{transport}\"")))]);
            assert!(answers.iter().any(|line| line.contains("\"ready\"")), "{transport}: {answers:?}");
        }
    });
}
