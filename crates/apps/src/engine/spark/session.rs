//! What a node keeps of Spark between attempts: starting Java takes seconds, and
//! minutes until it is warm. It ends with the agent, whose processes the testbed
//! ends with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::daemon::Master;
use super::driver::Driver;
use crosstalk_work::program::Program;

/// Which cluster: slaves, and the cores and mebibytes of each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The master, where it is the user's own.
    pub own: Option<String>,
    pub slaves: usize,
    pub cores: usize,
    pub mebibytes: u64,
}

/// Node 0's side of a cluster that is up, or of an application on the user's own.
pub struct Led {
    /// Tells this cluster from all others.
    pub id: String,
    pub driver: Driver,
    /// Where the master listens.
    pub url: String,
    /// The master, where it is ours.
    pub master: Option<Master>,
    /// What was asked before.
    pub asked: BTreeSet<String>,
    /// What is warm.
    pub warmed: BTreeSet<String>,
}

impl Led {
    /// Whether all of it still runs.
    fn is_up(&self) -> bool {
        self.driver.is_running() && self.master.as_ref().is_none_or(|master| master.check().is_ok())
    }
}

static LED: Mutex<BTreeMap<Key, Led>> = Mutex::new(BTreeMap::new());
static WORKERS: Mutex<BTreeMap<String, Program>> = Mutex::new(BTreeMap::new());

/// Takes the cluster out, where it is there and up: who succeeds puts it back.
pub fn take(key: &Key) -> Option<Led> {
    lock(&LED).remove(key).filter(Led::is_up)
}

/// Ends the other applications on the user's own cluster `key`: each holds the
/// cores of its executors, also while nothing runs on them.
pub fn end_others(key: &Key) {
    lock(&LED).retain(|kept, _| kept == key || kept.own.is_none() || kept.own != key.own);
}

/// Keeps a cluster for the next attempt.
pub fn keep(key: Key, led: Led) {
    lock(&LED).insert(key, led);
}

/// Takes out the worker of cluster `id`, where it is there and runs.
pub fn take_worker(id: &str) -> Option<Program> {
    lock(&WORKERS).remove(id).filter(Program::is_running)
}

/// The clusters that are kept.
pub fn ids() -> Vec<String> {
    lock(&LED).values().map(|led| led.id.clone()).collect()
}

/// Ends the workers of all other clusters than these.
pub fn keep_only(ids: &[String]) {
    lock(&WORKERS).retain(|id, _| ids.contains(id));
}

/// Ends every cluster that is kept.
pub fn close() {
    lock(&LED).clear();
    lock(&WORKERS).clear();
}

/// Keeps a worker for the next attempt.
pub fn keep_worker(id: String, worker: Program) {
    lock(&WORKERS).insert(id, worker);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked held nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
