//! The rates that the links of a cluster can keep.

use crosstalk_core::testbed::{Cluster, Link};
use crosstalk_core::units::{BitRate, human};
use crosstalk_core::{Fault, FaultKind};

use crate::virtual_cluster::{LINKS, SCALES};

/// The highest rate that links can keep now: of `rates`, and of `rates` over the usual scales.
/// `None` if they can keep none. Afterwards links are unshaped.
///
/// # Errors
/// An interruption, or the cluster is gone.
pub fn fastest_rate(cluster: &mut dyn Cluster, rates: &[BitRate]) -> Result<Option<BitRate>, Fault> {
    let mut candidates: Vec<f64> =
        rates.iter().flat_map(|rate| scales().map(|scale| rate.0 / scale)).collect();
    candidates.sort_by(f64::total_cmp);
    candidates.dedup();
    // Binary search: links that keep a rate keep all lower ones.
    let (mut kept, mut untried) = (None, &candidates[..]);
    while !untried.is_empty() {
        let (below, middle, above) =
            (&untried[..untried.len() / 2], untried[untried.len() / 2], &untried[untried.len() / 2 + 1..]);
        untried = match cluster.shape(Link::Rate(BitRate(middle))) {
            Ok(_) => {
                kept = Some(BitRate(middle));
                above
            }
            Err(fault) if fault.kind == FaultKind::Interrupted || !cluster.is_up() => return Err(fault),
            Err(_) => below,
        };
    }
    cluster.shape(Link::Unshaped)?;
    Ok(kept)
}

/// The rate that links can keep, as a multiple of the highest rate that is advised. So a machine that is busier
/// later still keeps the advised rate.
pub const HEADROOM: f64 = 2.0;

/// The smallest scale at which `rate` leaves the headroom below the rate `kept` by links.
pub fn scale_for(rate: BitRate, kept: BitRate) -> Option<f64> {
    scales().find(|scale| HEADROOM * rate.0 / scale <= kept.0)
}

/// Adds the scale to use to a fault of [`Cluster::shape`]: links could not keep `rate`, a fabric's, over the given
/// scale. Measures the rate that the cluster can keep. Other faults are returned unchanged.
pub fn with_scale_advice(cluster: &mut dyn Cluster, rate: BitRate, fault: Fault) -> Fault {
    if fault.place.as_deref() != Some(LINKS) {
        return fault;
    }
    let kept = match fastest_rate(cluster, &[rate]) {
        Ok(kept) => kept,
        Err(other) => return other,
    };
    let scale = kept.and_then(|kept| scale_for(rate, kept).map(|scale| (scale, kept)));
    fault.remedy(match scale {
        Some((scale, kept)) => format!(
            "give --scale {scale}: links then run at {}, and this machine holds up to {} now; scale what the program \
             sends down with it, to 1/{scale}",
            human(rate.0 / scale, "bit/s"),
            human(kept.0, "bit/s"),
        ),
        None => "stop what keeps this machine busy, or measure on a real network".into(),
    })
}

fn scales() -> impl Iterator<Item = f64> {
    std::iter::once(1.0).chain(SCALES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::testbed::AgentStream;
    use std::net::{IpAddr, Ipv4Addr};
    use std::path::Path;

    /// A cluster that keeps rates up to the first number, in bit/s; the second number counts tries.
    struct UpTo(f64, usize);

    impl Cluster for UpTo {
        fn nodes(&self) -> usize {
            2
        }

        fn address(&self, _: usize) -> IpAddr {
            Ipv4Addr::LOCALHOST.into()
        }

        fn host(&self, _: usize) -> usize {
            0
        }

        fn shared(&self) -> Option<&Path> {
            None
        }

        fn start_agent(&mut self, _: usize, _: usize) -> Result<AgentStream, Fault> {
            Err(Fault::environment("has no agents"))
        }

        fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault> {
            self.1 += 1;
            match link {
                Link::Rate(rate) if rate.0 > self.0 => Err(Fault::environment("not held").at(LINKS)),
                _ => Ok(Vec::new()),
            }
        }

        fn absences(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn the_fastest_rate_is_found_in_few_tries() {
        let rates = [BitRate(1e9), BitRate(10e9)];
        for (limit, found) in [(2.3e9, Some(2e9)), (20e9, Some(10e9)), (0.9e9, Some(0.5e9)), (10.0, None)] {
            let mut cluster = UpTo(limit, 0);
            let kept = fastest_rate(&mut cluster, &rates).expect("measures");
            assert_eq!(kept.map(|rate| rate.0), found, "{limit}");
            assert!(cluster.1 <= 6, "{} tries", cluster.1);
        }
    }

    #[test]
    fn a_scaled_rate_is_below_half_of_the_rate_that_links_keep() {
        let scale = |rate, kept| scale_for(BitRate(rate), BitRate(kept));
        assert_eq!(scale(1e9, 2e9), Some(1.0));
        assert_eq!(scale(1e9, 1e9), Some(2.0));
        assert_eq!(scale(10e9, 1e9), Some(20.0));
        assert_eq!(scale(10e9, 0.9e9), Some(50.0));
        assert_eq!(scale(10e9, 1.0), None);
    }

    #[test]
    fn a_refusal_names_the_scale_to_use() {
        let refused = |limit| {
            let mut cluster = UpTo(limit, 0);
            // 10 Gbit/s at --scale 5.
            let fault = cluster.shape(Link::Rate(BitRate(2e9))).expect_err("is not held");
            with_scale_advice(&mut cluster, BitRate(10e9), fault).remedy.expect("has one")
        };
        let remedy = refused(1e9);
        assert!(remedy.starts_with("give --scale 20: links then run at 500 Mbit/s"), "{remedy}");
        assert!(refused(1e3).contains("busy"), "it keeps no rate");
        let other = with_scale_advice(&mut UpTo(1e9, 0), BitRate(10e9), Fault::environment("gone"));
        assert_eq!(other.remedy, None, "other faults are unchanged");
    }
}
