//! Which of several rates the links of a cluster can be held to.

use crosstalk_core::testbed::{Cluster, Link};
use crosstalk_core::units::{BitRate, human};
use crosstalk_core::{Fault, FaultKind};

use crate::virtual_cluster::{LINKS, SCALES};

/// The fastest of `rates`, or of them over the usual scales, to which links can
/// be held now; `None` where they can be held to none. Links are let go again.
///
/// # Errors
/// Interrupted, or the cluster is gone.
pub fn fastest(cluster: &mut dyn Cluster, rates: &[BitRate]) -> Result<Option<BitRate>, Fault> {
    let mut candidates: Vec<f64> =
        rates.iter().flat_map(|rate| scales().map(|scale| rate.0 / scale)).collect();
    candidates.sort_by(f64::total_cmp);
    candidates.dedup();
    // What holds a rate holds those below it: half the rest is decided by each try.
    let (mut held, mut open) = (None, &candidates[..]);
    while !open.is_empty() {
        let (below, middle, above) =
            (&open[..open.len() / 2], open[open.len() / 2], &open[open.len() / 2 + 1..]);
        open = match cluster.shape(Link::Rate(BitRate(middle))) {
            Ok(_) => {
                held = Some(BitRate(middle));
                above
            }
            Err(fault) if fault.kind == FaultKind::Interrupted || !cluster.is_up() => return Err(fault),
            Err(_) => below,
        };
    }
    cluster.shape(Link::Unshaped)?;
    Ok(held)
}

/// What is advised is at most one part in so many of the rate that is held: a machine that is busier later than
/// it was when it was tried still holds it.
pub const HEADROOM: f64 = 2.0;

/// The least scale at which `rate` leaves the headroom below what is held.
pub fn scale_for(rate: BitRate, held: BitRate) -> Option<f64> {
    scales().find(|scale| HEADROOM * rate.0 / scale <= held.0)
}

/// A fault of [`Cluster::shape`] with the scale to give where links could not be held to `rate`, a fabric's, over
/// the scale that was given. Tries what the cluster holds; other faults stay as they are.
pub fn advised(cluster: &mut dyn Cluster, rate: BitRate, fault: Fault) -> Fault {
    if fault.place.as_deref() != Some(LINKS) {
        return fault;
    }
    let held = match fastest(cluster, &[rate]) {
        Ok(held) => held,
        Err(other) => return other,
    };
    let scale = held.and_then(|held| scale_for(rate, held).map(|scale| (scale, held)));
    fault.remedy(match scale {
        Some((scale, held)) => format!(
            "give --scale {scale}: links then run at {}, and this machine holds up to {} now; scale what the program \
             sends down with it, to 1/{scale}",
            human(rate.0 / scale, "bit/s"),
            human(held.0, "bit/s"),
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

    /// Holds rates up to this many bit/s.
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
            let held = fastest(&mut cluster, &rates).expect("asks");
            assert_eq!(held.map(|rate| rate.0), found, "{limit}");
            assert!(cluster.1 <= 6, "{} tries", cluster.1);
        }
    }

    #[test]
    fn a_scale_brings_a_rate_below_half_of_what_is_held() {
        let scale = |rate, held| scale_for(BitRate(rate), BitRate(held));
        assert_eq!(scale(1e9, 2e9), Some(1.0));
        assert_eq!(scale(1e9, 1e9), Some(2.0));
        assert_eq!(scale(10e9, 1e9), Some(20.0));
        assert_eq!(scale(10e9, 0.9e9), Some(50.0));
        assert_eq!(scale(10e9, 1.0), None);
    }

    #[test]
    fn a_refusal_names_the_number_to_type() {
        let refused = |limit| {
            let mut cluster = UpTo(limit, 0);
            // 10 Gbit/s at --scale 5.
            let fault = cluster.shape(Link::Rate(BitRate(2e9))).expect_err("is not held");
            advised(&mut cluster, BitRate(10e9), fault).remedy.expect("has one")
        };
        let remedy = refused(1e9);
        assert!(remedy.starts_with("give --scale 20: links then run at 500 Mbit/s"), "{remedy}");
        assert!(refused(1e3).contains("busy"), "none is held");
        let other = advised(&mut UpTo(1e9, 0), BitRate(10e9), Fault::environment("gone"));
        assert_eq!(other.remedy, None, "nothing is said of other faults");
    }
}
