//! The other nodes: each runs a worker, and watches it.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::daemon;
use super::driver::ended_fault;
use super::installation::Installation;
use super::messages::{Message, WorkerRequest};
use super::session::{keep_only_clusters, keep_worker, take_worker};
use crosstalk_work::peer::barrier::await_start;
use crosstalk_work::peer::socket::closed_fault;
use crosstalk_work::peer::{Deadline, Line};
use crosstalk_work::program::Program;

/// How often a worker is checked.
const POLL: Duration = Duration::from_millis(20);

/// Runs the worker that node 0 names, until node 0 ends the attempt.
///
/// # Errors
/// Where the worker cannot be started or ends too early, or node 0 has closed.
pub fn run(part: &Part, found: &Installation, node_0: SocketAddr, until: &Deadline) -> Result<(), Fault> {
    let mut line = await_start(node_0, part.node, until)?;
    let wanted = match line.receive(until)? {
        Some(Message::Work(wanted)) => wanted,
        // Node 0 has a fault and needs no worker; it reports the fault.
        Some(Message::End) => return Ok(()),
        _ => return Err(closed_fault(node_0).on(0)),
    };
    match worker(part, found, &wanted).and_then(|worker| watch(worker, &mut line, until)) {
        Ok(worker) => {
            keep_worker(wanted.id, worker);
            Ok(())
        }
        Err(fault) => {
            // Node 0 may have closed: then it needs no reason.
            let _ = line.send(&Message::Failed { reason: fault.message.clone() });
            Err(fault)
        }
    }
}

fn worker(part: &Part, found: &Installation, wanted: &WorkerRequest) -> Result<Program, Fault> {
    keep_only_clusters(&wanted.kept);
    if let Some(worker) = take_worker(&wanted.id) {
        return Ok(worker);
    }
    let address = part.addresses.get(part.node).copied();
    let address = address.ok_or_else(|| Fault::attempt(format!("node {} has no address", part.node)))?;
    let folder = wanted.folder.join(format!("worker-{}", part.node));
    daemon::start_worker(found, address, &folder, &wanted.master, (wanted.cores, wanted.mebibytes))
}

/// Waits until node 0 ends the attempt.
fn watch(worker: Program, line: &mut Line, until: &Deadline) -> Result<Program, Fault> {
    while !line.is_readable() {
        until.check("the attempt to end")?;
        if !worker.is_running() {
            return Err(ended_fault("Spark's worker", &worker));
        }
        thread::sleep(POLL);
    }
    match line.receive(until)? {
        Some(Message::End) => Ok(worker),
        _ => Err(closed_fault(line.peer()).on(0)),
    }
}
