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

    /// Asks for so many bytes, for no more than there were; with `None` for what was found.
    pub(super) fn set(&self, bytes: Option<u64>) {
        let bytes = bytes.filter(|bytes| *bytes < self.was);
        let mut asked = lock(&self.asked.0);
        if asked.bytes != bytes {
            (asked.bytes, asked.settled) = (bytes, false);
            self.asked.1.notify_one();
        }
    }

    /// Whether memory is still being taken: whoever goes on meanwhile has it again at once.
    pub(super) fn is_taking(&self) -> bool {
        let asked = lock(&self.asked.0);
        asked.bytes.is_some() && !asked.settled
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
