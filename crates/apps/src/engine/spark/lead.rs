//! Node 0: it starts the cluster, sends the driver the request, and reads the answer.

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::scene::{Prepared, Sink};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use super::daemon::Master;
use super::driver::Driver;
use super::installation::{self, Installation};
use super::job::{Job, Object};
use super::messages::{Message, WorkerRequest};
use super::outcome;
use super::session::{self, ClusterKey, RunningCluster};
use super::worker;
use crate::engine::settings::Spark;
use crosstalk_work::peer::barrier::await_others;
use crosstalk_work::peer::socket::closed_fault;
use crosstalk_work::peer::{Deadline, Line, listen};
use crosstalk_work::program::fresh_mark;

/// How long workers may take to register their executors, in seconds: each starts
/// two Javas, and all may share two cores.
const PATIENCE: f64 = 90.0;

/// The least and the most heap of an executor by default, in mebibytes.
const HEAP: (u64, u64) = (512, 4096);

/// The same on the user's own cluster.
const OWN_HEAP: u64 = 1024;

/// A node that is ready to run.
struct Ready {
    part: Part,
    /// A folder that all nodes see.
    shared: PathBuf,
    found: Installation,
    settings: Spark,
    job: Job,
    listener: Option<TcpListener>,
}

/// Prepares a node for a Spark job: finds Spark, and on node 0 listens for the other nodes.
pub fn prepare(part: &Part, settings: Spark, job: Job) -> Result<Box<dyn Prepared>, Fault> {
    let found = installation::find()?;
    let shared = part.shared.clone().ok_or_else(|| {
        Fault::usage("Spark reads and writes files that all nodes must see, and these nodes share no folder")
            .remedy("run it on nodes that do (--testbed local or virtual), or with another --engine")
    })?;
    let address = part.addresses.first().ok_or_else(|| Fault::attempt("node 0 has no address"))?;
    let listener = if part.node == 0 { Some(listen((*address, 0).into())?) } else { None };
    Ok(Box::new(Ready { part: part.clone(), shared, found, settings, job, listener }))
}

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let until = Deadline::new(self.part.deadline, cancelled);
        let outcome = match &self.listener {
            Some(listener) => self.lead(listener, out, &until),
            None => {
                let node_0 = endpoints.first().copied().flatten();
                let node_0 = node_0.ok_or_else(|| Fault::attempt("node 0 does not listen"))?;
                worker::run(&self.part, &self.found, node_0, &until)
            }
        };
        until.interruption_or(outcome).map_err(|fault| fault.on(self.part.node))?;
        Ok(None)
    }
}

impl Ready {
    fn lead(&self, listener: &TcpListener, out: &mut dyn Sink, until: &Deadline) -> Result<(), Fault> {
        let mut lines = await_others(listener, self.part.nodes, until)?;
        let outcome = self.conduct(&mut lines, out, until);
        for line in &mut lines {
            // However it ended: this node reports the fault. A node that has closed needs no message.
            let _ = line.send(&Message::End);
        }
        outcome
    }

    fn conduct(&self, lines: &mut [Line], out: &mut dyn Sink, until: &Deadline) -> Result<(), Fault> {
        let key = self.key();
        session::end_other_applications(&key);
        let request = (self.job.request)(&self.shared, key.slaves * key.cores)?;
        // After a failure from here on, the cluster is not kept.
        let mut cluster = match session::take_cluster(&key) {
            Some(cluster) => {
                self.want_workers(&cluster, &key, lines)?;
                cluster
            }
            None => self.start(&key, lines, until)?,
        };
        let (answer, fresh) = self.request(&mut cluster, request, lines, until)?;
        let own = (self.job.check)(&answer, &self.shared)?;
        outcome::report_answer(&answer, own, &self.part, (key.cores, fresh), out)?;
        session::keep_cluster(key, cluster);
        Ok(())
    }

    /// The executors, by the settings and their defaults.
    fn key(&self) -> ClusterKey {
        let slaves = self.job.slaves;
        let own = self.settings.own.as_ref().map(|own| own.url.clone());
        // Other machines are unknown.
        let (cores, heap) = if own.is_some() { (1, OWN_HEAP) } else { shares(slaves) };
        ClusterKey {
            own,
            slaves,
            cores: self.settings.cores.unwrap_or(cores),
            mebibytes: self.settings.memory.map_or(heap, |bytes| bytes.0 >> 20),
        }
    }

    /// The driver's address for executors.
    fn address(&self) -> Result<IpAddr, Fault> {
        match &self.settings.own {
            None => Ok(self.part.addresses[0]),
            Some(own) => own.own_address().map_err(|e| {
                Fault::attempt(format!("cannot reach the Spark master {}: {e}", own.url))
                    .remedy("look whether the address is right, and whether a master listens there")
            }),
        }
    }

    /// The folder of cluster `id`.
    fn folder(&self, id: &str) -> PathBuf {
        self.shared.join("spark").join(id)
    }

    fn start(&self, key: &ClusterKey, lines: &mut [Line], until: &Deadline) -> Result<RunningCluster, Fault> {
        let id = fresh_mark();
        let (folder, address) = (self.folder(&id), self.address()?);
        let (url, master) = match &key.own {
            Some(url) => (url.clone(), None),
            None => {
                let master = Master::start(&self.found, address, &folder.join("master"), until)?;
                (master.url.clone(), Some(master))
            }
        };
        made(&folder)?;
        let driver = Driver::start(&self.found, &folder, address, until)?;
        let mut cluster =
            RunningCluster { id, driver, url, master, requested: BTreeSet::new(), warmed: BTreeSet::new() };
        self.want_workers(&cluster, key, lines)?;
        let open = json!({
            "do": "open",
            "master": cluster.url,
            "conf": self.conf(key, address, &folder)?,
            "keep": self.events()?,
            "executors": key.slaves,
            // Leaves it time to say what it waited for.
            "patience": PATIENCE.min(0.8 * until.time_left().as_secs_f64()),
        });
        let RunningCluster { driver, master, .. } = &mut cluster;
        driver.request(&open, until, || check(lines, master.as_ref(), until))?;
        Ok(cluster)
    }

    /// Sends every other node the worker that it is to run.
    fn want_workers(
        &self,
        cluster: &RunningCluster,
        key: &ClusterKey,
        lines: &mut [Line],
    ) -> Result<(), Fault> {
        let mut kept = session::kept_cluster_ids();
        kept.push(cluster.id.clone());
        let wanted = WorkerRequest {
            id: cluster.id.clone(),
            master: cluster.url.clone(),
            cores: key.cores,
            mebibytes: key.mebibytes,
            folder: self.folder(&cluster.id),
            kept,
        };
        lines.iter_mut().try_for_each(|line| line.send(&Message::Work(wanted.clone())))
    }

    /// The driver's answer, and whether this was the first such request.
    fn request(
        &self,
        cluster: &mut RunningCluster,
        mut request: Value,
        lines: &mut [Line],
        until: &Deadline,
    ) -> Result<(Object, bool), Fault> {
        let name = request.to_string();
        let fresh = cluster.requested.insert(name.clone());
        let most = self.settings.passes;
        // One more pass shows whether Java is warm.
        let passes = if cluster.warmed.contains(&name) { (1, 1) } else { (most.min(2), most) };
        request["passes"] = json!({ "least": passes.0, "most": passes.1 });
        let RunningCluster { driver, master, .. } = cluster;
        let answer = driver.request(&request, until, || check(lines, master.as_ref(), until))?;
        if outcome::is_warm(&answer) {
            cluster.warmed.insert(name);
        }
        Ok((answer, fresh))
    }

    /// The file with the application's event log, if there is one.
    fn events(&self) -> Result<Option<PathBuf>, Fault> {
        let events = self.part.artifacts.as_ref().map(|artifacts| artifacts.join("spark-events"));
        events.as_deref().map_or(Ok(()), made).map(|()| events)
    }

    /// Settings of the Spark application.
    fn conf(&self, key: &ClusterKey, address: IpAddr, folder: &Path) -> Result<Value, Fault> {
        let local = folder.join("local");
        made(&local)?;
        Ok(json!({
            "spark.app.name": "crosstalk",
            "spark.local.dir": local,
            "spark.executor.cores": key.cores.to_string(),
            "spark.executor.memory": format!("{}m", key.mebibytes),
            "spark.cores.max": (key.cores * key.slaves).to_string(),
            "spark.driver.host": host(address),
            "spark.driver.bindAddress": host(address),
        }))
    }
}

/// A slave's share of this machine: cores, and mebibytes of heap.
fn shares(slaves: usize) -> (usize, u64) {
    let cores = available_parallelism().map_or(1, |all| all.get().div_ceil(slaves));
    (cores, ((memory() / 8 / (slaves as u64 + 1)) >> 20).clamp(HEAP.0, HEAP.1))
}

/// As Spark writes an address.
fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn made(folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder).map_err(|e| {
        Fault::environment(format!("cannot make a folder for Spark: {e}")).at(folder.display().to_string())
    })
}

/// Checks for what could end the wait for the driver, other than its answer.
fn check(lines: &mut [Line], master: Option<&Master>, until: &Deadline) -> Result<(), Fault> {
    master.map_or(Ok(()), Master::check_running)?;
    let Some(index) = lines.iter().position(Line::is_readable) else { return Ok(()) };
    let node = index + 1;
    Err(match lines[index].receive(until)? {
        Some(Message::Failed { reason }) => Fault::attempt(reason).on(node),
        _ => closed_fault(lines[index].peer()).on(node),
    })
}

/// This machine's memory in bytes: `MemTotal` of proc(5).
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    total.and_then(|kibibytes| kibibytes.parse::<u64>().ok()).map_or(0, |kibibytes| kibibytes << 10)
}
