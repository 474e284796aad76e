//! Programs that wait until they are in their group. Each continues after a time, whether it is there or not.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_host::starts::PendingStart;

/// Starts by process. Several threads of one may start programs at once; one of them will be the process's.
#[derive(Debug, Default)]
pub struct Waiting(Mutex<HashMap<u32, Starts>>);

type Starts = (Instant, Vec<PendingStart>);

impl Waiting {
    /// Lets a start wait, which was read at that time.
    pub fn add(&self, start: PendingStart, since: Instant) {
        self.lock().entry(start.pid()).or_insert_with(|| (since, Vec::new())).1.push(start);
    }

    /// Whether a program of that process waits.
    pub fn has(&self, pid: u32) -> bool {
        self.lock().contains_key(&pid)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Lets the process continue. Returns how long it has waited; `None` if it has continued before.
    pub fn release(&self, pid: u32) -> Option<Duration> {
        self.lock().remove(&pid).map(|(since, _)| since.elapsed())
    }

    /// Lets those continue that have waited so long. Returns them.
    pub fn release_after(&self, longest: Duration) -> Vec<u32> {
        let mut waiting = self.lock();
        let over: Vec<u32> = waiting
            .iter()
            .filter(|(_, (since, _))| since.elapsed() >= longest)
            .map(|(pid, _)| *pid)
            .collect();
        over.iter().for_each(|pid| drop(waiting.remove(pid)));
        over
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Starts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
