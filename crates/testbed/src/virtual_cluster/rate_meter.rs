//! Measures the rate of a link with a short stream between two nodes.

use crosstalk_core::Fault;
use crosstalk_host::process::wait_readable;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The duration of the stream.
pub(super) const DURATION: Duration = Duration::from_millis(80);

/// Its part that is not counted, while the connection speeds up.
const WARM_UP: Duration = Duration::from_millis(20);

/// How long to wait for the peer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a full Ethernet frame, and of its payload for TCP with time stamps.
const FRAME: f64 = 1_514.0;
const PAYLOAD: f64 = 1_448.0;

/// The rate of frames, in bit/s, that carried `bytes` of payload in `seconds`.
pub(super) fn frame_rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / seconds * FRAME / PAYLOAD
}

/// Receives one stream; `listening` is called with the port. Returns the bytes and the
/// seconds between the first arrival after the warm-up and the last one.
pub(super) fn drain(listening: impl FnOnce(u16) -> Result<(), Fault>) -> Result<(u64, f64), Fault> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
    listening(listener.local_addr().map_err(failed)?.port())?;
    if !wait_readable(&[&listener], Some(TIMEOUT)).map_err(failed)?[0] {
        return Err(Fault::environment("no stream came between two nodes"));
    }
    let (mut stream, _) = listener.accept().map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    count(&mut stream).map_err(failed)
}

fn count(stream: &mut TcpStream) -> io::Result<(u64, f64)> {
    let mut buffer = vec![0; 256 << 10];
    let accepted = Instant::now();
    while accepted.elapsed() < WARM_UP && stream.read(&mut buffer)? > 0 {}
    let began = Instant::now();
    let (mut bytes, mut last) = (0, began);
    while accepted.elapsed() < DURATION {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        last = Instant::now();
    }
    Ok((bytes, (last - began).as_secs_f64().max(1e-9)))
}

/// Sends to a peer that receives, until it closes the connection or the time is over.
pub(super) fn stream(address: Ipv4Addr, port: u16, milliseconds: u64) -> Result<(), Fault> {
    let mut stream = TcpStream::connect_timeout(&(address, port).into(), TIMEOUT).map_err(failed)?;
    stream.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
    let block = vec![0; 64 << 10];
    let began = Instant::now();
    // Writing fails when the peer closes the connection.
    while began.elapsed() < Duration::from_millis(2 * milliseconds) && stream.write_all(&block).is_ok() {}
    Ok(())
}

fn failed(error: io::Error) -> Fault {
    Fault::environment(format!("the links between nodes could not be measured: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_carry_headers_too() {
        // 1,448 B in the time that 1,514 B take at 1 Gbit/s.
        let rate = frame_rate(1_448, 1_514.0 * 8.0 / 1e9);
        assert!((rate / 1e9 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_stream_is_counted() {
        let (sender, ports) = std::sync::mpsc::channel();
        let drain = std::thread::spawn(move || {
            drain(|port| sender.send(port).map_err(|e| Fault::environment(e.to_string())))
        });
        let port = ports.recv().expect("listens");
        stream(Ipv4Addr::LOCALHOST, port, 80).expect("streams");
        let (bytes, seconds) = drain.join().expect("ends").expect("counts");
        assert!(bytes > 0 && seconds > 0.0 && seconds < 1.0, "{bytes} B in {seconds} s");
    }
}
