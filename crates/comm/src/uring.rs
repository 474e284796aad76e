//! A TCP connection through io_uring(7): what is to be sent and what is to be
//! received goes to the kernel in one system call, and what came of it is read
//! from memory.

use io_uring::{IoUring, opcode, types};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Bytes that the kernel is given at a time, each way.
const BUFFER: usize = 64 << 10;
/// One receive and one send are under way at most.
const ENTRIES: u32 = 4;
/// Which of the two has ended.
const RECEIVE: u64 = 1;
const SEND: u64 = 2;
/// How long the drop waits for what is under way.
const ENDING: Duration = Duration::from_secs(1);

/// A connection. With a nap, reading and writing sleep so long at most; without,
/// they never sleep. Both end with [`ErrorKind::WouldBlock`] where nothing could be
/// done.
pub struct Uring {
    ring: IoUring,
    socket: TcpStream,
    nap: Option<Duration>,
    buffers: Buffers,
    /// Where in the inbox lies what has not been read.
    received: Range<usize>,
    /// Whether the kernel may write to the inbox.
    receiving: bool,
    /// What of the outbox the kernel may still read.
    sending: Range<usize>,
    /// The other end sends no more.
    ended: bool,
    /// Pushed, and not yet submitted.
    queued: bool,
}

/// The memory that the kernel reads and writes.
struct Buffers {
    inbox: Box<[u8]>,
    outbox: Box<[u8]>,
}

/// Whether io_uring may be used here.
///
/// # Errors
/// What the kernel says: it may be too old, or have it forbidden.
pub fn available() -> io::Result<()> {
    let ring = IoUring::new(ENTRIES)?;
    match ring.params().is_feature_ext_arg() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::Unsupported, "it knows no deadlines (Linux 5.11 does)")),
    }
}

impl Uring {
    /// Over a connected socket.
    ///
    /// # Errors
    /// As [`available`].
    pub fn new(socket: TcpStream, nap: Option<Duration>) -> io::Result<Self> {
        // A socket that does not block would answer "not now" instead of waiting.
        socket.set_nonblocking(false)?;
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        Ok(Uring {
            ring: IoUring::new(ENTRIES)?,
            socket,
            nap,
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

    /// Asks for more bytes, unless that is under way.
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

    /// Hands what `sending` says to the kernel.
    fn send(&mut self) -> io::Result<()> {
        let bytes = &self.buffers.outbox[self.sending.clone()];
        let fd = types::Fd(self.socket.as_raw_fd());
        let entry = opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32)
            // Whole, where the kernel can (Linux 5.19): else what is left is sent by another turn.
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(SEND);
        self.push(&entry)
    }

    fn push(&mut self, entry: &io_uring::squeue::Entry) -> io::Result<()> {
        // SAFETY: what the entry names stays valid until its completion is seen: the socket is
        // closed, and the buffers are freed, only by the drop, which waits for that or leaks
        // them; and neither is touched while `receiving` or `sending` says that the kernel may.
        unsafe { self.ring.submission().push(entry) }.map_err(|_| io::Error::other("the ring is full"))?;
        self.queued = true;
        Ok(())
    }

    /// Submits what is queued, sleeps until `want` have ended or the nap is over, and takes
    /// in what has.
    fn turn(&mut self, want: usize, nap: Option<Duration>) -> io::Result<()> {
        let outcome = match nap {
            Some(nap) => {
                let until = types::Timespec::new().sec(nap.as_secs()).nsec(nap.subsec_nanos());
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
        self.take_in()
    }

    /// Takes in what has ended.
    fn take_in(&mut self) -> io::Result<()> {
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
            self.turn(want, self.nap)?;
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
    /// What is written goes out at once where it never sleeps; else with the next read,
    /// write or flush, in one system call.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.sending.is_empty() {
            self.turn(1, self.nap)?;
            if !self.sending.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        let length = bytes.len().min(BUFFER);
        self.buffers.outbox[..length].copy_from_slice(&bytes[..length]);
        self.sending = 0..length;
        self.send()?;
        if self.nap.is_none() {
            self.turn(0, None)?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.sending.is_empty() {
            self.turn(1, self.nap)?;
        }
        match self.sending.is_empty() {
            true => Ok(()),
            false => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let end = Instant::now() + ENDING;
        let step = Some(Duration::from_millis(100));
        while !self.sending.is_empty() && Instant::now() < end {
            if self.turn(1, step).is_err() {
                break;
            }
        }
        // Ends a receive that is under way; a socket that is closed already has none.
        let _ = self.socket.shutdown(Shutdown::Both);
        while (self.receiving || !self.sending.is_empty()) && Instant::now() < end {
            let _ = self.turn(1, step);
        }
        if self.receiving || !self.sending.is_empty() {
            // The kernel may still use them.
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

    /// Two ends of a connection; `None` where io_uring may not be used here.
    fn pair(nap: Option<Duration>) -> Option<(Uring, Uring)> {
        if let Err(e) = available() {
            eprintln!("skipped: io_uring may not be used here: {e}");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let there = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        let (here, _) = listener.accept().expect("comes");
        Some((Uring::new(here, nap).expect("makes one"), Uring::new(there, nap).expect("makes one")))
    }

    #[test]
    fn nothing_to_read_is_said_at_once_or_after_the_nap() {
        for nap in [None, Some(Duration::from_millis(30))] {
            let Some((mut a, _b)) = pair(nap) else { return };
            let began = Instant::now();
            assert_eq!(a.read(&mut [0; 8]).expect_err("empty").kind(), ErrorKind::WouldBlock);
            assert!(began.elapsed() >= nap.unwrap_or_default() / 2);
        }
    }

    #[test]
    fn bytes_arrive_in_order_and_the_end_is_told() {
        for nap in [None, Some(Duration::from_millis(100))] {
            let Some((mut a, mut b)) = pair(nap) else { return };
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
    fn an_end_that_waits_can_go() {
        let Some((mut a, b)) = pair(Some(Duration::from_millis(20))) else { return };
        assert!(a.read(&mut [0; 8]).is_err());
        let began = Instant::now();
        drop(a);
        assert!(began.elapsed() < ENDING);
        drop(b);
    }
}
