//! Messages of this process to itself: pipes, sockets, and shared memory. Each is written, read and compared before
//! the next one.
//!
//! They go through read(2) and write(2) of the C library, as those of other programs do. A system call that the compiler
//! puts in place, such as `rustix`'s, takes less system time (`bench/aim7.py`). Why is not known: perhaps the processor
//! mispredicts the return from a function that has made one.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::shared_segment::SharedSegment;

use super::check::{cannot, expect};
use crate::user::User;

/// Sizes of messages, one after another.
const SIZES: [usize; 37] = [
    1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096, 1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096, 32, 32, 32,
    32, 32, 32, 512, 512, 512, 512, 512, 2048, 2048, 2048, 2048,
];

/// Bytes of the largest message.
const LARGEST: usize = 4096;

/// Bytes of shared memory.
const SEGMENT: usize = 65536;

/// The longest wait for a message. It has been sent before, so it waits in the kernel already.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn pipe_cpy(user: &mut User) -> Result<(), Fault> {
    let (reader, writer) = io::pipe().map_err(cannot("make a pipe"))?;
    exchange(user, 99, writer, reader)
}

pub fn stream_pipe(user: &mut User) -> Result<(), Fault> {
    let (reader, writer) = UnixStream::pair().map_err(cannot("make a pair of sockets"))?;
    exchange(user, 99, writer, reader)
}

pub fn dgram_pipe(user: &mut User) -> Result<(), Fault> {
    let (reader, writer) = UnixDatagram::pair().map_err(cannot("make a pair of sockets"))?;
    exchange(user, 99, writer, reader)
}

pub fn tcp_test(user: &mut User) -> Result<(), Fault> {
    let connect = || -> io::Result<_> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let reader = TcpStream::connect(listener.local_addr()?)?;
        let (writer, from) = listener.accept()?;
        writer.set_nodelay(true)?;
        reader.set_read_timeout(Some(PATIENCE))?;
        Ok((reader, writer, from, listener))
    };
    let (reader, writer, from, _listener) = connect().map_err(cannot("connect to itself over TCP"))?;
    let own = reader.local_addr().map_err(cannot("read the address of a connection"))?;
    // Another program could have connected first.
    expect("who has connected", from, own)?;
    exchange(user, 89, writer, reader)
}

pub fn udp_test(user: &mut User) -> Result<(), Fault> {
    let connect = || -> io::Result<_> {
        let (writer, reader) =
            (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        writer.connect(reader.local_addr()?)?;
        reader.set_read_timeout(Some(PATIENCE))?;
        Ok((writer, reader))
    };
    let (writer, reader) = connect().map_err(cannot("send to itself over UDP"))?;
    exchange(user, 99, writer, reader)
}

/// Contents of messages, each unlike the one before.
struct Messages {
    content: [u8; LARGEST],
    next: usize,
}

impl Messages {
    /// From a random size on, as AIM7 goes on where its last job ended.
    fn new(user: &mut User) -> Self {
        Messages { content: [b'm'; LARGEST], next: user.random.below(SIZES.len()) }
    }

    fn next(&mut self) -> &[u8] {
        let size = SIZES[self.next % SIZES.len()];
        self.next += 1;
        self.content[0] = self.next as u8;
        self.content[size - 1] = self.next as u8;
        &self.content[..size]
    }
}

/// Sends so many messages of various sizes through a channel, and compares what arrives.
fn exchange(
    user: &mut User,
    count: usize,
    to: impl Into<OwnedFd>,
    from: impl Into<OwnedFd>,
) -> Result<(), Fault> {
    let (mut to, mut from) = (File::from(to.into()), File::from(from.into()));
    let mut messages = Messages::new(user);
    let mut arrived = [0; LARGEST];
    for number in 0..user.scaled(count) {
        let message = messages.next();
        to.write_all(message).map_err(cannot("send a message"))?;
        let arrived = &mut arrived[..message.len()];
        from.read_exact(arrived).map_err(cannot("receive a message"))?;
        compare(number, arrived, message)?;
    }
    Ok(())
}

fn compare(number: usize, arrived: &[u8], sent: &[u8]) -> Result<(), Fault> {
    if arrived == sent {
        return Ok(());
    }
    Err(Fault::attempt(format!("message {number} of {} bytes arrived changed", sent.len())))
}

/// A semaphore that one may enter: a pipe with one byte, which who enters takes out. The kernel removes it with its
/// process; a semaphore of System V would stay after `kill -9`.
struct Semaphore {
    taken: PipeReader,
    put: PipeWriter,
}

impl Semaphore {
    fn new() -> Result<Self, Fault> {
        let (taken, put) = io::pipe().map_err(cannot("make a semaphore"))?;
        let semaphore = Semaphore { taken, put };
        semaphore.leave()?;
        Ok(semaphore)
    }

    fn enter(&self) -> Result<(), Fault> {
        (&self.taken).read_exact(&mut [0]).map_err(cannot("enter a semaphore"))
    }

    fn leave(&self) -> Result<(), Fault> {
        (&self.put).write_all(&[1]).map_err(cannot("leave a semaphore"))
    }
}

pub fn shared_memory(user: &mut User) -> Result<(), Fault> {
    let mut segment = SharedSegment::new(SEGMENT)?;
    let semaphore = Semaphore::new()?;
    let mut messages = Messages::new(user);
    let mut arrived = [0; LARGEST];
    for number in 0..user.scaled(100) {
        let message = messages.next();
        semaphore.enter()?;
        segment.write(message);
        semaphore.leave()?;
        let arrived = &mut arrived[..message.len()];
        semaphore.enter()?;
        segment.read(arrived);
        semaphore.leave()?;
        compare(number, arrived, message)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_message_is_noticed() {
        assert!(compare(3, b"abc", b"abc").is_ok());
        let fault = compare(3, b"abd", b"abc").expect_err("it differs");
        assert!(fault.message.contains("message 3"), "{fault}");
    }

    #[test]
    fn sizes_add_up_to_aim7s() {
        assert_eq!(SIZES.iter().sum::<usize>(), 26_560);
    }
}
