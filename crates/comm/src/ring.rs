//! A connection between two processes over shared memory: a ring of bytes in each
//! direction, with one writer and one reader.
//!
//! The writer copies bytes behind the *tail* and advances it. The reader copies them
//! from behind the *head* and advances that. Both counters only grow, and each is
//! written by one side only. A side that can do nothing polls, or sleeps on a futex(2).
//! The other side wakes it only if it sees that it sleeps.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// The most bytes in one direction's ring: few enough to stay in a second-level
/// cache.
const CAPACITY: usize = 256 << 10;

/// Offsets of a direction's counters. Each has two cache lines of its own, as
/// processors fetch them in pairs.
const TAIL: usize = 0;
const HEAD: usize = 128;
/// The futex that wakes the reader, and whether the reader sleeps.
const FILLED: [usize; 2] = [256, 260];
/// The futex that wakes the writer, and whether the writer sleeps.
const EMPTIED: [usize; 2] = [384, 388];
/// Whether the writer has ended.
const WRITER_GONE: usize = 512;
/// Bytes of a direction's counters.
const COUNTERS: usize = 4096;
/// Bytes of the whole memory.
const SIZE: usize = 2 * (COUNTERS + CAPACITY);

/// A side of a connection in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It writes to the first ring.
    First,
    /// It writes to the second ring.
    Second,
}

/// One side of a connection over rings in shared memory.
#[derive(Debug)]
pub struct Ring {
    base: *mut u8,
    reading: Direction,
    writing: Direction,
    /// The longest sleep of a read or a write; `None`: they never sleep.
    max_sleep: Option<Duration>,
    /// Whether the other side may sleep, and must be woken.
    other_sleeps: bool,
}

// SAFETY: the mapping stays where it is, whichever thread uses it; all that the sides
// share is read and written as the counters allow.
unsafe impl Send for Ring {}

/// One direction, from this side.
#[derive(Debug, Clone, Copy)]
struct Direction {
    /// The offset of its counters.
    counters: usize,
    /// The offset of its bytes.
    bytes: usize,
    /// This side's own counter.
    own: u64,
}

/// Creates the memory of a connection. Any process that has the file can map it.
///
/// # Errors
/// Those of memfd_create(2).
pub fn create_memory() -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string, and the call makes a new file descriptor.
    let file = unsafe { libc::memfd_create(c"crosstalk-ring".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    File::from(file.try_clone()?).set_len(SIZE as u64)?;
    Ok(file)
}

impl Ring {
    /// Maps one side of the connection in `memory`. Reads and writes sleep at most
    /// `max_sleep`, and never if that is `None`. Both fail with [`ErrorKind::WouldBlock`]
    /// if nothing could be done. `other_sleeps`: the other side may sleep, so that this
    /// one must wake it.
    ///
    /// # Errors
    /// Those of mmap(2), or if the file has another size.
    pub fn map(
        memory: impl AsFd,
        side: Side,
        max_sleep: Option<Duration>,
        other_sleeps: bool,
    ) -> io::Result<Self> {
        let file = memory.as_fd();
        if File::from(file.try_clone_to_owned()?).metadata()?.len() != SIZE as u64 {
            return Err(io::Error::new(ErrorKind::InvalidData, "this is not the memory of a ring"));
        }
        // SAFETY: a new shared mapping at an address of the kernel's choice. The file is as
        // long as the mapping, and neither side ever truncates it.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let direction =
            |n: usize| Direction { counters: n * COUNTERS, bytes: 2 * COUNTERS + n * CAPACITY, own: 0 };
        let (first, second) = (direction(0), direction(1));
        let (writing, reading) = if side == Side::First { (first, second) } else { (second, first) };
        Ok(Ring { base: base.cast(), reading, writing, max_sleep, other_sleeps })
    }

    fn word(&self, direction: Direction, offset: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, aligned to four bytes, and accessed by both sides as
        // an atomic only.
        unsafe { &*self.base.add(direction.counters + offset).cast::<AtomicU32>() }
    }

    fn counter(&self, direction: Direction, offset: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, aligned to eight bytes, and accessed by both sides as
        // an atomic only.
        unsafe { &*self.base.add(direction.counters + offset).cast::<AtomicU64>() }
    }

    /// Whether the other side has ended.
    fn is_closed(&self) -> bool {
        self.word(self.reading, WRITER_GONE).load(Ordering::Acquire) == 1
    }

    /// Bytes that can be read.
    #[inline]
    fn filled(&self) -> u64 {
        self.counter(self.reading, TAIL).load(Ordering::Acquire).wrapping_sub(self.reading.own)
    }

    /// Bytes that can be written.
    #[inline]
    fn room(&self) -> u64 {
        let used = self.writing.own.wrapping_sub(self.counter(self.writing, HEAD).load(Ordering::Acquire));
        (CAPACITY as u64).saturating_sub(used)
    }

    /// Sleeps until `ready` holds, the other side wakes it, or `max_sleep` has passed.
    fn sleep(&self, [wakeups, asleep]: [&AtomicU32; 2], ready: impl Fn() -> bool) {
        let Some(max_sleep) = self.max_sleep else { return };
        asleep.store(1, Ordering::SeqCst);
        // By this fence and the other side's, at least one side sees what the other wrote.
        fence(Ordering::SeqCst);
        let seen = wakeups.load(Ordering::SeqCst);
        if !ready() {
            wait(wakeups, seen, max_sleep);
        }
        asleep.store(0, Ordering::Relaxed);
    }

    fn pair(&self, direction: Direction, [wakeups, asleep]: [usize; 2]) -> [&AtomicU32; 2] {
        [self.word(direction, wakeups), self.word(direction, asleep)]
    }
}

/// Wakes the other side if it sleeps.
#[inline]
fn notify([wakeups, asleep]: [&AtomicU32; 2]) {
    fence(Ordering::SeqCst);
    if asleep.load(Ordering::SeqCst) == 1 {
        wakeups.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the word is valid for as long as the call takes, which only looks at its address.
        unsafe { libc::syscall(libc::SYS_futex, wakeups.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}

/// Sleeps while the word equals `seen`, at most `max_sleep`.
fn wait(word: &AtomicU32, seen: u32, max_sleep: Duration) {
    let max_sleep = libc::timespec {
        tv_sec: max_sleep.as_secs() as libc::time_t,
        tv_nsec: max_sleep.subsec_nanos().into(),
    };
    // SAFETY: word and timespec are valid for as long as the call takes. However it ends, the
    // caller checks again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const max_sleep) };
}

/// The one or two segments of a ring that contain `length` bytes from `at` on: (offset, length).
fn segments(at: u64, length: usize) -> [(usize, usize); 2] {
    let from = at as usize % CAPACITY;
    let first = length.min(CAPACITY - from);
    [(from, first), (0, length - first)]
}

impl Read for Ring {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.filled() == 0 {
            if self.is_closed() && self.filled() == 0 {
                return Ok(0);
            }
            self.sleep(self.pair(self.reading, FILLED), || self.filled() > 0 || self.is_closed());
        }
        let filled = self.filled();
        if filled == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        if filled > CAPACITY as u64 {
            return Err(io::Error::new(ErrorKind::InvalidData, "the other side broke the ring"));
        }
        let length = into.len().min(filled as usize);
        let mut done = 0;
        for (from, count) in segments(self.reading.own, length) {
            // SAFETY: the bytes lie within the mapping, and between head and tail, where the
            // writer does not write until the head has moved; `into` is this side's own.
            unsafe {
                let source = self.base.add(self.reading.bytes + from);
                std::ptr::copy_nonoverlapping(source, into[done..done + count].as_mut_ptr(), count);
            }
            done += count;
        }
        self.reading.own = self.reading.own.wrapping_add(length as u64);
        self.counter(self.reading, HEAD).store(self.reading.own, Ordering::Release);
        if self.other_sleeps {
            notify(self.pair(self.reading, EMPTIED));
        }
        Ok(length)
    }
}

impl Write for Ring {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room() == 0 {
            if self.is_closed() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            self.sleep(self.pair(self.writing, EMPTIED), || self.room() > 0 || self.is_closed());
        }
        let length = bytes.len().min(self.room() as usize);
        if length == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut done = 0;
        for (from, count) in segments(self.writing.own, length) {
            // SAFETY: the bytes lie within the mapping, and behind the tail, where the reader
            // does not read until the tail has moved; `bytes` is this side's own.
            unsafe {
                let target = self.base.add(self.writing.bytes + from);
                std::ptr::copy_nonoverlapping(bytes[done..done + count].as_ptr(), target, count);
            }
            done += count;
        }
        self.writing.own = self.writing.own.wrapping_add(length as u64);
        self.counter(self.writing, TAIL).store(self.writing.own, Ordering::Release);
        if self.other_sleeps {
            notify(self.pair(self.writing, FILLED));
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.word(self.writing, WRITER_GONE).store(1, Ordering::Release);
        notify(self.pair(self.writing, FILLED));
        notify(self.pair(self.reading, EMPTIED));
        // SAFETY: mapped by `Ring::map` with this size; no reference into it outlives `self`.
        unsafe { libc::munmap(self.base.cast(), SIZE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::thread;

    const MAX_SLEEP: Option<Duration> = Some(Duration::from_millis(100));

    fn pair(max_sleep: Option<Duration>) -> (Ring, Ring) {
        let memory = create_memory().expect("makes one");
        let end = |side| Ring::map(&memory, side, max_sleep, max_sleep.is_some()).expect("maps");
        (end(Side::First), end(Side::Second))
    }

    #[test]
    fn an_empty_ring_would_block_at_once_or_after_the_longest_sleep() {
        let (mut a, _b) = pair(None);
        assert_eq!(a.read(&mut [0; 8]).expect_err("empty").kind(), ErrorKind::WouldBlock);
        let (mut a, _b) = pair(Some(Duration::from_millis(30)));
        let began = std::time::Instant::now();
        assert_eq!(a.read(&mut [0; 8]).expect_err("empty").kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= Duration::from_millis(25));
    }

    #[test]
    fn a_full_ring_takes_no_more_until_it_is_read() {
        let (mut a, mut b) = pair(None);
        let block = vec![7; CAPACITY];
        assert_eq!(a.write(&block).expect("fits"), CAPACITY);
        assert_eq!(a.write(&[1]).expect_err("full").kind(), ErrorKind::WouldBlock);
        assert_eq!(b.read(&mut [0; 3]).expect("reads"), 3);
        assert_eq!(a.write(&block).expect("fits"), 3);
    }

    #[test]
    fn when_a_side_ends_the_stream_ends() {
        let (mut a, mut b) = pair(MAX_SLEEP);
        a.write_all(b"last").expect("fits");
        drop(a);
        let mut text = String::new();
        b.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "last");
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let file = tempfile_of(100);
        assert!(Ring::map(&file, Side::First, None, false).is_err());
    }

    fn tempfile_of(length: u64) -> File {
        let file = File::from(create_memory().expect("makes one"));
        file.set_len(length).expect("cuts it");
        file
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Every byte arrives once and in order, whatever the pieces, asleep or awake.
        #[test]
        fn bytes_arrive_in_order(
            pieces in prop::collection::vec(1_usize..100_000, 1..30),
            take in 1_usize..70_000,
            sleeps: bool,
        ) {
            let (mut a, mut b) = pair(MAX_SLEEP.filter(|_| sleeps));
            let total: usize = pieces.iter().sum();
            let byte = |place: usize| (place % 251) as u8;
            let found = thread::scope(|scope| {
                scope.spawn(|| {
                    let mut place = 0;
                    for piece in &pieces {
                        let bytes: Vec<u8> = (place..place + piece).map(byte).collect();
                        let mut rest = &bytes[..];
                        while !rest.is_empty() {
                            match a.write(rest) {
                                Ok(n) => rest = &rest[n..],
                                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
                            }
                        }
                        place += piece;
                    }
                });
                let (mut found, mut buffer) = (Vec::new(), vec![0; take]);
                while found.len() < total {
                    match b.read(&mut buffer) {
                        Ok(n) => found.extend_from_slice(&buffer[..n]),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
                    }
                }
                found
            });
            prop_assert!(found.iter().enumerate().all(|(place, found)| *found == byte(place)));
        }
    }
}
