//! The user's own program, run on every node at once.
//!
//! Each node runs the same command line. It finds the others in its environment:
//! `CROSSTALK_HOSTS` (addresses of all nodes, by number, with commas),
//! `CROSSTALK_NODE` (its own number, from 0), `CROSSTALK_NODES` (how many).
//! All start together; the attempt ends when node 0's program ends, and the
//! others are then asked to end (SIGTERM, and SIGKILL two seconds later).
//!
//! What it writes never reaches this process's standard output. The last 64 KiB
//! of each stream are kept, quoted where the program fails, and written to
//! `node-N.out` and `node-N.err` in the directory `log` where that is given.
//!
//! A program may tell a metric of its own: `metric` names it, and `pattern` finds its number in the
//! last 64 KiB of node 0's standard output. The study then decides on that one.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | node 0's program, from before its start to its end |
//! | `time_compute` | s | of the node's run time, computing; label `node` |
//! | `time_queue` | s | of it, ready to run, but no processor was free (`/proc/PID/schedstat`, at least); label `node` |
//! | `time_wait` | s | the rest of it: waiting; label `node` |
//! | `parallel_cpu_time` | s | processor time that ran in parallel beside `time_compute`; both together are all that the program and what it started used, user and system (getrusage(2)); label `node` |
//! | `sent_messages` | | messages with data that the node sent on its links while its program ran, estimated from TCP's segments; not where nodes have no links; label `node` |
//! | `sent_bytes` | B | their data, without headers; label `node` |
//! | `own_overhead` | s | of `run_time`, what starting a process takes; label `node` |
//!
//! The first three parts add up to the time that the node's program ran, also where its threads overlap:
//! `program::split` says how that is divided, and where it is exact.
//!
//! **What `time_wait` is.** The time in which no thread of the program ran or was
//! ready to run: it waited for the network, a disk, another node or a clock.
//! It does not tell these apart. Between two cells that differ only in the
//! fabric, the *change* of it is the network's. Time that the kernel spends on packets in
//! interrupts belongs to nobody's processor time and so counts as waiting.

mod argv;
mod link_counters;
mod own;
mod part;

use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing, Workload};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};

use argv::{PARAMETERS, argv, env};
use crosstalk_work::program::find_first;
use own::Own;

/// What every command tells: name, unit, which way is better.
const METRICS: [(&str, &str, Better); 8] = [
    ("run_time", "s", Better::Lower),
    ("time_compute", "s", Better::Lower),
    ("time_wait", "s", Better::Lower),
    ("time_queue", "s", Better::Neither),
    ("parallel_cpu_time", "s", Better::Neither),
    ("sent_messages", "", Better::Neither),
    ("sent_bytes", "B", Better::Neither),
    ("own_overhead", "s", Better::Neither),
];

/// Whether this machine has the program that the parameters name.
///
/// # Errors
/// A usage fault where it is not there, or may not be executed: whoever wrote the command line corrects it.
pub fn present(params: &Params) -> Result<(), Fault> {
    let found = find_first(&argv(params)?);
    found.map(drop).map_err(|fault| Fault { kind: FaultKind::Usage, ..fault })
}

/// The user's own program as a workload.
#[derive(Debug, Clone, Copy, Default)]
pub struct Command;

impl Workload for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn title(&self) -> &'static str {
        "Your own program, on every node at once"
    }

    fn parameters(&self) -> Parameters {
        PARAMETERS
    }

    fn needs(&self, _: &Params) -> Vec<Need> {
        vec![crosstalk_work::program::need()]
    }

    /// `nodes` says on how many nodes it runs; 1 when not given.
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        params.only(PARAMETERS)?;
        argv(params)?;
        env(params)?;
        params.text("log", "")?;
        params.text("prepare", "")?;
        let nodes = params.count("nodes", 1, 1)? as usize;
        let own = Own::read(params)?.map(|own| own.metric);
        let common = METRICS.map(|(name, unit, better)| Metric::new(name, unit, better));
        let metrics = own.into_iter().chain(common).collect();
        // Nothing is known of a foreign program: the first attempt will tell.
        Ok(Deployment { nodes, timing: Timing::Real, metrics, effort: Effort::waiting(1.0) })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        part::prepare(part)
    }
}
