use super::*;
use crate::session::client::{connect_data_stream, open_conversation};
use crate::session::protocol::Request;
use crosstalk_core::units::Seconds;
use crosstalk_work::peer::socket::{connect, listen};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Runs `test` with an acceptor, which hands over clients.
fn with_acceptor(test: impl FnOnce(SocketAddr, &Acceptor, &Receiver<Line>, &Deadline)) {
    let never = AtomicBool::new(false);
    let until = Deadline::new(Seconds(10.0), &never);
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    let acceptor = Acceptor::new().expect("is made");
    let (greeted, lines) = channel();
    thread::scope(|scope| {
        let (listener, acceptor, until) = (&listener, &acceptor, &until);
        scope.spawn(move || acceptor.accept_connections(listener, &greeted, until));
        test(target, acceptor, &lines, until);
        acceptor.stop_accepting();
    });
}

#[test]
fn a_connection_with_the_token_is_handed_over_with_what_follows() {
    with_acceptor(|target, acceptor, lines, until| {
        let (client, _) = open_conversation(target, "latency", until).expect("is greeted");
        let line = lines.recv().expect("is handed over");
        let connections = acceptor.expect_token(7);
        drop(connect_data_stream(target, 8, until).expect("connects"));
        let mut stream = connect_data_stream(target, 7, until).expect("connects");
        stream.write_all(b"more").expect("writes");
        drop(stream);
        // The client has sent everything before the server accepts, and says so.
        client.send(&Request::Finished).expect("says");
        let mut rest = String::new();
        connections.accept_next(&line, until).expect("comes").read_to_string(&mut rest).expect("reads");
        assert_eq!(rest, "more");
    });
}

#[test]
fn a_client_that_hangs_up_is_not_waited_for() {
    with_acceptor(|target, acceptor, lines, until| {
        let (client, _) = open_conversation(target, "latency", until).expect("is greeted");
        let line = lines.recv().expect("is handed over");
        let connections = acceptor.expect_token(7);
        drop(client);
        assert_eq!(connections.accept_next(&line, until).expect_err("is gone"), closed_fault(line.peer()));
    });
}

#[test]
fn a_second_client_learns_when_to_retry_and_silent_callers_delay_nobody() {
    with_acceptor(|target, acceptor, lines, until| {
        let _silent: Vec<_> = (0..80).map(|_| connect(target, until).expect("connects")).collect();
        let (first, _) = open_conversation(target, "latency", until).expect("is greeted");
        let _line = lines.recv().expect("is handed over");
        acceptor.announce_busy(Duration::from_secs(30));
        let fault = open_conversation(target, "latency", until).err().expect("is busy");
        assert!(fault.message.contains("another") && fault.remedy.is_some_and(|r| r.contains("30 s")));
        drop(first);
        acceptor.allow_next();
        open_conversation(target, "latency", until).expect("is greeted");
    });
}
