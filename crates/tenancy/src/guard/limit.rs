//! A limit of memory that comes down step by step, set by a thread of its own: whoever writes it takes
//! the pages himself, and has to wait for some seconds where hundreds of MiB are to be swapped out.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::control::Control;
use super::steady::Steady;
use crate::group::reading::number;
use crate::group::{Dial, Setting};

/// So many bytes are taken in a step: a tenth of a second where they are swapped out.
const STEP: u64 = 16 << 20;
/// What was refused is tried again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The limit. Dropping it puts back what was there.
#[derive(Debug)]
pub(super) struct Limit {
    asked: Arc<(Mutex<Asked>, Condvar)>,
    /// What it was when it was found; all there is where nothing held it.
    was: u64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Asked {
    bytes: Option<u64>,
    /// Whether that holds by now, or cannot be had.
    settled: bool,
    /// Whether pages have to go for that.
    takes: bool,
    /// The limit that stands by now, if one does.
    stands: Option<u64>,
    over: bool,
    complaint: Option<Fault>,
}

/// What the thread has to itself.
struct Taker {
    control: Control<u64>,
    usage: Option<Steady>,
    soft: bool,
}

impl Limit {
    /// One that is as it was found, of a group that uses what `usage` says; `soft` where more slows it
    /// down instead of killing it.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub(super) fn new(dial: Dial, usage: Option<Steady>, soft: bool) -> Result<Self, Fault> {
        let was = dial.was().trim().parse().unwrap_or(u64::MAX);
        let asked = Arc::new((Mutex::new(Asked { settled: true, ..Asked::default() }), Condvar::new()));
        let taker = Taker { control: Control::new(dial), usage, soft };
        let shared = Arc::clone(&asked);
        let thread = thread::Builder::new().name("memory".into()).spawn(move || taker.work(&shared));
        let thread = thread.map_err(|e| Fault::environment(format!("cannot begin a thread: {e}")))?;
        Ok(Limit { asked, was, thread: Some(thread) })
    }

    /// Asks for so many bytes, for no more than there were; with `None` for what was found. `has` is what
    /// the group had when that was last looked at: a limit above it takes nothing.
    pub(super) fn set(&self, bytes: Option<u64>, has: u64) {
        let bytes = bytes.filter(|bytes| *bytes < self.was);
        let mut asked = lock(&self.asked.0);
        if asked.bytes != bytes {
            let least = has.min(asked.stands.unwrap_or(u64::MAX));
            asked.takes = bytes.is_some_and(|bytes| bytes < least);
            (asked.bytes, asked.settled) = (bytes, false);
            self.asked.1.notify_one();
        }
    }

    /// Whether memory is still being taken: whoever goes on meanwhile has it again at once.
    pub(super) fn is_taking(&self) -> bool {
        let asked = lock(&self.asked.0);
        asked.takes && !asked.settled
    }

    /// Whether any is asked for.
    pub(super) fn is_asked(&self) -> bool {
        lock(&self.asked.0).bytes.is_some()
    }

    /// What could not be done since this was last asked.
    pub(super) fn complaint(&self) -> Option<Fault> {
        lock(&self.asked.0).complaint.take()
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        lock(&self.asked.0).over = true;
        self.asked.1.notify_one();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has put its knob back, too.
            let _ = thread.join();
        }
    }
}

impl Taker {
    fn work(mut self, shared: &(Mutex<Asked>, Condvar)) {
        let (asked, changed) = shared;
        let mut now = lock(asked);
        while !now.over {
            if now.settled {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let bytes = now.bytes;
            drop(now);
            let next = bytes.map(|bytes| self.step(bytes));
            let soft = self.soft;
            let limit = |bytes| {
                let bytes = Some(Bytes(bytes));
                if soft { Setting::MemoryHigh(bytes) } else { Setting::MemoryMax(bytes) }
            };
            let done = self.control.set(next, limit);
            let (holds, refused) = (self.control.at() == bytes, self.control.at() != next);
            now = lock(asked);
            now.stands = self.control.at();
            now.complaint = done.err().or(now.complaint.take());
            if now.bytes == bytes {
                // What it cannot be made to give it keeps for now.
                now.settled = holds || refused;
            }
            if refused && !now.over {
                now = changed.wait_timeout(now, AGAIN).unwrap_or_else(PoisonError::into_inner).0;
                now.settled = self.control.at() == now.bytes;
            }
        }
    }

    /// The next limit on the way down to `bytes`.
    fn step(&mut self, bytes: u64) -> u64 {
        let has = self.usage.as_mut().and_then(|file| file.told(number)).unwrap_or(bytes);
        bytes.max(has.saturating_sub(STEP))
    }
}

fn lock(asked: &Mutex<Asked>) -> MutexGuard<'_, Asked> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_host::{Launcher, Ledger};
    use std::path::Path;
    use std::time::Instant;

    const MIB: u64 = 1 << 20;

    /// A ledger whose reaper only begins.
    fn ledger() -> Ledger {
        let args = vec!["-c".into(), "printf +; cat > /dev/null".into()];
        Ledger::open(&Launcher { program: "sh".into(), args }).expect("a ledger")
    }

    /// A group of plain files that has so many MiB, whatever its limit says.
    fn limited(folder: &Path, has: u64, ledger: &Ledger) -> Limit {
        std::fs::write(folder.join("memory.high"), "max\n").expect("writes");
        std::fs::write(folder.join("memory.current"), format!("{}\n", has * MIB)).expect("writes");
        let group = crate::group::Group::new([(String::new(), folder.to_path_buf())].into());
        let dial = group.knob(&Setting::MemoryHigh(None), ledger).expect("is offered");
        Limit::new(dial, Steady::open(&folder.join("memory.current")), true).expect("begins")
    }

    fn settles(limit: &Limit) {
        let until = Instant::now() + Duration::from_secs(20);
        while !lock(&limit.asked.0).settled {
            assert!(Instant::now() < until, "it never settles");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_is_given_back_takes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ledger = ledger();
        let limit = limited(folder.path(), 460, &ledger);
        limit.set(Some(450 * MIB), 460 * MIB);
        assert!(limit.is_taking());
        settles(&limit);
        assert!(!limit.is_taking());
        for mib in [460, 500, 900] {
            limit.set(Some(mib * MIB), 455 * MIB);
            assert!(!limit.is_taking(), "{mib}");
            settles(&limit);
        }
        limit.set(Some(800 * MIB), 455 * MIB);
        assert!(!limit.is_taking(), "it has less than that");
        limit.set(Some(300 * MIB), 455 * MIB);
        assert!(limit.is_taking());
        limit.set(None, 455 * MIB);
        assert!(!limit.is_taking());
    }
}
