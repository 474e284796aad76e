//! Holding a link to a rate, and what to tell about it.

use crosstalk_core::Fault;
use crosstalk_core::units::{BitRate, human};
use crosstalk_host::ethtool;
use crosstalk_host::netlink::{Shape, Socket};

/// Below this rate, in bit/s, a bucket of two frames takes half a millisecond
/// to fill: no timer is ever that late, so nothing needs to be measured.
pub(super) const ALWAYS_HELD: f64 = 50e6;

/// A link whose streams get less than this share of its rate is not that link.
pub(super) const ENOUGH: f64 = 0.9;

/// The place of a fault that a rate is not held.
pub(crate) const LINKS: &str = "links between nodes";

/// By how much rates may be scaled down instead, the least first.
pub(crate) const SCALES: [f64; 9] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Has `device` send at `rate` in bit/s, or as fast as it can. Segmentation is
/// off exactly while a rate holds.
pub(super) fn apply(
    netlink: &mut Socket,
    device: &str,
    was: Option<f64>,
    rate: Option<f64>,
) -> Result<(), Fault> {
    match (was, rate) {
        (_, Some(rate)) => {
            ethtool::set_offloads(device, false)?;
            netlink.shape(device, &Shape::new(BitRate(rate)))
        }
        (Some(_), None) => {
            netlink.unshape(device)?;
            ethtool::set_offloads(device, true)
        }
        (None, None) => Ok(()),
    }
}

/// What was set, and what a stream got of it.
pub(super) fn note(rate: f64, held: Option<f64>) -> String {
    let shape = Shape::new(BitRate(rate));
    let got = held.map_or(String::new(), |held| format!("; a stream got {:.0} % of it", 100.0 * held / rate));
    format!(
        "links held to {} in each direction, frame headers included: bucket {} B, queue {}, segmentation off{got}",
        human(rate, "bit/s"),
        shape.burst.0,
        human(shape.queue.0 as f64, "B"),
    )
}

/// That this machine cannot hold a rate. What it could hold instead, `held` in the crate's root finds out.
pub(super) fn not_held(rate: f64, held: f64) -> Fault {
    Fault::environment(format!(
        "expected links of {}, found that a stream gets {} ({:.0} %): a timer refills the bucket, and each \
         frame costs a core's time, which this machine cannot do so often",
        human(rate, "bit/s"),
        human(held, "bit/s"),
        100.0 * held / rate,
    ))
    .at(LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_got_is_told() {
        assert!(note(1e9, Some(0.96e9)).ends_with("a stream got 96 % of it"));
        assert!(note(10e6, None).ends_with("segmentation off"));
    }

    #[test]
    fn a_rate_that_is_not_held_is_named_with_what_a_stream_gets() {
        let fault = not_held(10e9, 2e9);
        assert!(fault.message.contains("2.00 Gbit/s (20 %)"), "{fault}");
        assert_eq!(fault.place.as_deref(), Some(LINKS));
    }
}
