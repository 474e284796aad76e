//! What a group truly needs: it is shrunk step by step, until what is pushed out comes back.
//!
//! The counted working set ([`Numbers`](crate::Numbers)) has what the kernel keeps on its list of active pages, which
//! depends on its history. This one is observed. It has what is used within a window; what is used less often is pushed
//! out, and is not seen to be needed.

mod estimate;
mod push;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::reading::{PAGE, keyed};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::cannot;
use crosstalk_host::{Launcher, Ledger};
use serde::Serialize;

use crate::name::GroupName;
use crate::standing::{Existence, Standing, standing};
pub use estimate::Stop;
use estimate::{Step, bracket, step_size, stop};
use push::{Count, Pusher, count};

/// How many windows to wait after a step: the kernel takes a page for one in use at its second use, so that pages in
/// use are used twice before the next step.
const USES: u32 = 2;
/// How often a wait checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Groups that are to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingSetRequest {
    /// Which ones, each with those in it. Empty: all that hold no other one.
    pub names: Vec<GroupName>,
    /// Pages that are used at least once in this time are needed.
    pub window: Duration,
}

/// What a group needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingSet {
    /// The group.
    pub name: GroupName,
    /// What it had before.
    pub memory: Bytes,
    /// What was pushed out and stayed out.
    pub unused: Bytes,
    /// The least that it needs.
    pub low: Bytes,
    /// The most that it needs: with so much nothing else came back.
    pub high: Bytes,
    /// Pages that came back since they were pushed out.
    pub refaults: u64,
    /// The largest share of a step in which some task waited for memory, beyond what it did before.
    pub waiting: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Why it ended.
    pub stopped: Stop,
}

/// Measures what groups need, all at the same time. It ends early if `interrupted` is set. Nothing stays changed.
///
/// # Errors
/// A usage fault if there is no such group, or one is in another one; an environment fault if this user may not, or a group
/// has no memory controller or goes, or no thread can be started: `interrupted` is then set.
pub fn working_sets(
    request: &WorkingSetRequest,
    launcher: &Launcher,
    interrupted: &AtomicBool,
) -> Result<Vec<WorkingSet>, Fault> {
    let groups = chosen(&request.names)?;
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let ledger = Ledger::open(launcher)?;
    thread::scope(|scope| {
        let mut running = Vec::new();
        for one in &groups {
            let ledger = ledger.clone();
            let work = move || measure(one, request.window, &ledger, interrupted);
            let started = thread::Builder::new().name("working set".into()).spawn_scoped(scope, work);
            running.push(started.map_err(|e| {
                // Those that run need not go on.
                interrupted.store(true, Ordering::SeqCst);
                cannot("start a thread", &e)
            })?);
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // All are waited for, also if one fails.
        running.into_iter().map(join).collect::<Vec<_>>().into_iter().collect()
    })
}

fn measure(
    one: &Standing,
    window: Duration,
    ledger: &Ledger,
    interrupted: &AtomicBool,
) -> Result<WorkingSet, Fault> {
    let at = |fault: Fault| fault.at(one.name.to_string());
    let (began, pusher) = (Instant::now(), Pusher::new(&one.group).map_err(at)?);
    let swaps = swaps();
    let count = || count(&one.group, swaps).map_err(at);
    let before = count()?;
    let time = window * USES;
    let mut goes_on = wait(time, interrupted);
    let mut earlier = count()?;
    let start = earlier.holding;
    let (size, usual) = (step_size(start), Usual::between(&before, &earlier));
    let mut steps: Vec<Step> = Vec::new();
    let stopped = loop {
        if !goes_on {
            break Stop::Interrupted;
        }
        if usual.back >= size / 2 {
            break Stop::Short;
        }
        if let Some(stop) = stop(start, size, &steps) {
            break stop;
        }
        let (at, pushed) = (Instant::now(), pusher.push(size, ledger).map_err(at)?);
        goes_on = wait(time, interrupted);
        let now = count()?;
        steps.push(usual.step(&earlier, &now, pushed, at.elapsed()));
        earlier = now;
    };
    let (low, high) = bracket(start, &steps);
    let sum = |of: fn(&Step) -> u64| steps.iter().map(of).sum::<u64>();
    let (pushed, back) = (sum(|step| step.pushed), sum(|step| step.back));
    Ok(WorkingSet {
        name: one.name.clone(),
        memory: Bytes(start.memory),
        unused: Bytes(pushed.saturating_sub(back)),
        low,
        high,
        refaults: back / PAGE,
        waiting: steps.iter().map(|step| step.waiting).fold(0.0, f64::max),
        seconds: began.elapsed().as_secs_f64(),
        stopped,
    })
}

/// What happens in a window while nothing is pushed out.
struct Usual {
    /// Bytes that come back.
    back: u64,
    /// Seconds in which some task waits for memory.
    waited: f64,
}

impl Usual {
    fn between(before: &Count, after: &Count) -> Usual {
        Usual {
            back: after.back.saturating_sub(before.back),
            waited: (after.waited - before.waited).max(0.0),
        }
    }

    /// What a step did beyond that.
    fn step(&self, before: &Count, after: &Count, pushed: u64, time: Duration) -> Step {
        let now = Usual::between(before, after);
        Step {
            pushed,
            back: now.back.saturating_sub(self.back),
            waiting: (now.waited - self.waited).max(0.0) / time.as_secs_f64(),
            after: after.holding,
        }
    }
}

/// Whether the kernel has a place for anonymous pages.
fn swaps() -> bool {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    keyed(&meminfo, "SwapFree").is_some_and(|kib| kib > 0)
}

/// Waits. Returns false if it was interrupted.
fn wait(time: Duration, interrupted: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if interrupted.load(Ordering::SeqCst) {
            return false;
        }
        thread::sleep(POLL_INTERVAL.min(until.saturating_duration_since(Instant::now())));
    }
    true
}

/// The groups of these names. None is in another one.
fn chosen(names: &[GroupName]) -> Result<Vec<Standing>, Fault> {
    let mut all = standing(None)?;
    let holders: Vec<GroupName> = all.iter().filter_map(|one| one.name.parent()).collect();
    if names.is_empty() {
        all.retain(|one| !holders.contains(&one.name) && one.existence() == Existence::Whole);
        return Ok(all);
    }
    for name in names {
        standing(Some(name))?;
        if let Some(other) = names.iter().find(|other| name.is_in(other)) {
            return Err(Fault::usage(format!("it is in `{other}`: each would push out the other's pages"))
                .at(name.to_string())
                .remedy("measure one after the other"));
        }
    }
    all.retain(|one| names.contains(&one.name));
    Ok(all)
}
