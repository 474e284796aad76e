//! MPI functions as a workload, in virtual or in real time.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Bytes;
use crosstalk_work::peer::rank::prepare_each;
use crosstalk_work::peer::replay::Report;
use crosstalk_work::{Declared, Elsewhere, Portable};

use super::spec::{Begin, PARAMETERS, Spec};
use super::windows::FEWEST;
use super::{emulated, loops, own_core, windowed};

/// The workload `collective`.
pub const COLLECTIVE: Portable<Spec> = Portable {
    declared: Declared {
        name: "collective",
        title: "Time of an MPI function: one call of all ranks, against the size of its messages",
        parameters: PARAMETERS,
        read: Spec::from_params,
        deploy: |spec| Deployment {
            nodes: spec.nodes,
            timing: Timing::Either,
            metrics: metrics(),
            effort: Effort::waiting(spec.seconds()),
        },
        needs: |_| Vec::new(),
        prepare,
    },
    elsewhere: Elsewhere::Charged(replayed, is_computed),
};

/// Combining numbers takes what this host needs for it. All else follows from the fabric and the library.
fn is_computed(spec: &Spec) -> bool {
    !spec.function.combines()
}

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("time", "s", Better::Lower)
            .meaning("from the common begin of a call to its end at the last rank; of pingpong, half of it"),
        Metric::new("call_time", "s", Better::Lower).above_zero().meaning("the same of every call, in real time"),
        Metric::new("transfer_rate", "B/s", Better::Higher)
            .meaning("bytes that a rank has sent and received in that time; of functions between neighbours"),
        Metric::new("late_time", "s", Better::Lower).meaning(
            "where fewer than three calls began together: from the last rank's begin to the last rank's end",
        ),
        Metric::new("late", "%", Better::Neither)
            .meaning("calls that some rank began more than 2 µs late: they are left out"),
        Metric::new("clock_error", "s", Better::Neither)
            .meaning("bound on the difference between two ranks' clocks when they were compared; 0 where they share one"),
    ]
}

/// How a replay is reported. Each rank asks for its clock when its call of a size has ended.
fn replayed(spec: &Spec) -> Report {
    let spec = spec.clone();
    Box::new(move |ranks, out| {
        for (index, &size) in spec.sizes.iter().enumerate() {
            let ends = ranks.iter().filter_map(|accounts| Some(accounts.get(index)?.total().0));
            for (reading, n) in whole(&spec, size, ends.fold(0.0, f64::max), 1, Origin::Simulated) {
                out.take(reading.label("size", size.0), n)?;
            }
        }
        Ok(())
    })
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let is_virtual = part.emulation.is_some();
    prepare_each(part, Box::new(move |rank, out| run(&spec, is_virtual, rank, out)))
}

/// Runs a rank's part, [`Rank::finish`] included. Rank 0 reports, in virtual or in real time.
///
/// # Errors
/// If there is one rank only, something else arrives than was sent, or ranks are gone.
pub fn run(
    spec: &Spec,
    is_virtual: bool,
    mut rank: Rank,
    out: &mut dyn Sink,
) -> Result<Option<Fidelity>, Fault> {
    if rank.size() < 2 {
        return Err(Fault::usage("a message needs two ranks, found one").remedy("take nodes = 2"));
    }
    rank.count_messages_only();
    let _own_core = if is_virtual { None } else { own_core::hold(&mut rank)? };
    for &size in &spec.sizes {
        let readings =
            if is_virtual { emulate(spec, size, &mut rank)? } else { measure(spec, size, &mut rank)? };
        for (reading, n) in readings {
            out.take(reading.label("size", size.0), n)?;
        }
    }
    rank.finish()
}

fn emulate(spec: &Spec, size: Bytes, rank: &mut Rank) -> Result<Vec<(Reading, u64)>, Fault> {
    let Some(seconds) = emulated::time(spec.function, size.0 as usize, rank)? else { return Ok(Vec::new()) };
    let origin = if is_computed(spec) { Origin::Computed } else { Origin::Emulated };
    Ok(whole(spec, size, seconds, 1, origin))
}

fn measure(spec: &Spec, size: Bytes, rank: &mut Rank) -> Result<Vec<(Reading, u64)>, Fault> {
    let measure = match spec.begin {
        Begin::Together => windowed::measure,
        Begin::InTurn => loops::measure,
    };
    let measured = measure(spec.function, size.0 as usize, spec.duration, rank)?;
    let (mut together, mut late) = (measured.times.together, measured.times.late);
    let calls = (together.len() + late.len()) as u64;
    let share = late.len() as f64 / calls.max(1) as f64;
    let mut readings = Vec::new();
    if together.len() >= FEWEST {
        let n = together.len() as u64;
        readings = whole(spec, size, median(&mut together), n, Origin::Measured);
        let calls = if spec.begin == Begin::Together { &together } else { &measured.in_loops };
        if !calls.is_empty() {
            let mut distribution = Histogram::default();
            let parts = spec.function.parts();
            calls.iter().for_each(|time| distribution.record((*time as f64 / parts) as u64));
            readings
                .push((Reading::histogram("call_time", distribution, Origin::Measured), calls.len() as u64));
        }
    } else if !late.is_empty() {
        let time = median(&mut late) / spec.function.parts();
        readings.push((Reading::value("late_time", time, Origin::Measured), late.len() as u64));
    }
    if spec.begin == Begin::Together && calls > 0 {
        let error = measured.clock_error as f64 * 1e-9;
        readings.push((Reading::value("late", share, Origin::Measured), calls));
        readings.push((Reading::value("clock_error", error, Origin::Measured), 1));
    }
    Ok(readings)
}

/// The median of nanoseconds, in seconds.
fn median(times: &mut [i64]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| *time as f64 * 1e-9)
}

/// The readings of a whole call's seconds.
fn whole(spec: &Spec, size: Bytes, seconds: f64, n: u64, origin: Origin) -> Vec<(Reading, u64)> {
    let time = seconds / spec.function.parts();
    let messages = spec.function.messages().filter(|_| time > 0.0 && size.0 > 0);
    let rate = messages
        .map(|messages| Reading::value("transfer_rate", messages * size.0 as f64 / time, Origin::Computed));
    let time = Reading::value("time", time, origin);
    std::iter::once(time).chain(rate).map(|reading| (reading, n)).collect()
}
