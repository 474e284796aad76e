use super::*;
use crate::wire::times::TIMES_WITH_CALLS;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// A port in memory that loses every `loses`th frame.
struct MockPort {
    out: Sender<Vec<u8>>,
    into: Receiver<Vec<u8>>,
    loses: usize,
    sent: usize,
}

fn wire(loses: usize) -> (MockPort, MockPort) {
    let ((a, b), (c, d)) = (channel(), channel());
    (MockPort { out: a, into: d, loses, sent: 0 }, MockPort { out: c, into: b, loses: 0, sent: 0 })
}

impl Port for MockPort {
    fn open(_: &Path, _: usize, _: Option<Duration>) -> Result<Self, Fault> {
        Err(Fault::usage("made in pairs"))
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        (vec![7; size], 10)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.sent += 1;
        if self.loses > 0 && self.sent.is_multiple_of(self.loses) {
            return Ok(());
        }
        self.out.send(frame.to_vec()).map_err(|_| ErrorKind::BrokenPipe.into())
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let frame = self.into.try_recv().map_err(|e| match e {
            TryRecvError::Empty => ErrorKind::WouldBlock,
            TryRecvError::Disconnected => ErrorKind::BrokenPipe,
        })?;
        into[..frame.len()].copy_from_slice(&frame);
        Ok(frame.len())
    }
}

fn limits(most: usize) -> MeasureLimits {
    MeasureLimits::new(Duration::from_millis(500), most, true)
}

#[test]
fn every_message_of_one_thread_is_timed() {
    let (first, second) = wire(0);
    let result = time_in_one_thread(first, second, 64, limits(1 << 24)).expect("runs");
    assert_eq!((result.times.len() as u64, result.lost), (result.received, 0));
    assert!(result.received > 0 && result.cost > 0.0 && result.times.iter().any(|time| *time > 0));
}

#[test]
fn every_call_is_timed() {
    let (first, second) = wire(4);
    let result = time_calls_in_one_thread(first, second, 64, limits(1 << 24)).expect("runs");
    assert_eq!(result.times.len() as u64, result.received * TIMES_WITH_CALLS as u64);
    assert!(result.received > 0 && result.lost > 0, "{result:?}");
}

#[test]
fn lost_messages_are_counted_and_not_timed() {
    let (first, second) = wire(5);
    let result = time_in_one_thread(first, second, 64, limits(1 << 24)).expect("runs");
    assert_eq!(result.times.len() as u64, result.received);
    assert_eq!(result.lost, (result.received + result.lost) / 5, "every fifth");
}

#[test]
fn both_directions_are_timed_between_two() {
    let (first, second) = wire(0);
    let server = thread::spawn(move || return_messages(second, 64).expect_err("ends when the wire does"));
    let result = time_round_trips(first, 64, limits(1 << 24)).expect("runs");
    // One may count as lost while other threads have the processors.
    assert!(result.received > 0);
    assert_eq!(result.times.len() as u64, 2 * result.received);
    assert!(server.join().is_ok_and(|fault| fault.message.contains("wire")));
}
