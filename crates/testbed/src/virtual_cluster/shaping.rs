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

/// That this machine cannot hold a rate; `scale` is the least that it can.
pub(super) fn not_held(rate: f64, held: f64, scale: Option<f64>) -> Fault {
    let fault = Fault::environment(format!(
        "expected links of {}, found that a stream gets {} ({:.0} %): a timer refills the bucket, and each \
         frame costs a core's time, which this machine cannot do so often",
        human(rate, "bit/s"),
        human(held, "bit/s"),
        100.0 * held / rate,
    ));
    fault.remedy(match scale {
        Some(scale) => format!(
            "scale rates and data down together: --scale {scale} (or {scale} times the scale that is given) runs \
             links at {}, which it holds; give the program so much less to send",
            human(rate / scale, "bit/s")
        ),
        None => "stop what keeps this machine busy, or measure on a real network".into(),
    })
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
    fn a_rate_that_is_not_held_comes_with_one_that_is() {
        let fault = not_held(10e9, 2e9, Some(20.0));
        assert!(fault.message.contains("2.00 Gbit/s (20 %)"), "{fault}");
        let remedy = fault.remedy.expect("has one");
        assert!(
            remedy.contains("--scale 20 (or 20 times the scale that is given) runs links at 500 Mbit/s"),
            "{remedy}"
        );
        assert!(not_held(10e9, 2e9, None).remedy.expect("has one").contains("busy"));
    }
}
