//! Mock servers, written from the protocol alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_probe::Deadline;
use crosstalk_probe::latency::{Outcome, Spec, measure};

/// The version of the protocol that these servers speak.
pub const VERSION: u32 = 5;

/// The result of measuring with a server that runs `serve` with the control connection, after the
/// greeting and the request.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn with_server(
    params: &Params,
    serve: impl FnOnce(&TcpListener, &mut TcpStream) + Send,
) -> Result<Vec<Outcome>, Fault> {
    with_server_of(VERSION, "null", params, |listener, control| {
        read_line(control);
        serve(listener, control);
    })
}

/// The same with a server that greets with this version of the protocol and this name (in JSON) of its
/// clock; `serve` also reads the request.
pub fn with_server_of(
    version: u32,
    clock: &str,
    params: &Params,
    serve: impl FnOnce(&TcpListener, &mut TcpStream) + Send,
) -> Result<Vec<Outcome>, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut control, _) = listener.accept().expect("comes");
            read_line(&mut control);
            writeln!(control, "{{\"answer\":\"hello\",\"version\":{version},\"clock\":{clock}}}")
                .expect("greets");
            serve(&listener, &mut control);
        });
        let flag = AtomicBool::new(false);
        let spec = Spec::from_params(params).expect("reads");
        measure(target, &spec, &Deadline::new(Seconds(20.0), &flag))
    })
}

/// Reads a line.
pub fn read_line(stream: &mut TcpStream) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).expect("reads") == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text")
}
