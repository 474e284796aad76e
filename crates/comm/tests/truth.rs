//! Two ranks against undilated truth: parameters are fitted to a real
//! transport, then a program of mixed sizes and computing is run over that
//! transport in real time and emulated with the parameters: within 5 %.
//!
//! The transports are a veth pair between two network namespaces, and the
//! loopback device. Real time needs two cores for itself: where others keep
//! them busy, or no namespace can be made, the test says so and does not count.
//! So it does where the transport takes something else in the program than while it
//! was measured, as the wake-ups of a virtual processor may: no parameters tell that.

mod common;

use common::{LOOPBACK, cores, emulation, fabric, pin, run_at};
use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fabric::Fabric;
use crosstalk_host::clock::thread_schedstat;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Netlink;
use crosstalk_model::fit::{MeasuredTimes, fit_steps};
use crosstalk_stats::quantile;
use std::fs::File;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

const SIZES: [usize; 9] = [64, 256, 1024, 4096, 16_384, 32_768, 65_536, 131_072, 262_144];
/// Where TCP over either bends: one segment holds at most 64 KiB.
const BEND: u64 = 32_768;
/// Rounds of computing that a rank waits for in addition to the messages' time, in measuring
/// as in the program: a core that has waited for long answers later than one that
/// just went to sleep.
const PAUSE: u64 = 20_000;
/// Rounds that rank 1 computes before it answers, and rank 0 meanwhile: it waits for the difference.
const ANSWER: u64 = 50_000;
const MEANWHILE: u64 = ANSWER - PAUSE;
const TRIALS: usize = 60;
const REPEATS: usize = 21;
/// Share of the wall time that a rank waited for a core, beyond which real
/// time is no truth.
const BUSY: f64 = 0.02;
/// How far the middle half of the ratios may spread: beyond that, real time is
/// no truth either. Kernel threads that carry packets wait for a core too.
const REPEATABLE: f64 = 0.04;
/// What counts as the same.
const WITHIN: RangeInclusive<f64> = 0.95..=1.05;
/// So often each comparison measures the transport and runs the program on it, by turns.
const RUNS: usize = 4;
/// Turns of each kind in a run; their median counts, as it does in measuring: a
/// sum of all turns would hold every disturbance from outside, a median few.
const TURNS: usize = 15;

/// Takes a core for the calling thread: pinned, and before all others where
/// real-time priority is permitted.
fn own_core(rank: usize) {
    pin(&[cores()[rank]]);
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads the live parameter; a refusal changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) };
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn compute(rounds: u64) {
    black_box((0..rounds).fold(1u64, |x, i| black_box(x.wrapping_mul(6_364_136_223_846_793_005) ^ i)));
}

/// What rank 0 sees of one size: round trips, sends, gap.
#[derive(Default)]
struct Measurements {
    trips: Vec<f64>,
    sends: Vec<f64>,
    pauses: Vec<f64>,
    gap: f64,
}

/// A round trip of each size, one after the other, as programs mix them: memory
/// that the last message has warmed, and what the transport believes of its way,
/// are another size's.
fn round_trips(rank: &mut Rank, data: &[u8], seen: &mut [Measurements]) -> Result<(), Fault> {
    for (size, seen) in SIZES.into_iter().zip(seen) {
        if rank.id() == 1 {
            rank.world().recv::<u8>(0, 0)?;
            compute(PAUSE);
            rank.world().send(0, 0, &data[..size])?;
            continue;
        }
        let begin = Instant::now();
        compute(PAUSE);
        seen.pauses.push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        rank.world().send(1, 0, &data[..size])?;
        seen.sends.push(begin.elapsed().as_secs_f64());
        rank.world().recv::<u8>(1, 0)?;
        seen.trips.push(begin.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Messages of one size back to back: seconds until an answer to the last came,
/// seen by rank 0.
fn back_to_back(rank: &mut Rank, data: &[u8]) -> Result<f64, Fault> {
    let begin = Instant::now();
    if rank.id() == 0 {
        (0..TRIALS).try_for_each(|_| rank.world().send(1, 1, data))?;
        rank.world().recv::<u8>(1, 1)?;
    } else {
        (0..TRIALS).try_for_each(|_| rank.world().recv::<u8>(0, 1).map(drop))?;
        rank.world().send::<u8>(0, 1, &[])?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// What the transport does, and the seconds of a pause.
fn measured(place: &(impl Fn(usize) -> IpAddr + Sync)) -> (MeasuredTimes, f64) {
    let mut ranks = run_at(2, None, place, |rank| {
        own_core(rank.id());
        let data = vec![1_u8; SIZES[SIZES.len() - 1]];
        let mut seen: Vec<Measurements> = SIZES.map(|_| Measurements::default()).into();
        // The first time warms up.
        round_trips(rank, &data, &mut seen)?;
        seen = SIZES.map(|_| Measurements::default()).into();
        for _ in 0..TRIALS {
            round_trips(rank, &data, &mut seen)?;
        }
        for (size, seen) in SIZES.into_iter().zip(&mut seen) {
            back_to_back(rank, &data[..size])?;
            seen.gap = back_to_back(rank, &data[..size])?;
        }
        let (mut all, mut pause) = (MeasuredTimes::default(), 0.0);
        for (size, Measurements { trips, sends, pauses, gap }) in SIZES.into_iter().zip(seen) {
            if rank.id() == 0 {
                pause = median(pauses);
                let trip = (median(trips) - pause) / 2.0;
                all.half_round_trip.push((size as u64, trip));
                all.gap.push((size as u64, (gap - trip) / TRIALS as f64));
                all.send.push((size as u64, median(sends)));
            }
        }
        Ok((all, pause))
    });
    ranks.swap_remove(0)
}

/// Each turn rank 0 hands over and computes on, rank 1 computes and answers.
/// Returns the seconds of every turn by the rank's clock, kind by kind, and the
/// share that it waited for a core.
fn program(rank: &mut Rank) -> Result<(Vec<Vec<f64>>, f64), Fault> {
    own_core(rank.id());
    let data = vec![1_u8; SIZES[SIZES.len() - 1]];
    let mut turns = vec![Vec::new(); SIZES.len()];
    rank.restart_clock()?;
    let delay = thread_schedstat().map(|sched| sched.delay_ns);
    // The first time warms up.
    for warm in (0..=TURNS).map(|turn| turn > 0) {
        for (kind, times) in turns.iter_mut().enumerate() {
            let [there, back] = both_ways(kind);
            let begin = rank.now()?.0;
            if rank.id() == 0 {
                rank.world().send(1, 0, &data[..there])?;
                compute(MEANWHILE);
                rank.world().recv::<u8>(1, 0)?;
                compute(PAUSE);
            } else {
                rank.world().recv::<u8>(0, 0)?;
                compute(ANSWER);
                rank.world().send(0, 0, &data[..back])?;
            }
            times.extend(warm.then_some(rank.now()?.0 - begin));
        }
    }
    let time = rank.now()?.0;
    let waited = thread_schedstat().zip(delay).map_or(0, |(sched, before)| sched.delay_ns - before);
    Ok((turns, waited as f64 * 1e-9 / time))
}

/// Bytes of a kind of turn, there and back.
fn both_ways(kind: usize) -> [usize; 2] {
    [SIZES[kind], SIZES[(4 * kind + 2) % SIZES.len()]]
}

/// One turn of each kind by what was measured: both ways, and what is computed one after the other.
fn predicted(transport: &MeasuredTimes, pause: f64) -> f64 {
    let half = |size: usize| {
        let of_size = transport.half_round_trip.iter().filter(|(bytes, _)| *bytes == size as u64);
        median(of_size.map(|(_, seconds)| *seconds).collect())
    };
    let computed = pause * (ANSWER + PAUSE) as f64 / PAUSE as f64;
    (0..SIZES.len()).map(|kind| both_ways(kind).map(half).iter().sum::<f64>() + computed).sum()
}

/// One turn of each kind, each taking its median.
fn one_of_each(runs: Vec<Vec<Vec<f64>>>) -> f64 {
    let of_kind = |kind: usize| runs.iter().flat_map(|turns| turns[kind].iter().copied()).collect();
    (0..SIZES.len()).map(|kind| median(of_kind(kind))).sum()
}

/// Emulates what lies between two places, and compares. The ratios are printed
/// as a line of JSON before they are judged.
fn compare(name: &str, place: impl Fn(usize) -> IpAddr + Sync) {
    // One comparison at a time has the cores.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if cores().len() < 2 {
        eprintln!("skipped: needs two cores, found {}", cores().len());
        return;
    }
    let compared: Vec<Comparison> = (0..REPEATS).filter_map(|_| emulated_over_real(&place)).collect();
    let of = |ratio: fn(&Comparison) -> f64| {
        let mut ratios: Vec<f64> = compared.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let ratios = of(|one| one.emulated / one.real);
    let to_measured = of(|one| one.emulated / one.predicted);
    println!(
        "{{\"place\":\"{name}\",\"emulated_over_real\":{ratios:?},\"emulated_over_measured\":{to_measured:?}}}"
    );
    let to_predicted = judge("emulated over what was measured", &to_measured);
    let predicted = quantile::estimate(&of(|one| one.predicted / one.real), 0.5, 0.05);
    let to_real = match predicted.filter(|predicted| !WITHIN.contains(&predicted.point)) {
        Some(predicted) => {
            Err(format!("in the program the transport takes something else than was measured: {predicted:?}"))
        }
        None => judge("emulated over real", &ratios),
    };
    let not_judged: Vec<String> = [to_predicted, to_real].into_iter().filter_map(Result::err).collect();
    if !not_judged.is_empty() {
        eprintln!("skipped: {}", not_judged.join("; "));
    }
}

/// Ratios, in order, are within the bound where they can be repeated. How far off they are against it
/// `make bench` reports; here they are wrong where all of their interval lies beyond: a point near the
/// bound falls on either side by chance. The error is why they cannot be judged.
fn judge(what: &str, ratios: &[f64]) -> Result<(), String> {
    let busy =
        || format!("{what}: others kept the cores busy in {} of {REPEATS} runs", REPEATS - ratios.len());
    let median = quantile::estimate(ratios, 0.5, 0.05).ok_or_else(busy)?;
    let quarter = ratios.len() / 4;
    let spread = ratios[ratios.len() - 1 - quarter] - ratios[quarter];
    if spread > REPEATABLE {
        return Err(format!("{what}: half of the ratios spread over {:.1} %", 100.0 * spread));
    }
    assert!(median.low <= *WITHIN.end() && median.high >= *WITHIN.start(), "{what}: {median:?}");
    Ok(())
}

/// Seconds of one turn of each kind: emulated, in real time, and by what was measured.
struct Comparison {
    emulated: f64,
    real: f64,
    predicted: f64,
}

/// One comparison, at one speed of the cores; `None` when they were busy.
fn emulated_over_real(place: &(impl Fn(usize) -> IpAddr + Sync)) -> Option<Comparison> {
    let (mut transport, mut real, mut pauses) = (MeasuredTimes::default(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (MeasuredTimes { half_round_trip, gap, send }, pause) = measured(place);
        pauses.push(pause);
        transport.half_round_trip.extend(half_round_trip);
        transport.gap.extend(gap);
        transport.send.extend(send);
        let ranks = run_at(2, None, place, program);
        if ranks.iter().all(|(_, waited)| *waited <= BUSY) {
            real.extend(ranks.into_iter().next().map(|(turns, _)| turns));
        }
    }
    let (costs, step) = fit_steps(&transport, &[BEND]).expect("fits");
    let emulation = emulation(2, &Fabric { costs, step, ..fabric(0.0, 0.0, 0.0, 1.0, 0.0) });
    let (emulated, _) = run_at(2, Some(&emulation), place, program).swap_remove(0);
    (!real.is_empty()).then(|| Comparison {
        emulated: one_of_each(vec![emulated]),
        real: one_of_each(real),
        predicted: predicted(&transport, median(pauses)),
    })
}

#[test]
fn emulated_loopback_takes_as_long_as_the_real_one() {
    compare("loopback", |_| LOOPBACK);
}

/// Two network namespaces joined by a veth pair. They live as long as they
/// are open here, and the pair with them.
fn joined() -> Result<[File; 2], Fault> {
    let own = || {
        namespace::enter(Kinds::NET)?;
        File::open("/proc/thread-self/ns/net").map_err(|e| Fault::environment(format!("no namespace: {e}")))
    };
    let apart = |work: &(dyn Fn() -> Result<File, Fault> + Sync)| {
        thread::scope(|scope| scope.spawn(work).join()).expect("no panic")
    };
    let first = apart(&own)?;
    let second = apart(&|| {
        let second = own()?;
        let mut socket = Netlink::open()?;
        socket.create_veth("here", [2, 0, 0, 0, 0, 2], "there", first.as_fd())?;
        Ok(second)
    })?;
    for (node, (namespace, device)) in [(&first, "there"), (&second, "here")].into_iter().enumerate() {
        thread::scope(|scope| {
            let set_up = || {
                enter(namespace);
                let mut socket = Netlink::open()?;
                socket.add_address(device, address(node), 24)?;
                // Rank 0 connects to its own clock server.
                socket.switch_on("lo")?;
                socket.switch_on(device)
            };
            scope.spawn(set_up).join().expect("no panic")
        })?;
    }
    Ok([first, second])
}

/// In a block that is reserved for benchmarks (RFC 2544).
fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, 1 + node as u8)
}

/// Moves the calling thread into a network namespace.
fn enter(namespace: &File) {
    // SAFETY: the descriptor is open; the call concerns the calling thread only.
    let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(result, 0, "who made the namespace may enter it");
}

#[test]
fn an_emulated_veth_takes_as_long_as_the_real_one() {
    match joined() {
        Err(fault) => eprintln!("skipped: {fault}"),
        Ok(namespaces) => compare("veth", |node| {
            enter(&namespaces[node]);
            address(node).into()
        }),
    }
}
