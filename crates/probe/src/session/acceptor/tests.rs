use super::*;
use crate::session::client::{connect_data, open};
use crate::session::protocol::Request;
use crosstalk_core::units::Seconds;
use crosstalk_work::peer::socket::{connect, listen};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Runs `test` with an acceptor, which hands over clients.
fn with_acceptor(test: impl FnOnce(SocketAddr, &Acceptor, &Receiver<Line>, &Until)) {
    let never = AtomicBool::new(false);
    let until = Until::new(Seconds(10.0), &never);
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    let acceptor = Acceptor::new().expect("is made");
    let (greeted, lines) = channel();
    thread::scope(|scope| {
        let (listener, acceptor, until) = (&listener, &acceptor, &until);
        scope.spawn(move || acceptor.run(listener, &greeted, until));
        test(target, acceptor, &lines, until);
        acceptor.end();
    });
}

#[test]
fn a_connection_with_the_token_is_handed_over_with_what_follows() {
    with_acceptor(|target, acceptor, lines, until| {
        let (client, _) = open(target, "latency", until).expect("is greeted");
        let line = lines.recv().expect("is handed over");
        let connections = acceptor.expect(7);
        drop(connect_data(target, 8, until).expect("connects"));
        let mut stream = connect_data(target, 7, until).expect("connects");
        stream.write_all(b"more").expect("writes");
        drop(stream);
        // The client has sent everything before the server accepts, and says so.
        client.say(&Request::Finished).expect("says");
        let mut rest = String::new();
        connections.next(&line, until).expect("comes").read_to_string(&mut rest).expect("reads");
        assert_eq!(rest, "more");
    });
}

#[test]
fn a_client_that_hangs_up_is_not_waited_for() {
    with_acceptor(|target, acceptor, lines, until| {
        let (client, _) = open(target, "latency", until).expect("is greeted");
        let line = lines.recv().expect("is handed over");
        let connections = acceptor.expect(7);
        drop(client);
        assert_eq!(connections.next(&line, until).expect_err("is gone"), gone(line.peer()));
    });
}

#[test]
fn a_second_client_learns_when_to_retry_and_silent_callers_delay_nobody() {
    with_acceptor(|target, acceptor, lines, until| {
        let _silent: Vec<_> = (0..80).map(|_| connect(target, until).expect("connects")).collect();
        let (first, _) = open(target, "latency", until).expect("is greeted");
        let _line = lines.recv().expect("is handed over");
        acceptor.busy_for(Duration::from_secs(30));
        let fault = open(target, "latency", until).err().expect("is busy");
        assert!(fault.message.contains("another") && fault.remedy.is_some_and(|r| r.contains("30 s")));
        drop(first);
        acceptor.free();
        open(target, "latency", until).expect("is greeted");
    });
}
