//! Limiting a link to a rate, and the notes about it.

use crosstalk_core::Fault;
use crosstalk_core::units::{BitRate, human};
use crosstalk_host::ethtool;
use crosstalk_host::netlink::{Netlink, Shape};

/// In bit/s. Below this rate a bucket of two frames takes half a millisecond to fill. No timer is
/// that late, so that the rate need not be measured.
pub(super) const ALWAYS_KEPT: f64 = 50e6;

/// The least share of its rate that a stream must reach.
pub(super) const MIN_SHARE: f64 = 0.9;

/// The place of the fault that links do not keep a rate.
pub(crate) const LINKS: &str = "links between nodes";

/// The usual scales by which rates are divided, ascending.
pub(crate) const SCALES: [f64; 9] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// The two senders of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// A node. What its card has not taken yet waits in the node.
    Node,
    /// The switch's port, whose queue is short.
    Port,
}

impl Sender {
    fn shape(self, rate: f64) -> Shape {
        match self {
            Sender::Node => Shape::of_host(BitRate(rate)),
            Sender::Port => Shape::new(BitRate(rate)),
        }
    }
}

/// Limits `device`, a link's sender, to `rate` in bit/s; `None`: removes the limit. `before` is the former rate.
/// Segmentation is off while a rate is set.
pub(super) fn apply(
    netlink: &mut Netlink,
    (sender, device): (Sender, &str),
    before: Option<f64>,
    rate: Option<f64>,
) -> Result<(), Fault> {
    match (before, rate) {
        (_, Some(rate)) => {
            ethtool::set_offloads(device, false)?;
            netlink.shape(device, &sender.shape(rate))
        }
        (Some(_), None) => {
            netlink.unshape(device)?;
            ethtool::set_offloads(device, true)
        }
        (None, None) => Ok(()),
    }
}

/// A note on the rate that was set, and on the rate that a stream reached.
pub(super) fn note(rate: f64, reached: Option<f64>) -> String {
    let (node, port) = (Sender::Node.shape(rate), Sender::Port.shape(rate));
    let got = reached
        .map_or(String::new(), |reached| format!("; a stream got {:.0} % of it", 100.0 * reached / rate));
    format!(
        "links held to {} in each direction, frame headers included: bucket {} B, queue {} in the switch and {} in a \
         node, segmentation off{got}",
        human(rate, "bit/s"),
        port.burst.0,
        human(port.queue.0 as f64, "B"),
        human(node.queue.0 as f64, "B"),
    )
}

/// The fault that a stream reaches only the rate `reached`. `crate::rates` measures which rate the links can keep.
pub(super) fn not_kept(rate: f64, reached: f64) -> Fault {
    Fault::environment(format!(
        "expected links of {}, found that a stream gets {} ({:.0} %): a timer refills the bucket, and each \
         frame costs a core's time, which this machine cannot do so often",
        human(rate, "bit/s"),
        human(reached, "bit/s"),
        100.0 * reached / rate,
    ))
    .at(LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_says_what_a_stream_got() {
        assert!(note(1e9, Some(0.96e9)).ends_with("a stream got 96 % of it"));
        assert!(note(10e6, None).ends_with("segmentation off"));
    }

    #[test]
    fn a_rate_that_is_not_kept_is_a_fault_with_the_rate_of_a_stream() {
        let fault = not_kept(10e9, 2e9);
        assert!(fault.message.contains("2.00 Gbit/s (20 %)"), "{fault}");
        assert_eq!(fault.place.as_deref(), Some(LINKS));
    }
}
