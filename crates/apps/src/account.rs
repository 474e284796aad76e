//! What every application reports: its answer, and each node's time and memory.

use crosstalk_comm::TimeAccount;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Sink;
use crosstalk_core::units::Seconds;

use crate::coordination::MASTER;

/// What the master of an application reports: its times and whether the answer is right.
#[derive(Debug, Clone, PartialEq)]
pub struct MasterAnswer {
    /// Time that loading the input took: before the clock was restarted, unless the application counts it.
    pub loading: Seconds,
    /// Where the master's time went: its total is the completion time.
    pub account: TimeAccount,
    /// Bytes that slaves sent each other.
    pub exchanged: u64,
    /// A checksum: equal for equal answers, bit by bit.
    pub checksum: u64,
    /// Further readings of this application.
    pub own: Vec<Reading>,
    /// What is wrong with the answer, if anything.
    pub verdict: Result<(), Fault>,
}

impl MasterAnswer {
    /// Reports the readings of the whole application.
    pub(super) fn report(&self, origin: Origin, out: &mut dyn Sink) -> Result<(), Fault> {
        // The upper 52 bits, which a floating-point number holds exactly.
        let checksum = (self.checksum >> 12) as f64;
        out.take(Reading::value("completion_time", self.account.total().0, origin), 1)?;
        out.take(Reading::value("load_time", self.loading.0, origin), 1)?;
        for reading in &self.own {
            out.take(reading.clone(), 1)?;
        }
        out.take(Reading::value("bytes_exchanged", self.exchanged as f64, Origin::Computed), 1)?;
        out.take(Reading::value("answer_checksum", checksum, Origin::Computed), 1)
    }
}

/// All metrics of an application that has these of its `own`.
pub fn metrics(own: Vec<Metric>) -> Vec<Metric> {
    let mut metrics = vec![
        Metric::new("completion_time", "s", Better::Lower).above_zero(),
        Metric::new("time_compute", "s", Better::Neither),
        Metric::new("time_wait", "s", Better::Neither),
        Metric::new("time_serialise", "s", Better::Neither),
        Metric::new("load_time", "s", Better::Neither),
    ];
    metrics.extend(own);
    metrics.extend([
        Metric::new("bytes_exchanged", "B", Better::Neither),
        Metric::new("peak_memory", "B", Better::Lower),
        Metric::new("answer_checksum", "", Better::Neither),
    ]);
    metrics
}

/// Cores that all slaves compute on together. In real time a slave computes on
/// one core of its node.
pub fn slave_cores(part: &Part) -> f64 {
    let cores = part.emulation.as_ref().map_or(1, |emulation| emulation.node.cores);
    (part.nodes - 1) as f64 * f64::from(cores)
}

/// Reports the readings of one node.
pub fn report_node(
    node: usize,
    account: &TimeAccount,
    origin: Origin,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    report_times(node, account, origin, out)?;
    match peak_memory() {
        Some(bytes) => {
            out.take(Reading::value("peak_memory", bytes, Origin::Measured).label("node", node), 1)
        }
        None => Ok(()),
    }
}

/// Reports where a node's time went.
fn report_times(node: usize, account: &TimeAccount, origin: Origin, out: &mut dyn Sink) -> Result<(), Fault> {
    let times = [
        ("time_compute", account.compute),
        ("time_wait", account.wait),
        ("time_serialise", account.serialise),
    ];
    for (metric, time) in times {
        out.take(Reading::value(metric, time.0, origin).label("node", node), 1)?;
    }
    // Only where it spilled; the application declares the metric.
    if account.spill.0 > 0.0 {
        out.take(Reading::value("time_spill", account.spill.0, origin).label("node", node), 1)?;
    }
    Ok(())
}

/// Reports a replay. Programs ask for the clock last when their answer is complete; what they do then, to check the
/// answer, does not count.
pub fn report_replayed(nodes: &[Vec<TimeAccount>], out: &mut dyn Sink) -> Result<(), Fault> {
    for (node, accounts) in nodes.iter().enumerate() {
        let complete = accounts.iter().nth_back(1);
        let complete = complete
            .ok_or_else(|| Fault::attempt("the recorded program does not ask for its time").on(node))?;
        if node == MASTER {
            out.take(Reading::value("completion_time", complete.total().0, Origin::Simulated), 1)?;
        }
        report_times(node, complete, Origin::Simulated, out)?;
    }
    Ok(())
}

/// The most memory this process has held, in bytes: `VmHWM` of proc(5).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_memory_is_at_least_what_is_held() {
        let held = vec![1_u8; 32 << 20];
        let peak = peak_memory().expect("Linux has it");
        assert!(peak >= held.iter().map(|byte| f64::from(*byte)).sum());
    }
}
