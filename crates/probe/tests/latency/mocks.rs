//! Mock servers that die, fall silent or lose messages.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::latency::Outcome;

use super::mock_server::{read_line, with_server, with_server_of};

fn measured(serve: impl FnOnce(&TcpListener, &mut TcpStream) + Send) -> Result<Vec<Outcome>, Fault> {
    with_server(&Params::default().with("duration", "1 h"), serve)
}

#[test]
fn a_server_that_dies_is_noticed() {
    let fault = measured(|listener, control| {
        control.write_all(b"{\"answer\":\"ready\",\"token\":7,\"udp\":[]}\n").expect("is ready");
        let (mut data, _) = listener.accept().expect("comes");
        let mut message = [0; 72];
        data.read_exact(&mut message).expect("token and message");
        data.write_all(&message[8..]).expect("one reply, and no more");
    })
    .expect_err("the server is gone");
    assert_eq!(fault.kind, FaultKind::Gone, "{fault}");
}

#[test]
fn a_silent_server_is_a_fault_after_the_patience() {
    let params = Params::default().with("duration", "1 h").with("patience", "300 ms");
    let fault = with_server(&params, |listener, control| {
        control.write_all(b"{\"answer\":\"ready\",\"token\":7,\"udp\":[]}\n").expect("is ready");
        let _data = listener.accept().expect("comes");
        // Until the client hangs up.
        let _ = control.read(&mut [0]);
    })
    .expect_err("no reply");
    assert!(fault.message.contains("does not answer"), "{fault}");
}

#[test]
fn another_version_is_refused_by_name() {
    let fault = with_server_of(99, "null", &Params::default(), |_, _| ()).expect_err("is refused");
    assert!(fault.message.contains("version 99"), "{fault}");
}

/// Sends datagrams back; every tenth only after the next one, which is too late.
fn lossy(socket: &UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("sets");
    let mut message = [0; 64];
    let mut count = 0;
    let mut held: Option<([u8; 64], SocketAddr)> = None;
    while let Ok((n, from)) = socket.recv_from(&mut message) {
        if n == 8 {
            socket.send_to(&message[..8], from).expect("sends the token back");
            continue;
        }
        count += 1;
        if let Some((late, from)) = held.take() {
            socket.send_to(&late, from).expect("answers late");
        }
        if count % 10 == 0 {
            held = Some((message, from));
        } else {
            socket.send_to(&message, from).expect("answers");
        }
    }
}

#[test]
fn lost_datagrams_are_counted_and_late_ones_are_not_timed() {
    let params =
        Params::default().with("transport", "udp").with("duration", "500 ms").with("patience", "10 ms");
    let outcomes = with_server(&params, |_, control| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let port = socket.local_addr().expect("has one").port();
        writeln!(control, "{{\"answer\":\"ready\",\"token\":7,\"udp\":[{port}]}}").expect("is ready");
        thread::scope(|scope| {
            scope.spawn(|| lossy(&socket));
            read_line(control);
        });
    })
    .expect("measures");
    let outcome = &outcomes[0];
    let share = outcome.lost as f64 / outcome.sent as f64;
    // On a busy machine more than every tenth may be too late.
    assert!((0.08..0.5).contains(&share), "{} of {} lost", outcome.lost, outcome.sent);
    assert!(outcome.late + 1 >= outcome.lost && outcome.late > 0, "{} late", outcome.late);
    assert!(outcome.one_way.as_ref().is_err_and(|why| why.contains("clock")), "{:?}", outcome.one_way);
    // No late reply was taken for another one's, and no lost message was timed.
    assert_eq!(outcome.round_trip.count() + outcome.warm_up + outcome.lost, outcome.sent);
}
