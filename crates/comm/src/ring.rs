//! Shared memory between two processes, as a connection: a ring of bytes each way,
//! one writer and one reader each.
//!
//! A writer copies bytes behind the *tail* and moves it; the reader copies them
//! from behind the *head* and moves that. Both only ever grow, and each is written
//! by one side alone. Who finds nothing to do may ask again, or sleep on a futex(2)
//! which the other side wakes only where it sees that somebody sleeps.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Bytes on their way in one direction at most: small enough to stay in a
/// second-level cache.
const CAPACITY: usize = 256 << 10;

/// Where a direction's counters stand; each on cache lines of its own, in twos, as
/// processors fetch neighbours together.
const TAIL: usize = 0;
const HEAD: usize = 128;
/// Woken when there is more to read, and whether the reader sleeps.
const FILLED: [usize; 2] = [256, 260];
/// Woken when there is more room, and whether the writer sleeps.
const EMPTIED: [usize; 2] = [384, 388];
/// Whether the writer has gone.
const GONE: usize = 512;
/// Bytes of a direction's counters.
const COUNTERS: usize = 4096;
/// Bytes in all.
const SIZE: usize = 2 * (COUNTERS + CAPACITY);

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Whose writing is the first direction.
    First,
    /// The other one.
    Second,
}

/// One end of the connection.
#[derive(Debug)]
pub struct Ring {
    base: *mut u8,
    reading: Direction,
    writing: Direction,
    nap: Option<Duration>,
    other_sleeps: bool,
}

// SAFETY: the mapping stays where it is, whichever thread uses it; all that the ends
// share is read and written as the counters allow.
unsafe impl Send for Ring {}

/// One direction as this end knows it.
#[derive(Debug, Clone, Copy)]
struct Direction {
    /// Where its counters begin.
    counters: usize,
    /// Where its bytes begin.
    bytes: usize,
    /// How far this end has come: its own counter.
    own: u64,
}

/// Memory for a ring, which any process that is given the file can map.
///
/// # Errors
/// What the kernel says (memfd_create(2)).
pub fn memory() -> io::Result<OwnedFd> {
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
    /// One end of the ring in `memory`. With a `nap`, reading and writing sleep so
    /// long at most; without, they never sleep. Both end with
    /// [`ErrorKind::WouldBlock`] where nothing could be done. Where the other end
    /// sleeps, this one has to look for it and wake it.
    ///
    /// # Errors
    /// What the kernel says (mmap(2)), or a file that is no ring's.
    pub fn map(memory: impl AsFd, side: Side, nap: Option<Duration>, other_sleeps: bool) -> io::Result<Self> {
        let file = memory.as_fd();
        if File::from(file.try_clone_to_owned()?).metadata()?.len() != SIZE as u64 {
            return Err(io::Error::new(ErrorKind::InvalidData, "this is not the memory of a ring"));
        }
        // SAFETY: a new shared mapping at an address of the kernel's choice. The file is as
        // long as the mapping, and no end of ours ever cuts it.
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
        Ok(Ring { base: base.cast(), reading, writing, nap, other_sleeps })
    }

    fn word(&self, direction: Direction, offset: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, aligned to four bytes, and accessed by both ends as
        // an atomic only.
        unsafe { &*self.base.add(direction.counters + offset).cast::<AtomicU32>() }
    }

    fn counter(&self, direction: Direction, offset: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, aligned to eight bytes, and accessed by both ends as
        // an atomic only.
        unsafe { &*self.base.add(direction.counters + offset).cast::<AtomicU64>() }
    }

    /// Whether the other end has gone.
    fn gone(&self) -> bool {
        self.word(self.reading, GONE).load(Ordering::Acquire) == 1
    }

    /// Bytes to read.
    #[inline]
    fn filled(&self) -> u64 {
        self.counter(self.reading, TAIL).load(Ordering::Acquire).wrapping_sub(self.reading.own)
    }

    /// Bytes of room to write.
    #[inline]
    fn room(&self) -> u64 {
        let used = self.writing.own.wrapping_sub(self.counter(self.writing, HEAD).load(Ordering::Acquire));
        (CAPACITY as u64).saturating_sub(used)
    }

    /// Sleeps until `ready` holds, the other end rings, or the nap is over.
    fn sleep(&self, [bell, asleep]: [&AtomicU32; 2], ready: impl Fn() -> bool) {
        let Some(nap) = self.nap else { return };
        asleep.store(1, Ordering::SeqCst);
        // Between this and the other end's fence one of the two sees what the other wrote.
        fence(Ordering::SeqCst);
        let seen = bell.load(Ordering::SeqCst);
        if !ready() {
            wait(bell, seen, nap);
        }
        asleep.store(0, Ordering::Relaxed);
    }

    fn pair(&self, direction: Direction, [bell, asleep]: [usize; 2]) -> [&AtomicU32; 2] {
        [self.word(direction, bell), self.word(direction, asleep)]
    }
}

/// Wakes the other end, where it sleeps.
#[inline]
fn notify([bell, asleep]: [&AtomicU32; 2]) {
    fence(Ordering::SeqCst);
    if asleep.load(Ordering::SeqCst) == 1 {
        bell.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the word is valid for as long as the call takes, which only looks at its address.
        unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}

/// Sleeps while the word is as `seen`, for `nap` at most.
fn wait(word: &AtomicU32, seen: u32, nap: Duration) {
    let nap = libc::timespec { tv_sec: nap.as_secs() as libc::time_t, tv_nsec: nap.subsec_nanos().into() };
    // SAFETY: word and timespec are valid for as long as the call takes. However it ends, the
    // caller looks again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const nap) };
}

/// The one or two stretches of a ring that `length` bytes from `at` on are.
fn stretches(at: u64, length: usize) -> [(usize, usize); 2] {
    let from = at as usize % CAPACITY;
    let first = length.min(CAPACITY - from);
    [(from, first), (0, length - first)]
}

impl Read for Ring {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.filled() == 0 {
            if self.gone() && self.filled() == 0 {
                return Ok(0);
            }
            self.sleep(self.pair(self.reading, FILLED), || self.filled() > 0 || self.gone());
        }
        let filled = self.filled();
        if filled == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        if filled > CAPACITY as u64 {
            return Err(io::Error::new(ErrorKind::InvalidData, "the other end broke the ring"));
        }
        let length = into.len().min(filled as usize);
        let mut done = 0;
        for (from, count) in stretches(self.reading.own, length) {
            // SAFETY: the bytes lie within the mapping, and between head and tail, where the
            // writer does not write until the head has moved; `into` is this end's own.
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
            if self.gone() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            self.sleep(self.pair(self.writing, EMPTIED), || self.room() > 0 || self.gone());
        }
        let length = bytes.len().min(self.room() as usize);
        if length == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut done = 0;
        for (from, count) in stretches(self.writing.own, length) {
            // SAFETY: the bytes lie within the mapping, and behind the tail, where the reader
            // does not read until the tail has moved; `bytes` is this end's own.
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
        self.word(self.writing, GONE).store(1, Ordering::Release);
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

    const NAP: Option<Duration> = Some(Duration::from_millis(100));

    fn pair(nap: Option<Duration>) -> (Ring, Ring) {
        let memory = memory().expect("makes one");
        let end = |side| Ring::map(&memory, side, nap, nap.is_some()).expect("maps");
        (end(Side::First), end(Side::Second))
    }

    #[test]
    fn nothing_to_read_is_said_at_once_or_after_the_nap() {
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
    fn an_end_that_goes_is_the_end_of_the_stream() {
        let (mut a, mut b) = pair(NAP);
        a.write_all(b"last").expect("fits");
        drop(a);
        let mut text = String::new();
        b.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "last");
    }

    #[test]
    fn a_file_that_is_no_ring_is_refused() {
        let file = tempfile_of(100);
        assert!(Ring::map(&file, Side::First, None, false).is_err());
    }

    fn tempfile_of(length: u64) -> File {
        let file = File::from(memory().expect("makes one"));
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
            let (mut a, mut b) = pair(NAP.filter(|_| sleeps));
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
