//! A TCP connection through io_uring(7): sends and receives are submitted to the kernel
//! in one system call, and their results are read from memory.

use io_uring::{IoUring, opcode, types};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Bytes of one send or receive at most.
const BUFFER: usize = 64 << 10;
/// Entries of the ring: at most one receive and one send are under way.
const ENTRIES: u32 = 4;
/// The user data of a receive and of a send.
const RECEIVE: u64 = 1;
const SEND: u64 = 2;
/// How long dropping waits for operations under way.
const DROP_TIMEOUT: Duration = Duration::from_secs(1);

/// A TCP connection that is read and written with io_uring. Reads and writes sleep at most
/// `max_sleep`, and never if that is `None`. Both fail with [`ErrorKind::WouldBlock`] if nothing
/// could be done.
pub struct Uring {
    ring: IoUring,
    socket: TcpStream,
    max_sleep: Option<Duration>,
    buffers: Buffers,
    /// The part of the inbox that was received and not read yet.
    received: Range<usize>,
    /// Whether a receive is under way: the kernel may write to the inbox.
    receiving: bool,
    /// The part of the outbox that is not sent yet: the kernel may read it.
    sending: Range<usize>,
    /// Whether the peer has closed its side.
    ended: bool,
    /// Whether entries were pushed and not submitted yet.
    queued: bool,
}

/// The memory that the kernel writes and reads.
struct Buffers {
    inbox: Box<[u8]>,
    outbox: Box<[u8]>,
}

/// Checks whether io_uring can be used here.
///
/// # Errors
/// If the kernel is too old, or io_uring is disabled.
pub fn check_available() -> io::Result<()> {
    let ring = IoUring::new(ENTRIES)?;
    match ring.params().is_feature_ext_arg() {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::Unsupported,
            "the kernel has no deadlines for io_uring (Linux 5.11 has)",
        )),
    }
}

impl Uring {
    /// A connection over a connected socket.
    ///
    /// # Errors
    /// As [`check_available`].
    pub fn new(socket: TcpStream, max_sleep: Option<Duration>) -> io::Result<Self> {
        // A receive on a non-blocking socket would fail instead of waiting.
        socket.set_nonblocking(false)?;
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        Ok(Uring {
            ring: IoUring::new(ENTRIES)?,
            socket,
            max_sleep,
            buffers: Buffers { inbox: buffer(), outbox: buffer() },
            received: 0..0,
            receiving: false,
            sending: 0..0,
            ended: false,
            queued: false,
        })
    }

    /// The connection's socket.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Queues a receive, unless one is under way.
    fn receive(&mut self) -> io::Result<()> {
        if self.receiving {
            return Ok(());
        }
        let (at, length) = (self.buffers.inbox.as_mut_ptr(), self.buffers.inbox.len() as u32);
        let entry =
            opcode::Recv::new(types::Fd(self.socket.as_raw_fd()), at, length).build().user_data(RECEIVE);
        self.push(&entry)?;
        self.receiving = true;
        Ok(())
    }

    /// Queues a send of the part of the outbox in `sending`.
    fn send(&mut self) -> io::Result<()> {
        let bytes = &self.buffers.outbox[self.sending.clone()];
        let fd = types::Fd(self.socket.as_raw_fd());
        let entry = opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32)
            // All of it at once, from Linux 5.19 on. Else the rest is sent by a further send.
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(SEND);
        self.push(&entry)
    }

    fn push(&mut self, entry: &io_uring::squeue::Entry) -> io::Result<()> {
        // SAFETY: what the entry names stays valid until its completion is seen: the socket is
        // closed, and the buffers are freed, only by the drop, which waits for that or leaks
        // them; and no buffer is touched while `receiving` or `sending` says that the kernel may.
        unsafe { self.ring.submission().push(entry) }.map_err(|_| io::Error::other("the ring is full"))?;
        self.queued = true;
        Ok(())
    }

    /// Submits queued entries, sleeps until `want` operations have ended or `max_sleep` has passed,
    /// and takes their results.
    fn submit_and_wait(&mut self, want: usize, max_sleep: Option<Duration>) -> io::Result<()> {
        let outcome = match max_sleep {
            Some(max_sleep) => {
                let until = types::Timespec::new().sec(max_sleep.as_secs()).nsec(max_sleep.subsec_nanos());
                let arguments = types::SubmitArgs::new().timespec(&until);
                self.ring.submitter().submit_with_args(want, &arguments)
            }
            None if self.queued => self.ring.submit(),
            None => Ok(0),
        };
        match outcome {
            Ok(_) => self.queued = false,
            Err(e) if e.raw_os_error() == Some(libc::ETIME) => self.queued = false,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        self.take_results()
    }

    /// Takes the results of operations that have ended.
    fn take_results(&mut self) -> io::Result<()> {
        loop {
            let next = self.ring.completion().next();
            let Some(ended) = next else { return Ok(()) };
            let result = ended.result();
            if ended.user_data() == RECEIVE {
                self.receiving = false;
                match usize::try_from(result) {
                    Ok(0) => self.ended = true,
                    Ok(n) => self.received = 0..n,
                    Err(_) => return Err(io::Error::from_raw_os_error(-result)),
                }
                continue;
            }
            match usize::try_from(result) {
                Ok(n) => self.sending.start += n,
                Err(_) => {
                    self.sending = 0..0;
                    return Err(io::Error::from_raw_os_error(-result));
                }
            }
            if !self.sending.is_empty() {
                self.send()?;
            }
        }
    }
}

impl Read for Uring {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.received.is_empty() && !self.ended {
            self.receive()?;
            let want = 1 + usize::from(!self.sending.is_empty());
            self.submit_and_wait(want, self.max_sleep)?;
        }
        if self.received.is_empty() {
            return if self.ended { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        }
        let length = into.len().min(self.received.len());
        into[..length].copy_from_slice(&self.buffers.inbox[self.received.start..][..length]);
        self.received.start += length;
        Ok(length)
    }
}

impl Write for Uring {
    /// Sends at once if the connection never sleeps; else with the next read, write or
    /// flush, in one system call.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.sending.is_empty() {
            self.submit_and_wait(1, self.max_sleep)?;
            if !self.sending.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        let length = bytes.len().min(BUFFER);
        self.buffers.outbox[..length].copy_from_slice(&bytes[..length]);
        self.sending = 0..length;
        self.send()?;
        if self.max_sleep.is_none() {
            self.submit_and_wait(0, None)?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.sending.is_empty() {
            self.submit_and_wait(1, self.max_sleep)?;
        }
        match self.sending.is_empty() {
            true => Ok(()),
            false => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let end = Instant::now() + DROP_TIMEOUT;
        let step = Some(Duration::from_millis(100));
        while !self.sending.is_empty() && Instant::now() < end {
            if self.submit_and_wait(1, step).is_err() {
                break;
            }
        }
        // Ends a receive that is under way. It fails if the socket is closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
        while (self.receiving || !self.sending.is_empty()) && Instant::now() < end {
            let _ = self.submit_and_wait(1, step);
        }
        if self.receiving || !self.sending.is_empty() {
            // The kernel may still use the buffers: leak them.
            let empty = || Vec::new().into_boxed_slice();
            std::mem::forget(std::mem::replace(
                &mut self.buffers,
                Buffers { inbox: empty(), outbox: empty() },
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Both sides of a connection; `None` if io_uring cannot be used here.
    fn pair(max_sleep: Option<Duration>) -> Option<(Uring, Uring)> {
        if let Err(e) = check_available() {
            eprintln!("skipped: io_uring cannot be used here: {e}");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let there = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        let (here, _) = listener.accept().expect("comes");
        Some((
            Uring::new(here, max_sleep).expect("makes one"),
            Uring::new(there, max_sleep).expect("makes one"),
        ))
    }

    #[test]
    fn an_empty_connection_would_block_at_once_or_after_the_longest_sleep() {
        for max_sleep in [None, Some(Duration::from_millis(30))] {
            let Some((mut a, _b)) = pair(max_sleep) else { return };
            let began = Instant::now();
            assert_eq!(a.read(&mut [0; 8]).expect_err("empty").kind(), ErrorKind::WouldBlock);
            assert!(began.elapsed() >= max_sleep.unwrap_or_default() / 2);
        }
    }

    #[test]
    fn bytes_arrive_in_order_and_then_the_end() {
        for max_sleep in [None, Some(Duration::from_millis(100))] {
            let Some((mut a, mut b)) = pair(max_sleep) else { return };
            let sent: Vec<u8> = (0..1_000_000_usize).map(|place| (place % 251) as u8).collect();
            let found = thread::scope(|scope| {
                let sent = &sent;
                scope.spawn(move || {
                    let mut rest = &sent[..];
                    while !rest.is_empty() {
                        match a.write(rest) {
                            Ok(n) => rest = &rest[n..],
                            Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
                        }
                    }
                });
                let (mut found, mut buffer) = (Vec::new(), [0; 5000]);
                loop {
                    match b.read(&mut buffer) {
                        Ok(0) => return found,
                        Ok(n) => found.extend_from_slice(&buffer[..n]),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
                    }
                }
            });
            assert!(found == sent, "{} of {} bytes", found.len(), sent.len());
        }
    }

    #[test]
    fn a_side_with_a_receive_under_way_can_be_dropped() {
        let Some((mut a, b)) = pair(Some(Duration::from_millis(20))) else { return };
        assert!(a.read(&mut [0; 8]).is_err());
        let began = Instant::now();
        drop(a);
        assert!(began.elapsed() < DROP_TIMEOUT);
        drop(b);
    }
}
