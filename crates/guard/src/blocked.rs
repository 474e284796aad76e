//! Whether foreground work waits for something that paused background work holds: then that must run, or neither does.
//!
//! - A file lock: `/proc/locks` lists who waits behind whom (proc_locks(5)).
//! - A futex in memory that both share (futex(2)): `/proc/PID/syscall` has its address, and `maps` of both whose memory
//!   that is.
//! - Something in the kernel: the thread is in uninterruptible sleep (state D) for as long as background work is
//!   paused. A slow disk does that, too, so it is tried: background work runs for a moment, ever more rarely where
//!   that does not help.
//!
//! A FUSE server is never paused ([`serves_files`]).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::steady::Steady;

/// Background work must have been paused for so long before a wait counts; and the time between two checks.
const WAIT: Duration = Duration::from_millis(45);
/// For how long background work runs at least when it is released.
const RELEASE: Duration = Duration::from_millis(100);
/// For how long it runs for a thread in uninterruptible sleep, and the first and the longest time until that is tried
/// again.
const TRIAL: Duration = Duration::from_millis(100);
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(64)];

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// A lock of this process.
    Lock(u32),
    /// A futex in memory that is shared with this process.
    Futex(u32),
    /// Unknown: the thread is in uninterruptible sleep.
    Kernel,
}

/// The waits for paused background work.
#[derive(Debug)]
pub(super) struct Blocked {
    locks: Option<Steady>,
    /// Since when background work is to be paused.
    paused: Option<Duration>,
    checked: Duration,
    /// Until when it runs all the same.
    released: Option<Duration>,
    /// Threads that sleep, and may wait for background work: they are soon none of the busiest.
    sleepers: BTreeSet<u32>,
    /// When a thread in uninterruptible sleep may be tried again, and how long after the next.
    next: Duration,
    again: Duration,
    /// Waits for others' locks, and until when they are not looked up again.
    others: BTreeSet<(u32, String)>,
    others_until: Duration,
    /// Waits that were reported.
    reported: BTreeSet<(u32, Cause)>,
}

impl Blocked {
    /// Nobody waits yet.
    pub(super) fn new() -> Self {
        Blocked {
            locks: Steady::open(Path::new("/proc/locks")),
            paused: None,
            checked: Duration::ZERO,
            released: None,
            sleepers: BTreeSet::new(),
            next: Duration::ZERO,
            again: AGAIN[0],
            others: BTreeSet::new(),
            others_until: Duration::ZERO,
            reported: BTreeSet::new(),
        }
    }

    /// Background work runs anyway.
    pub(super) fn runs(&mut self) {
        (self.paused, self.released) = (None, None);
    }

    /// Background work is to be paused: whether it runs all the same, since foreground work waits for it. `background` are
    /// its processes; `asleep` are those of foreground work's busiest threads that sleep, each once until it runs again.
    /// A wait that is new is noted for people.
    pub(super) fn is_released(
        &mut self,
        now: Duration,
        background: impl Fn() -> Vec<u32>,
        asleep: impl FnOnce() -> Vec<u32>,
        notes: &mut Vec<String>,
    ) -> bool {
        let since = *self.paused.get_or_insert(now);
        if now >= since + WAIT && now >= self.checked + WAIT {
            self.checked = now;
            if let Some((waiter, cause)) = self.find(now, &background, asleep) {
                let time = if cause == Cause::Kernel { TRIAL } else { RELEASE };
                self.released = Some(now + time);
                if self.reported.insert((waiter, cause)) {
                    notes.push(note(waiter, cause));
                }
            }
        }
        self.released = self.released.filter(|until| now < *until);
        self.released.is_some()
    }

    fn find(
        &mut self,
        now: Duration,
        background: &dyn Fn() -> Vec<u32>,
        asleep: impl FnOnce() -> Vec<u32>,
    ) -> Option<(u32, Cause)> {
        let waits =
            self.locks.as_mut().and_then(|file| file.parsed(|text| Some(waits(text)))).unwrap_or_default();
        self.sleepers.extend(asleep());
        if waits.is_empty() && self.sleepers.is_empty() {
            return None;
        }
        let background = background();
        let is_background = |pid: u32| background.binary_search(&pid).is_ok();
        if now >= self.others_until {
            self.others.clear();
            self.others_until = now + AGAIN[0];
        }
        for Wait { waiter, holder, file } in waits.into_iter().filter(|wait| !is_background(wait.waiter)) {
            let holder = holder.filter(|holder| is_background(*holder));
            let wait = (waiter, file);
            if holder.is_none() && self.others.contains(&wait) {
                continue;
            }
            match holder.or_else(|| background.iter().copied().find(|pid| has_lock(*pid, &wait.1))) {
                Some(holder) => return Some((waiter, Cause::Lock(holder))),
                None => self.others.insert(wait),
            };
        }
        // One that was put into background work meanwhile waits for nobody else.
        let sleepers =
            std::mem::take(&mut self.sleepers).into_iter().filter(|thread| !is_background(*thread));
        let mut holds = None;
        for thread in sleepers {
            let holder = futex(thread).and_then(|address| shared_with(thread, address, &background));
            if holder.is_some() || is_uninterruptible(thread) {
                self.sleepers.insert(thread);
            }
            holds = holds.or(holder.map(|holder| (thread, Cause::Futex(holder))));
        }
        if holds.is_some() {
            return holds;
        }
        // Where it is released already, a sleep that goes on is not background work's fault.
        let thread = self.sleepers.first().copied();
        let thread = thread.filter(|_| now >= self.next && self.released.is_none())?;
        self.next = now + self.again;
        self.again = (self.again * 2).min(AGAIN[1]);
        Some((thread, Cause::Kernel))
    }
}

fn note(waiter: u32, cause: Cause) -> String {
    let name = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{} {pid}", name.trim())
    };
    match cause {
        Cause::Lock(holder) => format!(
            "{} waits for a lock of {}, which is background work: it runs until that is over",
            name(waiter),
            name(holder)
        ),
        Cause::Futex(holder) => format!(
            "{} waits in memory that it shares with {}, which is background work: it runs until that is over",
            name(waiter),
            name(holder)
        ),
        Cause::Kernel => format!(
            "{} waits for the kernel or a device since background work is paused: that runs for a moment, to see whether it helps",
            name(waiter)
        ),
    }
}

/// A process that waits for a lock on a file.
#[derive(Debug, PartialEq, Eq)]
struct Wait {
    waiter: u32,
    /// Who took the lock: the process that has it now may be another, which has inherited the open file (flock(2)).
    holder: Option<u32>,
    /// Device and inode, as the kernel writes them.
    file: String,
}

/// Of the text of `/proc/locks`, who waits. A wait for a lock of an open file (`F_OFD_SETLKW`) names nobody, and is left
/// out.
fn waits(text: &str) -> Vec<Wait> {
    let (mut holder, mut found) = (None, Vec::new());
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(1).peekable();
        let waits = words.peek() == Some(&"->");
        let pid = words.nth(if waits { 4 } else { 3 }).and_then(|word| word.parse().ok());
        match (waits, pid, words.next()) {
            (true, Some(waiter), Some(file)) => found.push(Wait { waiter, holder, file: file.into() }),
            (true, ..) => {}
            (false, ..) => holder = pid,
        }
    }
    found
}

/// Whether one of the process's open files holds a lock on that file (proc_pid_fdinfo(5)).
fn has_lock(pid: u32, file: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let locks = |text: String| {
        let mut lines = text.lines().filter(|line| line.starts_with("lock:"));
        lines.any(|line| line.split_ascii_whitespace().any(|word| word == file))
    };
    open.filter_map(|entry| fs::read_to_string(entry.path()).ok()).any(locks)
}

/// The address of a futex that the thread waits on and that other processes may wake.
fn futex(thread: u32) -> Option<u64> {
    waits_on(&fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?)
}

/// The same, of the text of `/proc/PID/syscall`: number and arguments.
fn waits_on(text: &str) -> Option<u64> {
    /// futex(2) on x86-64 and on 64-bit Arm.
    const FUTEX: &str = if cfg!(target_arch = "x86_64") { "202" } else { "98" };
    /// To wait in one of the ways there are; a private futex has another flag besides.
    const WAITS: [u64; 4] = [0, 6, 9, 13];
    const CLOCK_REALTIME: u64 = 256;
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some(FUTEX) {
        return None;
    }
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (address, operation) = (number()?, number()?);
    WAITS.contains(&(operation & !CLOCK_REALTIME)).then_some(address)
}

/// The first of these processes with which a thread shares the memory at an address.
fn shared_with(thread: u32, address: u64, others: &[u32]) -> Option<u32> {
    let maps = |pid: u32| fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let (_, file) = shared(&maps(thread)).into_iter().find(|(range, _)| range.contains(&address))?;
    others.iter().copied().find(|other| shared(&maps(*other)).iter().any(|(_, theirs)| *theirs == file))
}

/// The shared mappings of the text of `/proc/PID/maps`: addresses, and device and inode of what is mapped.
fn shared(maps: &str) -> Vec<(std::ops::Range<u64>, String)> {
    let one = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let is_shared = words.next()?.ends_with('s');
        let (_, device, inode) = (words.next()?, words.next()?, words.next()?);
        let number = |text| u64::from_str_radix(text, 16).ok();
        is_shared.then_some((number(from)?..number(to)?, format!("{device} {inode}")))
    };
    maps.lines().filter_map(one).collect()
}

fn is_uninterruptible(thread: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D'))
}

/// Whether one of these processes serves a file system of the kernel's FUSE (it has `/dev/fuse` open): whoever reads
/// there waits while it is paused.
pub(super) fn serves_files(processes: &[u32]) -> Option<u32> {
    let has_open = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == Path::new("/dev/fuse"))
    };
    processes.iter().copied().find(has_open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn who_waits_behind_whom_is_read() {
        let text = "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                    1: -> POSIX  ADVISORY  WRITE 4712 fe:00:1234 0 EOF\n\
                    1: ->  FLOCK  ADVISORY  READ 4713 fe:00:1234 0 EOF\n\
                    2: OFDLCK ADVISORY  WRITE -1 fe:00:99 0 EOF\n\
                    2: -> OFDLCK ADVISORY  WRITE -1 fe:00:99 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 5 fe:00:7 0 EOF\n";
        let wait = |waiter| Wait { waiter, holder: Some(4711), file: "fe:00:1234".into() };
        assert_eq!(waits(text), [wait(4712), wait(4713)]);
        assert!(waits("").is_empty() && waits("1:\n2: ->\n3: -> FLOCK ADVISORY READ 5").is_empty());
    }

    #[test]
    fn a_futex_that_others_may_wake_is_read() {
        let number = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
        let of =
            |operation: u64| waits_on(&format!("{number} 0x7f00 {operation:#x} 0x2 0x0 0x0 0x0 0x1 0x2"));
        assert_eq!((of(0), of(9 | 256), of(6)), (Some(0x7f00), Some(0x7f00), Some(0x7f00)));
        assert_eq!((of(128), of(1), waits_on("running"), waits_on("0 0x0 0x0")), (None, None, None, None));
    }

    #[test]
    fn memory_that_two_share_is_told_by_what_is_mapped() {
        let maps =
            "7f00-7f10 rw-s 00000000 00:01 77 /dev/zero (deleted)\n8000-8010 rw-p 00000000 fe:00 5 /bin/x\n";
        assert_eq!(shared(maps), [(0x7f00..0x7f10, "00:01 77".to_string())]);
    }

    #[test]
    fn who_has_a_lock_is_found_by_its_open_files() {
        let file = tempfile::tempfile().expect("a temporary file");
        let found = file.metadata().expect("is there");
        let device = found.dev();
        let name = format!("{:02x}:{:02x}:{}", (device >> 8) & 0xfff, device & 0xff, found.ino());
        assert!(!has_lock(std::process::id(), &name));
        file.lock().expect("locks");
        assert!(has_lock(std::process::id(), &name), "{name}");
    }
}
