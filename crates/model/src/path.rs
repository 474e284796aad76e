//! The latency of a path: the sum of its components, of serialising the message,
//! and of queueing behind other messages.
//!
//! The head of a message takes the sum of the components' latencies. The rest
//! takes size / rate, once for the last link, and once more for every
//! store-and-forward component. Behind other messages it waits at each port: on
//! average ρ / (2 (1 − ρ)) transmission times in an M/D/1 queue. Its arrivals are
//! Poisson, its messages have one size, and a port is busy for the share ρ of the
//! time (Pollaczek 1930, Khinchine 1932). Real traffic is bursty and waits longer:
//! queueing is a model, and is reported separately.

use crosstalk_core::interconnect::{Component, ComponentKind, Hop};
use crosstalk_core::units::{BitRate, Bytes, Seconds};

/// A latency from `low` to `high`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyRange {
    /// The least.
    pub low: f64,
    /// The greatest; `None`: not known.
    pub high: Option<f64>,
}

impl LatencyRange {
    /// A range that is one value.
    pub fn exactly(seconds: f64) -> Self {
        LatencyRange { low: seconds, high: Some(seconds) }
    }

    /// The range times `n`.
    #[must_use]
    pub fn times(self, n: f64) -> Self {
        LatencyRange { low: self.low * n, high: self.high.map(|high| high * n) }
    }
}

impl std::ops::Add for LatencyRange {
    type Output = LatencyRange;

    /// The sum; its greatest value is known if both are.
    fn add(self, other: LatencyRange) -> LatencyRange {
        let high = self.high.zip(other.high).map(|(a, b)| a + b);
        LatencyRange { low: self.low + other.low, high }
    }
}

impl std::iter::Sum for LatencyRange {
    fn sum<I: Iterator<Item = LatencyRange>>(spans: I) -> LatencyRange {
        spans.fold(LatencyRange::exactly(0.0), |a, b| a + b)
    }
}

/// A message, and the other messages on its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// The size of every message.
    pub size: Bytes,
    /// The links' rate.
    pub rate: BitRate,
    /// The share of time for which other messages keep each port busy, from 0 to below 1.
    pub utilisation: f64,
}

impl Traffic {
    /// The time that one link takes to transmit a message, in seconds.
    fn transmission_time(&self) -> f64 {
        self.size.0 as f64 * 8.0 / self.rate.0
    }

    /// The mean wait at one port, in seconds (M/D/1).
    pub fn mean_wait(&self) -> f64 {
        self.utilisation / (2.0 * (1.0 - self.utilisation)) * self.transmission_time()
    }
}

/// The latency of a path, in parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// The latency of each hop, for the head of the message.
    pub hops: Vec<LatencyRange>,
    /// The time of transmitting the message, over all links, in seconds.
    pub serialising: f64,
    /// The mean wait behind other messages, over all ports, in seconds: by the M/D/1 model.
    pub queueing: f64,
}

impl Latency {
    /// Adds up a path of hops with their components. Without `traffic`: for the head of a
    /// message alone on the path.
    pub fn of_path(path: &[(&Hop, &Component)], traffic: Option<&Traffic>) -> Self {
        let hops = path.iter().map(|(hop, component)| range(hop, component)).collect();
        let count = |matches: fn(ComponentKind) -> bool| {
            path.iter().filter(|(_, component)| matches(component.kind)).count() as f64
        };
        let stores = count(|kind| kind == ComponentKind::StoreAndForward);
        let queues = count(ComponentKind::has_queue);
        Latency {
            hops,
            serialising: traffic.map_or(0.0, |traffic| (1.0 + stores) * traffic.transmission_time()),
            queueing: traffic.map_or(0.0, |traffic| queues * traffic.mean_wait()),
        }
    }

    /// The latency of a message's head: that is what vendors publish.
    pub fn head(&self) -> LatencyRange {
        self.hops.iter().copied().sum()
    }

    /// End to end, with serialising and queueing.
    pub fn total(&self) -> LatencyRange {
        self.head() + LatencyRange::exactly(self.serialising + self.queueing)
    }
}

/// The latency of a hop; that of a cable is per metre.
fn range(hop: &Hop, component: &Component) -> LatencyRange {
    let one = LatencyRange { low: component.low.0, high: component.high.map(|Seconds(high)| high) };
    one.times(hop.length.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::fabric::Source;
    use proptest::prelude::*;

    fn component(kind: ComponentKind, low: f64, high: Option<f64>) -> Component {
        Component {
            title: "C".into(),
            low: Seconds(low),
            high: high.map(Seconds),
            kind,
            measured: None,
            source: Source { text: "a test".into(), ..Source::default() },
        }
    }

    fn hop(length: Option<f64>) -> Hop {
        Hop { component: "c".into(), length }
    }

    #[test]
    fn the_published_example_of_a_pcie_fabric() {
        // 270 + 25 (5 m) + 130 + 25 + 270 = 720 ns.
        let nic = component(ComponentKind::Passes, 270e-9, Some(450e-9));
        let cable = component(ComponentKind::Cable, 5e-9, Some(5e-9));
        let switch = component(ComponentKind::CutThrough, 130e-9, Some(150e-9));
        let (point, five) = (hop(None), hop(Some(5.0)));
        let path = [(&point, &nic), (&five, &cable), (&point, &switch), (&five, &cable), (&point, &nic)];
        let total = Latency::of_path(&path, None).total();
        assert!((total.low - 720e-9).abs() < 1e-15, "{total:?}");
        assert!((total.high.expect("known") - 1100e-9).abs() < 1e-15, "{total:?}");
    }

    #[test]
    fn the_greatest_sum_is_unknown_if_one_part_is() {
        let (known, open) =
            (component(ComponentKind::Passes, 1.0, Some(2.0)), component(ComponentKind::Passes, 3.0, None));
        let point = hop(None);
        let total = Latency::of_path(&[(&point, &known), (&point, &open)], None).total();
        assert_eq!(total, LatencyRange { low: 4.0, high: None });
    }

    #[test]
    fn a_message_is_serialised_once_and_at_every_store_and_forward_switch() {
        let (whole, through) = (
            component(ComponentKind::StoreAndForward, 0.0, Some(0.0)),
            component(ComponentKind::CutThrough, 0.0, Some(0.0)),
        );
        let point = hop(None);
        // 1,250 B at 10 Gbit/s take a microsecond.
        let traffic = Traffic { size: Bytes(1250), rate: BitRate(10e9), utilisation: 0.0 };
        let takes = |path: &[(&Hop, &Component)]| Latency::of_path(path, Some(&traffic)).total().low;
        assert!((takes(&[(&point, &through)]) - 1e-6).abs() < 1e-15);
        assert!((takes(&[(&point, &whole), (&point, &whole)]) - 3e-6).abs() < 1e-15);
    }

    #[test]
    fn queueing_is_that_of_an_m_d_1_queue() {
        // ρ = 1/2: half a transmission time; ρ = 0.9: 4.5 of them. Cables and cards have no queue.
        let (switch, cable) = (
            component(ComponentKind::CutThrough, 0.0, Some(0.0)),
            component(ComponentKind::Cable, 0.0, Some(0.0)),
        );
        let (point, five) = (hop(None), hop(Some(5.0)));
        let waits = |utilisation| {
            let traffic = Traffic { size: Bytes(1250), rate: BitRate(10e9), utilisation };
            Latency::of_path(&[(&point, &switch), (&five, &cable)], Some(&traffic)).queueing
        };
        assert!((waits(0.5) - 0.5e-6).abs() < 1e-15);
        assert!((waits(0.9) - 4.5e-6).abs() < 1e-15);
        assert_eq!(waits(0.0), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// The formula against the queue itself: Lindley's recursion over Poisson arrivals.
        #[test]
        fn a_simulated_queue_waits_as_long(utilisation in 0.1_f64..0.7, seed: u64) {
            let traffic = Traffic { size: Bytes(125), rate: BitRate(1e9), utilisation };
                        let service = traffic.transmission_time();
            let (mut state, mut waiting, mut sum) = (seed | 1, 0.0_f64, 0.0);
            let n = 200_000;
            for _ in 0..n {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                let gap = -unit.ln() * service / utilisation;
                waiting = (waiting + service - gap).max(0.0);
                sum += waiting;
            }
                        let ratio = sum / n as f64 / traffic.mean_wait();
            prop_assert!((0.9..1.1).contains(&ratio), "{ratio} at {utilisation}");
        }
    }
}
