//! Bandwidth in virtual time: node 0 sends node 1 messages of one size as fast
//! as the emulated fabric lets it, with nothing to wait for.
//!
//! In LogGOPS a message then leaves, and arrives, every
//! `max(o + (s − 1) · O, g + (s − 1) · G)`: this is what the result follows
//! from. The first messages fill the pipeline and are not timed, so that the
//! latency of the start has no part in it. Of the others the median interval
//! counts. What the probe itself does between two messages is not charged.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;

use crosstalk_work::Declared;
use crosstalk_work::peer::rank;

/// Messages that fill the pipeline, before the timed ones.
const FILLING: u64 = 8;
/// Timed messages, unless the parameters say otherwise: as many as this …
const MOST: u64 = 5_000;
/// … or fewer, so that this many bytes are not exceeded …
const BUDGET: u64 = 8 << 20;
/// … but no fewer than this.
const LEAST: u64 = 15;

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const TAG: u32 = 0;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("size", "4 KiB", "of a message"),
    Parameter::new("count", "15 to 5,000, up to 8 MiB", "messages that are timed"),
]]);

/// The probe.
pub const STREAM: Declared<Load> = Declared {
    name: "stream",
    title: "bandwidth between two nodes in virtual time, messages of one size back to back",
    parameters: PARAMETERS,
    read: Load::new,
    deploy: |load| {
        let metrics = vec![Metric::new("bandwidth", "bit/s", Better::Higher)];
        let seconds = 0.02 + (load.size as f64 * 1e-9 + 1e-5) * load.messages() as f64;
        Deployment { nodes: 2, timing: Timing::Virtual, metrics, effort: Effort::computing(seconds) }
    },
    needs: |_| Vec::new(),
    prepare,
};

fn prepare(load: Load, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if part.nodes != 2 || part.node > RECEIVER {
        return Err(Fault::attempt(format!(
            "expected two nodes, found node {} of {}",
            part.node, part.nodes
        )));
    }
    if part.emulation.is_none() {
        return Err(Fault::usage("`stream` is told by virtual time, and this is a real network")
            .remedy("use the workload `bandwidth`"));
    }
    rank::prepare(part, Box::new(move |rank, out| play(load, rank, out)))
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Bytes in a message.
    size: u64,
    /// Timed messages.
    count: u64,
}

impl Load {
    fn new(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let Bytes(size) = params.size("size", Bytes(4096))?;
        if size > 1 << 30 {
            return Err(
                Fault::usage(format!("expected at most 1 GiB, found {size} bytes")).of_parameter("size")
            );
        }
        let count = params.count("count", (BUDGET / size).clamp(LEAST, MOST), 1)?;
        Ok(Load { size, count })
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

fn play(load: Load, mut rank: Rank, out: &mut dyn Sink) -> Result<Option<Fidelity>, Fault> {
    rank.count_messages_only();
    rank.restart_clock()?;
    if rank.id() == SENDER {
        send(load, &mut rank)?;
    } else {
        let bandwidth = receive(load, &mut rank)?;
        // Messages alone count, so that it follows from the fabric's parameters: a formula, the same in each run.
        out.take(Reading::value("bandwidth", bandwidth, Origin::Computed), load.count)?;
    }
    rank.finish()
}

fn send(load: Load, rank: &mut Rank) -> Result<(), Fault> {
    let mut message = vec![0; load.size as usize];
    let last = message.len() - 1;
    for index in 0..load.messages() {
        message[0] = Load::mark(index);
        message[last] = Load::mark(index);
        rank.send(RECEIVER, TAG, &message)?;
    }
    Ok(())
}

/// Receives and checks all messages; returns bits a second.
fn receive(load: Load, rank: &mut Rank) -> Result<f64, Fault> {
    let mut intervals = Vec::with_capacity(load.messages() as usize);
    let mut before = 0.0;
    for index in 0..load.messages() {
        receive_one(load, index, rank)?;
        let now = rank.now().0;
        intervals.push(now - before);
        before = now;
    }
    let timed = &mut intervals[FILLING as usize..];
    timed.sort_by(f64::total_cmp);
    let interval = timed[timed.len() / 2];
    if interval > 0.0 {
        return Ok(load.size as f64 * 8.0 / interval);
    }
    Err(Fault::attempt("the fabric costs no time: its bandwidth is beyond measure")
        .remedy("give the fabric g, G or o above zero"))
}

/// Receives message `index`, which must be whole.
fn receive_one(load: Load, index: u64, rank: &mut Rank) -> Result<(), Fault> {
    let message = rank.recv(SENDER, TAG)?;
    let mark = Some(&Load::mark(index));
    if message.len() as u64 == load.size && message.first() == mark && message.last() == mark {
        return Ok(());
    }
    Err(Fault::attempt(format!(
        "wrong answer: message {index} is not the {} bytes that were sent",
        load.size
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;

    #[test]
    fn small_messages_are_many_and_large_ones_few() {
        let count = |size: &str| Load::new(&Params::default().with("size", size)).map(|load| load.count);
        assert_eq!(count("64 B"), Ok(MOST));
        assert_eq!(count("128 KiB"), Ok(64));
        assert_eq!(count("1 GiB"), Ok(LEAST));
    }

    #[test]
    fn bad_values_are_named() {
        let refusal = |name: &str, value: i64| {
            STREAM.deploy(&Params::default().with(name, value)).expect_err("refused").to_string()
        };
        assert!(refusal("size", 0).contains("parameter `size`: expected a size above zero"));
        assert!(refusal("size", 2 << 30).contains("at most 1 GiB"));
        assert!(refusal("count", 0).contains("at least 1"));
        assert!(refusal("sise", 1).contains("did you mean `size`?"));
    }
}
