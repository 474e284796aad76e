//! Any other node's part: it has a worker run, and watches it.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::daemon;
use super::driver::died;
use super::found::Found;
use super::session::{keep_only, keep_worker, take_worker};
use super::words::{Wanted, Word};
use crosstalk_work::peer::barrier::join;
use crosstalk_work::peer::socket::gone;
use crosstalk_work::peer::{Line, Until};
use crosstalk_work::program::Program;

/// How often a worker is looked after.
const GLANCE: Duration = Duration::from_millis(20);

/// Runs the worker that node 0 asks for, until node 0 says it is over.
pub fn run(part: &Part, found: &Found, chief: SocketAddr, until: &Until) -> Result<(), Fault> {
    let mut line = join(chief, part.node, until)?;
    let wanted = match line.hear(until)? {
        Some(Word::Work(wanted)) => wanted,
        // Node 0 found a fault before it needed a worker, and tells it.
        Some(Word::End) => return Ok(()),
        _ => return Err(gone(chief).at("node 0")),
    };
    match worker(part, found, &wanted).and_then(|worker| watch(worker, &mut line, until)) {
        Ok(worker) => {
            keep_worker(wanted.id, worker);
            Ok(())
        }
        Err(fault) => {
            // Node 0 may be gone already: then it needs no reason.
            let _ = line.say(&Word::Failed { reason: fault.message.clone() });
            Err(fault)
        }
    }
}

fn worker(part: &Part, found: &Found, wanted: &Wanted) -> Result<Program, Fault> {
    keep_only(&wanted.kept);
    if let Some(worker) = take_worker(&wanted.id) {
        return Ok(worker);
    }
    let address = part.addresses.get(part.node).copied();
    let address = address.ok_or_else(|| Fault::attempt(format!("node {} has no address", part.node)))?;
    let folder = wanted.folder.join(format!("worker-{}", part.node));
    daemon::worker(found, address, &folder, &wanted.master, (wanted.cores, wanted.mebibytes))
}

/// Until node 0 says it is over; a fault where the worker ends before.
fn watch(worker: Program, line: &mut Line, until: &Until) -> Result<Program, Fault> {
    while !line.stirs() {
        until.check("the attempt to end")?;
        if !worker.is_running() {
            return Err(died("Spark's worker", &worker));
        }
        thread::sleep(GLANCE);
    }
    match line.hear(until)? {
        Some(Word::End) => Ok(worker),
        _ => Err(gone(line.peer()).at("node 0")),
    }
}
