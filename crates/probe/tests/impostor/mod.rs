//! Serving ends that are not quite one: written from the protocol alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_probe::Until;
use crosstalk_probe::latency::{Outcome, Spec, measure};

/// The version of the conversation that these ends speak.
pub const VERSION: u32 = 4;

/// What is measured against an end of which `upon` gets the connection of control after the
/// greeting, and what was asked.
#[allow(dead_code, reason = "not every test file asks for it")]
pub fn impostor_with(
    params: &Params,
    upon: impl FnOnce(&TcpListener, &mut TcpStream) + Send,
) -> Result<Vec<Outcome>, Fault> {
    impostor_of(VERSION, "null", params, |listener, control| {
        read_line(control);
        upon(listener, control);
    })
}

/// Against one that greets with this version of the conversation, and this name (in JSON) of its
/// clock.
pub fn impostor_of(
    version: u32,
    clock: &str,
    params: &Params,
    upon: impl FnOnce(&TcpListener, &mut TcpStream) + Send,
) -> Result<Vec<Outcome>, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut control, _) = listener.accept().expect("comes");
            read_line(&mut control);
            writeln!(control, "{{\"answer\":\"hello\",\"version\":{version},\"clock\":{clock}}}")
                .expect("greets");
            upon(&listener, &mut control);
        });
        let flag = AtomicBool::new(false);
        let spec = Spec::from_params(params).expect("reads");
        measure(target, &spec, &Until::new(Seconds(20.0), &flag))
    })
}

/// What was said, up to the end of the line.
pub fn read_line(stream: &mut TcpStream) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).expect("reads") == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text")
}
