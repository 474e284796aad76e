//! A limit of memory that comes down step by step, set by a thread of its own: whoever writes it takes
//! the pages himself, and has to wait for some seconds where hundreds of MiB are to be swapped out.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::spawn_thread;

use super::control::Control;
use super::steady::Steady;
use crosstalk_cgroup::group::reading::number;
use crosstalk_cgroup::group::{Dial, Setting};

/// So many bytes are taken in a step: a tenth of a second where they are swapped out.
const STEP: u64 = 16 << 20;
/// The kernel rounds a limit down to a page, which is smaller than this everywhere.
const ROUNDED: u64 = 1 << 20;
/// What was refused is tried again after so long, and what its owner has set is heeded.
const AGAIN: Duration = Duration::from_secs(1);

/// The limit. Dropping it puts back what was there.
#[derive(Debug)]
pub(super) struct Limit {
    asked: Arc<(Mutex<Asked>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Asked {
    /// What its owner lets it have; all there is where nothing holds it.
    was: u64,
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
    /// What it says since it was found, or set: whatever else it says its owner has set.
    says: Option<String>,
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
        let was = bytes(dial.was());
        let asked = Arc::new((Mutex::new(Asked { was, settled: true, ..Asked::default() }), Condvar::new()));
        let control = Control::new(dial);
        let taker = Taker { says: control.says(), control, usage, soft };
        let shared = Arc::clone(&asked);
        let thread = spawn_thread("memory", move || taker.work(&shared))?;
        Ok(Limit { asked, thread: Some(thread) })
    }

    /// Asks for so many bytes, for no more than there were; with `None` for what was found. `has` is what
    /// the group had when that was last looked at: a limit above it takes nothing.
    pub(super) fn set(&self, bytes: Option<u64>, has: u64) {
        let mut asked = lock(&self.asked.0);
        let bytes = bytes.filter(|bytes| *bytes < asked.was);
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
                now = changed.wait_timeout(now, AGAIN).unwrap_or_else(PoisonError::into_inner).0;
            }
            self.heed(&mut now);
            if now.settled {
                continue;
            }
            let bytes = now.bytes;
            drop(now);
            let next = bytes.map(|bytes| self.step(bytes));
            let done = self.set(next);
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
        self.heed(&mut now);
    }

    fn set(&mut self, to: Option<u64>) -> Result<(), Fault> {
        let soft = self.soft;
        let limit = |bytes| {
            let bytes = Some(Bytes(bytes));
            if soft { Setting::MemoryHigh(bytes) } else { Setting::MemoryMax(bytes) }
        };
        let done = self.control.set(to, limit);
        if done.is_ok() && self.control.at() == to {
            // Taking the pages takes time, in which its owner may have set it.
            let wanted = to.unwrap_or_else(|| bytes(self.control.was()));
            let says = self.control.says().filter(|says| is_that(wanted, says));
            self.says = says.or(Some(wanted.to_string()));
        }
        done
    }

    /// Leaves it to its owner, who has set it meanwhile, and asks for no more than that.
    fn heed(&mut self, asked: &mut Asked) {
        let says = self.control.says();
        let Some(theirs) = says.as_deref().filter(|_| self.says.is_some() && says != self.says) else {
            return;
        };
        asked.was = bytes(theirs);
        asked.bytes = asked.bytes.filter(|bytes| *bytes < asked.was);
        (asked.stands, asked.settled) = (None, asked.bytes.is_none());
        asked.complaint = self.control.adopt().err().or(asked.complaint.take());
        self.says = says;
    }

    /// The next limit on the way down to `bytes`.
    fn step(&mut self, bytes: u64) -> u64 {
        let has = self.usage.as_mut().and_then(|file| file.told(number)).unwrap_or(bytes);
        bytes.max(has.saturating_sub(STEP))
    }
}

/// Whether this is what a limit says that was set to so many bytes.
fn is_that(wanted: u64, says: &str) -> bool {
    let says = bytes(says);
    says <= wanted && wanted - says < ROUNDED
}

/// What a limit says; all there is where it is none.
fn bytes(says: &str) -> u64 {
    says.trim().parse().unwrap_or(u64::MAX)
}

fn lock(asked: &Mutex<Asked>) -> MutexGuard<'_, Asked> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_host::{Launcher, Ledger};
    use std::path::Path;
    use std::thread;
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
        let group = crosstalk_cgroup::group::Group::new([(String::new(), folder.to_path_buf())].into());
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
    fn what_was_written_is_known_again_and_anything_else_is_not() {
        let wanted = 450 * MIB + 5000;
        for (says, that) in
            [(wanted, true), (450 * MIB + 4096, true), (wanted + 1, false), (150 * MIB, false)]
        {
            assert_eq!(is_that(wanted, &says.to_string()), that, "{says}");
        }
        assert!(is_that(u64::MAX, "max") && !is_that(wanted, "max"));
    }

    #[test]
    fn what_its_owner_sets_meanwhile_is_neither_raised_nor_lost() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ledger, path) = (ledger(), folder.path().join("memory.high"));
        let limit = limited(folder.path(), 460, &ledger);
        let says = || std::fs::read_to_string(&path).expect("reads").trim().to_string();
        let becomes = |what: &str| {
            let until = Instant::now() + Duration::from_secs(20);
            while says() != what {
                assert!(Instant::now() < until, "{} is not {what}", says());
                thread::sleep(Duration::from_millis(1));
            }
        };
        let owner = |mib: u64| {
            std::fs::write(&path, format!("{}\n", mib * MIB)).expect("writes");
            let until = Instant::now() + Duration::from_secs(20);
            while lock(&limit.asked.0).was != mib * MIB {
                assert!(Instant::now() < until, "{mib} MiB is not heeded");
                thread::sleep(Duration::from_millis(1));
            }
        };
        let mib = |mib: u64| (mib * MIB).to_string();
        limit.set(Some(450 * MIB), 460 * MIB);
        becomes(&mib(450));
        owner(150);
        limit.set(Some(440 * MIB), 460 * MIB);
        settles(&limit);
        assert_eq!(says(), mib(150), "it is not raised");
        owner(300);
        std::fs::write(folder.path().join("memory.current"), mib(210)).expect("writes");
        limit.set(Some(199 * MIB), 210 * MIB);
        becomes(&mib(199));
        limit.set(None, 210 * MIB);
        becomes(&mib(300));
        std::fs::write(&path, mib(123)).expect("writes");
        drop(limit);
        assert_eq!(says(), mib(123), "its last word counts");
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
