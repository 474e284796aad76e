//! Holding a link to a rate, and what to tell about it.

use crosstalk_core::Fault;
use crosstalk_core::units::{BitRate, human};
use crosstalk_host::ethtool;
use crosstalk_host::netlink::{Shape, Socket};

/// Below this rate, in bit/s, a bucket of two frames takes half a millisecond
/// to fill: no timer is ever that late, so nothing needs to be measured.
pub(super) const ALWAYS_HELD: f64 = 50e6;

/// Streams that get less than this share of the rate are told about.
const ENOUGH: f64 = 0.95;

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

/// What was set, and what of it this machine holds.
pub(super) fn notes(rate: f64, held: Option<f64>) -> Vec<String> {
    let shape = Shape::new(BitRate(rate));
    let mut notes = vec![format!(
        "links held to {} in each direction, frame headers included: bucket {} B, queue {}, segmentation off",
        human(rate, "bit/s"),
        shape.burst.0,
        human(shape.queue.0 as f64, "B"),
    )];
    if let Some(held) = held.filter(|held| *held < ENOUGH * rate) {
        notes.push(format!(
            "this machine does not hold {}: a stream got {} ({:.0} %): a timer refills the bucket, \
             and each frame costs a core's time; scale the rate and the data down together",
            human(rate, "bit/s"),
            human(held, "bit/s"),
            100.0 * held / rate,
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_not_held_is_told() {
        assert_eq!(notes(1e9, Some(0.96e9)).len(), 1);
        assert_eq!(notes(10e6, None).len(), 1);
        let told = notes(10e9, Some(2e9)).join("\n");
        assert!(told.contains("2.00 Gbit/s (20 %)"), "{told}");
    }
}
