//! A node whose work is done by ranks over `comm`: it listens, its ranks are connected to all others, and run. Where a
//! node has several, each has a thread of its own.

use crosstalk_comm::{Listener, Rank, listen, listen_at};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fault::FaultKind;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::{Prepared, Sink};
use std::net::{IpAddr, SocketAddr};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::record::{recorded, title};
use super::replay::{self, Report};

/// What the only rank of a node does once it is connected, [`Rank::finish`] included.
pub type RankTask = Box<dyn FnOnce(Rank, &mut dyn Sink) -> Result<Option<Fidelity>, Fault> + Send>;

/// What each rank of a node does once it is connected, [`Rank::finish`] included.
pub type EachRankTask = Box<dyn Fn(Rank, &mut dyn Sink) -> Result<Option<Fidelity>, Fault> + Send + Sync>;

/// Groups of ports that are tried.
const TRIES: usize = 100;

/// Prepares a node that has one rank.
///
/// # Errors
/// Where it has no address, cannot listen there, or is to have several ranks.
pub fn prepare(part: &Part, task: RankTask) -> Result<Box<dyn Prepared>, Fault> {
    prepare_each(part, only(part, task)?)
}

/// Prepares a node that has one rank, whose work can be replayed ([`replay::REPLAY`]); then `report` reports it.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_or_replay(part: &Part, task: RankTask, report: Report) -> Result<Box<dyn Prepared>, Fault> {
    prepare_each_or_replay(part, only(part, task)?, report)
}

/// The task of a node's only rank.
fn only(part: &Part, task: RankTask) -> Result<EachRankTask, Fault> {
    if part.emulation.as_ref().is_some_and(|emulation| emulation.ranks_per_node > 1) {
        return Err(Fault::usage(format!("`{}` has one rank on each node", part.workload))
            .remedy("leave the condition `ranks` out"));
    }
    let task = Mutex::new(Some(task));
    Ok(Box::new(move |rank, out| match task.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(task) => task(rank, out),
        None => Err(Fault::attempt("a node's only rank runs once")),
    }))
}

/// Prepares a node whose ranks all do the same. It has as many as its emulation says; in real time, one.
///
/// # Errors
/// Where it has no address, or cannot listen there.
pub fn prepare_each(part: &Part, task: EachRankTask) -> Result<Box<dyn Prepared>, Fault> {
    Ok(Box::new(ready_to_keep(part, task)?))
}

/// As [`prepare_each`], of work that can be replayed.
///
/// # Errors
/// As [`prepare_each`].
pub fn prepare_each_or_replay(
    part: &Part,
    task: EachRankTask,
    report: Report,
) -> Result<Box<dyn Prepared>, Fault> {
    let Some(file) = replay::file(part)? else { return prepare_each(part, task) };
    let ready = ready(part, task)?;
    Ok(match &part.emulation {
        Some(emulation) if file.exists() => {
            Box::new(Recorded { node: part.node, file, emulation: emulation.clone(), report })
        }
        Some(emulation) if part.node == 0 => Box::new(ready.recording_to(title(part, emulation), file)),
        _ => Box::new(ready),
    })
}

/// A node whose first rank keeps the schedule for replays on other clusters, where that is asked for and not done yet.
fn ready_to_keep(part: &Part, task: EachRankTask) -> Result<Ready, Fault> {
    let mut ready = ready(part, task)?;
    let file = if part.node == 0 { replay::kept(part)?.filter(|file| !file.exists()) } else { None };
    if let (Some(file), Some(emulation)) = (file, &part.emulation) {
        let first = ready.listeners.remove(0).recording_to(title(part, emulation), file);
        ready.listeners.insert(0, first);
    }
    Ok(ready)
}

fn ready(part: &Part, task: EachRankTask) -> Result<Ready, Fault> {
    let address = part.addresses.get(part.node).copied();
    let address = address.ok_or_else(|| Fault::attempt(format!("node {} has no address", part.node)))?;
    let ranks = part.emulation.as_ref().map_or(1, |emulation| emulation.ranks_per_node.max(1)) as u16;
    let mut listeners = listen_on_all(address, ranks)?;
    let first = recorded(part, listeners.remove(0))?;
    listeners.insert(0, first);
    Ok(Ready { part: part.clone(), listeners, task, recorded: None })
}

/// Listens on ports that follow each other, one for each rank, so that the first one says where all are.
fn listen_on_all(address: IpAddr, ranks: u16) -> Result<Vec<Listener>, Fault> {
    let mut tries = 0;
    loop {
        let first = listen(address)?;
        let port = first.endpoint().port();
        let others = (1..ranks).map(|index| {
            let port = port.checked_add(index).ok_or_else(|| Fault::environment("no port follows 65535"))?;
            listen_at((address, port).into())
        });
        tries += 1;
        match std::iter::once(Ok(first)).chain(others).collect() {
            Err(_) if tries < TRIES => {}
            result => return result,
        }
    }
}

/// A node that listens.
struct Ready {
    part: Part,
    listeners: Vec<Listener>,
    task: EachRankTask,
    /// The file to which its schedule is recorded, for replays in other attempts.
    recorded: Option<PathBuf>,
}

impl Ready {
    fn recording_to(mut self, title: String, file: PathBuf) -> Self {
        let first = self.listeners.remove(0).recording_to(title, file.clone());
        self.recorded = Some(file);
        self.listeners.insert(0, first);
        self
    }
}

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.listeners.first().map(Listener::endpoint)
    }

    fn run(
        mut self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let Some(file) = self.recorded.take() else { return self.run_ranks(endpoints, out, cancelled) };
        let mut taken = Taken::default();
        let fidelity = self.run_ranks(endpoints, &mut taken, cancelled)?;
        // Where the attempt was recorded, its times are those of its replay. An unfaithful one stays as it was.
        let is_recorded = file.exists();
        for (mut reading, n) in taken.0 {
            if is_recorded && reading.origin == Origin::Emulated {
                reading.origin = Origin::Simulated;
            }
            out.take(reading, n)?;
        }
        Ok(fidelity)
    }
}

impl Ready {
    fn run_ranks(
        self,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let Ready { part, mut listeners, task, .. } = self;
        let ranks = listeners.len();
        if ranks == 1 {
            let only = listeners.swap_remove(0);
            return task(only.connect(&part, endpoints, cancelled)?, out);
        }
        let endpoints: Vec<_> = endpoints.iter().flat_map(|first| of_ranks(*first, ranks)).collect();
        let one = |index: usize, listener: Listener| {
            let part = Part { node: part.node * ranks + index, nodes: part.nodes * ranks, ..part.clone() };
            let mut taken = Taken::default();
            let fidelity = task(listener.connect(&part, &endpoints, cancelled)?, &mut taken)?;
            Ok((taken, fidelity))
        };
        let ended: Vec<Result<_, Fault>> = thread::scope(|scope| {
            let threads: Vec<_> = listeners
                .into_iter()
                .enumerate()
                .map(|(index, listener)| scope.spawn(move || one(index, listener)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut fidelity: Option<Fidelity> = None;
        for (Taken(readings), of_rank) in all_or_cause(ended).map_err(|fault| on_node(fault, ranks))? {
            readings.into_iter().try_for_each(|(reading, n)| out.take(reading, n))?;
            if let Some(of_rank) = of_rank {
                fidelity.get_or_insert_default().merge(of_rank);
            }
        }
        Ok(fidelity)
    }
}

/// A node whose work was done before in the run. The first one replays it for all.
struct Recorded {
    node: usize,
    file: PathBuf,
    emulation: Emulation,
    report: Report,
}

impl Prepared for Recorded {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn run(
        self: Box<Self>,
        _: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        _: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        if self.node == 0 {
            replay::replay(&self.file, &self.emulation, &self.report, out)?;
        }
        Ok(None)
    }
}

/// The endpoints of a node's ranks.
fn of_ranks(first: Option<SocketAddr>, ranks: usize) -> impl Iterator<Item = Option<SocketAddr>> {
    (0..ranks as u16).map(move |index| {
        let first = first?;
        Some(SocketAddr::new(first.ip(), first.port().checked_add(index)?))
    })
}

/// All results; or, of several faults, one that is not what another rank's fault has led to.
fn all_or_cause<R>(results: Vec<Result<R, Fault>>) -> Result<Vec<R>, Fault> {
    let (good, faults): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let mut faults: Vec<Fault> = faults.into_iter().filter_map(Result::err).collect();
    faults.sort_by_key(|fault| fault.kind == FaultKind::Gone);
    match faults.into_iter().next() {
        Some(cause) => Err(cause),
        None => Ok(good.into_iter().filter_map(Result::ok).collect()),
    }
}

/// A fault that names a rank names the rank's node.
fn on_node(fault: Fault, ranks: usize) -> Fault {
    match fault.node() {
        Some(rank) => Fault { about: None, ..fault }.on(rank / ranks),
        None => fault,
    }
}

/// Readings of one rank, until all have ended.
#[derive(Default)]
struct Taken(Vec<(Reading, u64)>);

impl Sink for Taken {
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault> {
        self.0.push((reading, n));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn ranks_of_a_node_listen_on_ports_that_follow_each_other() {
        let listeners = listen_on_all(Ipv4Addr::LOCALHOST.into(), 4).expect("listens");
        let first = listeners[0].endpoint();
        let expected: Vec<_> = listeners.iter().map(|listener| Some(listener.endpoint())).collect();
        assert_eq!(of_ranks(Some(first), 4).collect::<Vec<_>>(), expected);
        assert_eq!(of_ranks(None, 2).collect::<Vec<_>>(), [None, None]);
    }

    #[test]
    fn of_several_faults_the_cause_is_reported() {
        let results =
            vec![Err(Fault::gone("the node is gone").on(3)), Ok(1), Err(Fault::attempt("why").on(2))];
        let cause = all_or_cause(results).map_err(|fault| on_node(fault, 2)).expect_err("failed");
        assert_eq!((cause.message.as_str(), cause.node()), ("why", Some(1)));
        assert_eq!(all_or_cause(vec![Ok(1), Ok(2)]), Ok(vec![1, 2]));
    }
}
