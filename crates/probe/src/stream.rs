//! Bandwidth in virtual time: node 0 sends messages of one size to node 1, as fast as the emulated
//! fabric allows.
//!
//! In LogGOPS a message then leaves, and arrives, every `max(o + (s − 1) · O, g + (s − 1) · G)`.
//! The first messages fill the pipeline and are not timed, so that the latency of the start does
//! not count. Of the others the median interval counts. The probe's own work between two messages
//! is not charged.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;

use crosstalk_work::peer::rank;
use crosstalk_work::{Declared, Elsewhere, Portable};

/// Messages that fill the pipeline, before the timed ones.
const FILLING: u64 = 8;
/// The default number of timed messages: at most this …
const MOST: u64 = 5_000;
/// … or fewer, to send at most this many bytes …
const BUDGET: u64 = 8 << 20;
/// … but at least this.
const LEAST: u64 = 15;

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const TAG: u32 = 0;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("size", "4 KiB", "of a message"),
    Parameter::new("count", "15 to 5,000, up to 8 MiB", "number of timed messages"),
]]);

/// The workload `stream`: messages over a transport of the emulated network.
pub const STREAM: Portable<Spec> = Portable {
    declared: Declared {
        name: "stream",
        title: "Bandwidth between two nodes in virtual time: messages of one size, back to back",
        parameters: PARAMETERS,
        read: Spec::from_params,
        deploy: |spec| {
            let metrics = vec![Metric::new("bandwidth", "bit/s", Better::Higher).above_zero()];
            let seconds = 0.02 + (spec.size as f64 * 1e-9 + 1e-5) * spec.messages() as f64;
            Deployment { nodes: 2, timing: Timing::Virtual, metrics, effort: Effort::computing(seconds) }
        },
        needs: |_| Vec::new(),
        prepare,
    },
    elsewhere: Elsewhere::Computed(on_cluster),
};

/// What it reports on a cluster, by the formula above. Its two nodes are the first two. With a library there is no such
/// formula.
fn on_cluster(spec: &Spec, cluster: &Emulation) -> Vec<Reading> {
    if cluster.mpi.is_some() {
        return Vec::new();
    }
    let costs = cluster.fabric(SENDER, RECEIVER).costs_for(spec.size);
    let bytes = (spec.size - 1) as f64;
    let busy = costs.overhead.0 + bytes * costs.overhead_per_byte.0;
    let interval = busy.max(costs.gap.0 + bytes * costs.gap_per_byte.0);
    vec![Reading::value("bandwidth", spec.size as f64 * 8.0 / interval, Origin::Computed)]
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if part.nodes != 2 || part.node > RECEIVER {
        return Err(Fault::attempt(format!(
            "expected two nodes, found node {} of {}",
            part.node, part.nodes
        )));
    }
    if part.emulation.is_none() {
        return Err(Fault::usage("`stream` needs virtual time, and this is a real network")
            .remedy("use the workload `bandwidth`"));
    }
    rank::prepare(part, Box::new(move |rank, out| run(spec, rank, out)))
}

/// The messages that the workload `stream` sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Bytes in a message.
    size: u64,
    /// Timed messages.
    count: u64,
}

impl Spec {
    fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let Bytes(size) = params.size("size", Bytes(4096))?;
        if size > 1 << 30 {
            return Err(
                Fault::usage(format!("expected at most 1 GiB, found {size} bytes")).of_parameter("size")
            );
        }
        let count = params.count("count", (BUDGET / size).clamp(LEAST, MOST), 1)?;
        Ok(Spec { size, count })
    }

    /// All messages, the untimed ones included.
    fn messages(&self) -> u64 {
        FILLING + self.count
    }

    /// The mark in the first and the last byte of message `index`.
    fn mark(index: u64) -> u8 {
        index as u8
    }
}

fn run(spec: Spec, mut rank: Rank, out: &mut dyn Sink) -> Result<Option<Fidelity>, Fault> {
    rank.count_messages_only();
    rank.restart_clock()?;
    if rank.id() == SENDER {
        send(spec, &mut rank)?;
    } else {
        let bandwidth = receive(spec, &mut rank)?;
        // Only messages are charged: the result follows from the fabric's parameters, the same in each run.
        out.take(Reading::value("bandwidth", bandwidth, Origin::Computed), spec.count)?;
    }
    rank.finish()
}

fn send(spec: Spec, rank: &mut Rank) -> Result<(), Fault> {
    let mut message = vec![0; spec.size as usize];
    let last = message.len() - 1;
    for index in 0..spec.messages() {
        message[0] = Spec::mark(index);
        message[last] = Spec::mark(index);
        rank.world().send(RECEIVER, TAG, &message)?;
    }
    Ok(())
}

/// Receives and checks all messages; returns bits a second.
fn receive(spec: Spec, rank: &mut Rank) -> Result<f64, Fault> {
    let mut intervals = Vec::with_capacity(spec.messages() as usize);
    let mut before = 0.0;
    for index in 0..spec.messages() {
        receive_one(spec, index, rank)?;
        let now = rank.now()?.0;
        intervals.push(now - before);
        before = now;
    }
    let timed = &mut intervals[FILLING as usize..];
    timed.sort_by(f64::total_cmp);
    let interval = timed[timed.len() / 2];
    if interval > 0.0 {
        return Ok(spec.size as f64 * 8.0 / interval);
    }
    Err(Fault::attempt("the fabric's messages take no time: its bandwidth is infinite")
        .remedy("set the fabric's g, G or o above zero"))
}

/// Receives message `index`, which must be whole.
fn receive_one(spec: Spec, index: u64, rank: &mut Rank) -> Result<(), Fault> {
    let message = rank.world().recv::<u8>(SENDER, TAG)?;
    let mark = Some(&Spec::mark(index));
    if message.len() as u64 == spec.size && message.first() == mark && message.last() == mark {
        return Ok(());
    }
    Err(Fault::attempt(format!(
        "wrong answer: message {index} is not the {} bytes that were sent",
        spec.size
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;

    #[test]
    fn there_are_more_small_messages_than_large_ones() {
        let count =
            |size: &str| Spec::from_params(&Params::default().with("size", size)).map(|spec| spec.count);
        assert_eq!(count("64 B"), Ok(MOST));
        assert_eq!(count("128 KiB"), Ok(64));
        assert_eq!(count("1 GiB"), Ok(LEAST));
    }

    #[test]
    fn invalid_values_are_named() {
        let refusal = |name: &str, value: i64| {
            STREAM.deploy(&Params::default().with(name, value)).expect_err("refused").to_string()
        };
        assert!(refusal("size", 0).contains("parameter `size`: expected a size above zero"));
        assert!(refusal("size", 2 << 30).contains("at most 1 GiB"));
        assert!(refusal("count", 0).contains("at least 1"));
        assert!(refusal("sise", 1).contains("did you mean `size`?"));
    }
}
