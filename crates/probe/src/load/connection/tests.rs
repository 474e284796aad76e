use super::*;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;

/// A server that takes `per_reply` nanoseconds for each message, one after the other, and sends and
/// receives a few bytes at a time.
struct MockServer {
    per_reply: u64,
    free: u64,
    taken: Vec<u8>,
    replies: VecDeque<(u64, Vec<u8>)>,
    size: usize,
}

impl NonBlocking for MockServer {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(5);
        self.taken.extend_from_slice(&bytes[..n]);
        while self.taken.len() >= self.size {
            let rest = self.taken.split_off(self.size);
            self.free = self.free.max(clock::now()) + self.per_reply;
            self.replies.push_back((self.free, std::mem::replace(&mut self.taken, rest)));
        }
        Ok(n)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.replies.front_mut() {
            Some((at, bytes)) if *at <= clock::now() => {
                let n = bytes.len().min(into.len()).min(7);
                into[..n].copy_from_slice(&bytes[..n]);
                bytes.drain(..n);
                if bytes.is_empty() {
                    self.replies.pop_front();
                }
                Ok(n)
            }
            _ => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn is_stream(&self) -> bool {
        true
    }
}

fn line() -> (Line, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let other = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
    (Line::new(listener.accept().expect("comes").0).expect("a line"), other)
}

fn offered(per_reply: u64, gap: u64, count: u64) -> RateResult {
    let server = MockServer { per_reply, free: 0, taken: Vec::new(), replies: VecDeque::new(), size: 16 };
    let schedule: Vec<u64> = (0..count).map(|place| place * gap).collect();
    let (line, _other) = line();
    let never = AtomicBool::new(false);
    let until = Deadline::new(Seconds(60.0), &never);
    let mut connection = Connection::new(server, Bytes(16), &line);
    // Twice: a late reply of the first must not count for the second.
    connection.send_on_schedule(&schedule, Seconds(0.01), &until).expect("offers");
    connection.send_on_schedule(&schedule, Seconds(2.0), &until).expect("offers")
}

#[test]
fn a_fast_server_keeps_up() {
    // On a busy machine the client itself may be late, but not in every one of ten tries.
    let result = (0..10).map(|_| offered(20_000, 100_000, 500)).find(RateResult::kept_up).expect("keeps up");
    assert_eq!((result.latency.count(), result.lost_share()), (500, 0.0));
    assert!(result.latency.quantile(0.1).expect("some") >= 20_000.0);
}

#[test]
fn the_latency_of_a_slow_server_grows() {
    // A message every 200 µs, and 300 µs for each: message i waits i · 100 µs.
    let result = offered(300_000, 200_000, 400);
    assert!(!result.kept_up());
    assert_eq!(result.latency.count(), 400);
    // Half of the messages wait for at least 200 · 100 µs, however fast the machine is.
    let median = result.latency.quantile(0.5).expect("some");
    assert!(median >= 0.95 * 20e6, "{median} ns");
    assert!(result.achieved_rate() <= 1.01 * 1e9 / 300_000.0, "{}", result.achieved_rate());
}
