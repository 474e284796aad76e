//! Ranks as threads of the test process, over loopback. CPU time is counted a
//! thread, so that they behave as processes do.
#![allow(dead_code, reason = "every test file uses a part of these helpers")]

use crosstalk_comm::{Listener, Rank, listen};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::system::NodeKind;
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_core::value::Params;
use crosstalk_model::schedule::Schedule;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A fabric with costs in nanoseconds, per-byte costs in nanoseconds a byte.
pub fn fabric(latency: f64, overhead: f64, gap: f64, per_byte: f64, cpu_per_byte: f64) -> Fabric {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(8e9 / per_byte),
        costs: Costs {
            latency: nanos(latency),
            overhead: nanos(overhead),
            gap: nanos(gap),
            gap_per_byte: nanos(per_byte),
            overhead_per_byte: nanos(cpu_per_byte),
        },
        step: Vec::new(),
        node_speed: None,
        source: Default::default(),
        caveats: Vec::new(),
    }
}

/// A system of `nodes` nodes like this host's, all on one board.
pub fn emulation(nodes: usize, fabric: &Fabric) -> Emulation {
    Emulation {
        system: "test".into(),
        node: NodeKind {
            cpu: "test".into(),
            cores: 1,
            clock: Hertz(1e9),
            speed: 1.0,
            scaling: 1.0,
            memory: Bytes(1 << 30),
            disk: None,
        },
        board: vec![0; nodes],
        within: fabric.clone(),
        across: fabric.clone(),
        uplink: None,
        ranks_per_node: 1,
        memory: None,
        mpi: None,
    }
}

pub fn part(node: usize, nodes: usize, emulation: Option<&Emulation>, deadline: f64) -> Part {
    static SEED: AtomicU64 = AtomicU64::new(1);
    Part {
        workload: "test".into(),
        params: Params::default(),
        node,
        nodes,
        addresses: vec![LOOPBACK; nodes],
        emulation: emulation.cloned(),
        deadline: Seconds(deadline),
        shared: None,
        keep_schedule: false,
        scratch: std::env::temp_dir(),
        artifacts: None,
        seed: SEED.fetch_add(u64::from(node == 0), Ordering::Relaxed),
    }
}

/// Parts and listeners of `nodes` ranks on loopback.
pub fn ranks(nodes: usize, emulation: Option<&Emulation>, deadline: f64) -> Vec<(Part, Listener)> {
    ranks_at(nodes, emulation, deadline, &|_| LOOPBACK)
}

fn ranks_at(
    nodes: usize,
    emulation: Option<&Emulation>,
    deadline: f64,
    place: &(impl Fn(usize) -> IpAddr + Sync),
) -> Vec<(Part, Listener)> {
    let first = part(0, nodes, emulation, deadline);
    let listen = |node| listen(place(node)).expect("the node's address can be bound");
    // Each in a thread of its own, as `place` may move the thread to another namespace.
    let listen = |node| thread::scope(|scope| scope.spawn(move || listen(node)).join()).expect("no panic");
    (0..nodes).map(|node| (Part { node, ..first.clone() }, listen(node))).collect()
}

/// For ranks that are not cancelled.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// Runs `program` on every rank, over loopback. Returns its results by rank.
pub fn try_run<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    deadline: f64,
    program: impl Fn(Rank) -> Result<R, Fault> + Sync,
) -> Vec<Result<R, Fault>> {
    try_run_at(nodes, emulation, deadline, |_| LOOPBACK, program)
}

/// The same where `place` puts the thread of a rank; it returns its address.
fn try_run_at<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    deadline: f64,
    place: impl Fn(usize) -> IpAddr + Sync,
    program: impl Fn(Rank) -> Result<R, Fault> + Sync,
) -> Vec<Result<R, Fault>> {
    let ranks = ranks_at(nodes, emulation, deadline, &place);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let (program, endpoints, place) = (&program, &endpoints, &place);
    let one = move |part: Part, listener: Listener| {
        place(part.node);
        program(listener.connect(&part, endpoints, &NEVER)?)
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            ranks.into_iter().map(|(part, listener)| scope.spawn(move || one(part, listener))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

/// Runs `program` on every rank, over loopback, and returns its schedule, from the file that rank 0 writes.
pub fn run_recorded(
    nodes: usize,
    emulation: &Emulation,
    program: impl Fn(&mut Rank) -> Result<(), Fault> + Sync,
) -> Schedule {
    let folder = tempfile::tempdir().expect("a folder");
    // On a busy machine the run may be unfaithful: the schedule is kept all the same.
    let (_, file) = run_kept(nodes, emulation, folder.path(), program);
    Schedule::from_bytes(&fs::read(file).expect("reads")).expect("is a schedule")
}

/// Runs `program` on every rank, over loopback. Returns what each rank's monitor says, and the only file in `folder`,
/// which is rank 0's schedule.
pub fn run_kept(
    nodes: usize,
    emulation: &Emulation,
    folder: &Path,
    program: impl Fn(&mut Rank) -> Result<(), Fault> + Sync,
) -> (Vec<Fidelity>, PathBuf) {
    let ranks = ranks(nodes, Some(emulation), 60.0);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let (program, endpoints, file) = (&program, &endpoints, &folder.join("a.schedule"));
    let one = move |part: Part, listener: Listener| {
        let listener = listener.recording_to("a test".into(), file.clone());
        let mut rank = listener.connect(&part, endpoints, &NEVER)?;
        program(&mut rank)?;
        rank.finish()
    };
    let results: Vec<Result<_, Fault>> = thread::scope(|scope| {
        let threads: Vec<_> =
            ranks.into_iter().map(|(part, listener)| scope.spawn(move || one(part, listener))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    });
    let fidelity = |result: Result<Option<Fidelity>, Fault>| {
        result.expect("every rank finishes").expect("in virtual time")
    };
    let fidelities = results.into_iter().map(fidelity).collect();
    let mut files = fs::read_dir(folder).expect("reads").map(|entry| entry.expect("is there").path());
    let file = files.next().expect("rank 0 has written one");
    assert_eq!(files.next(), None, "one rank alone writes one file");
    (fidelities, file)
}

/// Runs `program` on every rank over loopback; none may fail.
pub fn run<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    program: impl Fn(&mut Rank) -> Result<R, Fault> + Sync,
) -> Vec<R> {
    run_at(nodes, emulation, |_| LOOPBACK, program)
}

/// The same where `place` puts the thread of a rank; it returns its address.
pub fn run_at<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    place: impl Fn(usize) -> IpAddr + Sync,
    program: impl Fn(&mut Rank) -> Result<R, Fault> + Sync,
) -> Vec<R> {
    let results = try_run_at(nodes, emulation, 60.0, place, |mut rank| {
        let result = program(&mut rank)?;
        rank.finish()?;
        Ok(result)
    });
    results.into_iter().map(|result| result.expect("every rank finishes")).collect()
}

/// Pins the calling thread, and threads that it starts, to these cores.
pub fn pin(cores: &[usize]) {
    // SAFETY: a zeroed cpu_set_t is an empty set; CPU_SET writes within it for
    // core numbers below its size, and the call reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    assert_eq!(result, 0, "cores {cores:?} can be pinned to");
}

/// The cores this thread may run on.
pub fn cores() -> Vec<usize> {
    // SAFETY: the call fills in the live set; CPU_ISSET reads within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}
