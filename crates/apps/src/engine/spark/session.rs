//! What a node keeps of Spark between attempts: starting Java takes seconds, warming it up minutes. It ends
//! with the agent, whose processes the testbed ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::daemon::Master;
use super::driver::Driver;
use crosstalk_work::program::Program;

/// The identity of a cluster: slaves, and the cores and mebibytes of each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterKey {
    /// The user's own master, if that is used.
    pub own: Option<String>,
    pub slaves: usize,
    pub cores: usize,
    pub mebibytes: u64,
}

/// Node 0's side of a running cluster, or of an application on the user's own.
pub struct RunningCluster {
    /// A random mark of this cluster.
    pub id: String,
    pub driver: Driver,
    /// The master's address.
    pub url: String,
    /// The master's process, if it is ours.
    pub master: Option<Master>,
    /// The earlier requests.
    pub requested: BTreeSet<String>,
    /// The requests whose passes are warm.
    pub warmed: BTreeSet<String>,
}

impl RunningCluster {
    /// Whether all of it still runs.
    fn is_up(&self) -> bool {
        self.driver.is_running() && self.master.as_ref().is_none_or(|master| master.check_running().is_ok())
    }
}

static CLUSTERS: Mutex<BTreeMap<ClusterKey, RunningCluster>> = Mutex::new(BTreeMap::new());
static WORKERS: Mutex<BTreeMap<String, Program>> = Mutex::new(BTreeMap::new());

/// Takes the cluster, where it is kept and runs; the caller keeps it again on success.
pub fn take_cluster(key: &ClusterKey) -> Option<RunningCluster> {
    lock(&CLUSTERS).remove(key).filter(RunningCluster::is_up)
}

/// Ends the other applications on the user's own cluster `key`: each occupies its executors' cores even when
/// idle.
pub fn end_other_applications(key: &ClusterKey) {
    lock(&CLUSTERS).retain(|kept, _| kept == key || kept.own.is_none() || kept.own != key.own);
}

/// Keeps a cluster for the next attempt.
pub fn keep_cluster(key: ClusterKey, cluster: RunningCluster) {
    lock(&CLUSTERS).insert(key, cluster);
}

/// Takes the worker of cluster `id`, where it is kept and runs.
pub fn take_worker(id: &str) -> Option<Program> {
    lock(&WORKERS).remove(id).filter(Program::is_running)
}

/// The ids of the clusters that are kept.
pub fn kept_cluster_ids() -> Vec<String> {
    lock(&CLUSTERS).values().map(|cluster| cluster.id.clone()).collect()
}

/// Ends the workers of all other clusters than these.
pub fn keep_only_clusters(ids: &[String]) {
    lock(&WORKERS).retain(|id, _| ids.contains(id));
}

/// Ends every cluster that is kept.
pub fn end_kept_clusters() {
    lock(&CLUSTERS).clear();
    lock(&WORKERS).clear();
}

/// Keeps a worker for the next attempt.
pub fn keep_worker(id: String, worker: Program) {
    lock(&WORKERS).insert(id, worker);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked has left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
