//! A TCP connection from which whole buffers are read, as iperf3 does, as long as they arrive fast.

use rustix::net::{RecvFlags, recv};
use std::io::{self, Read};
use std::net::TcpStream;

use crate::clock;

/// The longest time that a whole buffer may be expected to take, in nanoseconds. Bytes count when the read returns:
/// as much later, and where a fast sender pauses, once by the socket's time limit.
const LONGEST_WAIT: u64 = 1_000_000;

/// Reads whole buffers (`MSG_WAITALL`, recv(2)) where the last bytes came so fast that a buffer fills soon.
///
/// A receiver that takes what there is sleeps and is woken more often. The sender's processor wakes it, which in a
/// virtual machine takes long.
pub struct Whole {
    socket: TcpStream,
    waits: bool,
}

impl Whole {
    /// Reads from `socket`.
    pub fn of(socket: TcpStream) -> Self {
        Self { socket, waits: false }
    }
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = clock::now();
        let flags = if self.waits { RecvFlags::WAITALL } else { RecvFlags::empty() };
        let size = buffer.len() as u64;
        let received = recv(&self.socket, buffer, flags).map(|(n, _)| n);
        self.waits = received.is_ok_and(|n| fills_soon(n as u64, size, clock::now() - begin));
        Ok(received?)
    }
}

/// Whether at the pace of `received` bytes in `ns` nanoseconds a buffer of `size` bytes fills soon enough.
fn fills_soon(received: u64, size: u64, ns: u64) -> bool {
    u128::from(ns) * u128::from(size) < u128::from(LONGEST_WAIT) * u128::from(received)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn a_buffer_fills_soon_at_half_a_gigabit_a_second_and_not_below() {
        assert!(fills_soon(65536, 65536, LONGEST_WAIT - 1));
        assert!(!fills_soon(65536, 65536, LONGEST_WAIT));
        assert!(fills_soon(1448, 65536, 22_000));
        assert!(!fills_soon(1448, 65536, 23_000));
        assert!(!fills_soon(0, 65536, 0));
    }

    /// What is left at the end, or when the sender pauses, is read, too.
    #[test]
    fn every_byte_is_read_whatever_was_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let mut sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
        let (socket, _) = listener.accept().expect("accepts");
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("sets");
        let mut whole = Whole { socket, waits: true };
        let mut buffer = vec![0; 65536];
        sender.write_all(&[1; 1000]).expect("sends");
        assert_eq!(whole.read(&mut buffer).expect("a part, after the time limit"), 1000);
        assert!(!whole.waits, "a slow sender is not waited for");
        whole.waits = true;
        sender.write_all(&[2; 3000]).expect("sends");
        drop(sender);
        assert_eq!(whole.read(&mut buffer).expect("what is left"), 3000);
        assert_eq!(whole.read(&mut buffer).expect("the end"), 0);
    }
}
