//! The latency of a path, added up from its components, with what a message's
//! size and other messages add to it.
//!
//! The head of a message takes the sum of the components' latencies. The rest of
//! it follows after size / rate, once for the last link, and once more for every
//! component that receives it whole before sending it on. Where other messages
//! use the same ports, it waits at each of them: on average ρ / (2 (1 − ρ))
//! services in an M/D/1 queue (Poisson arrivals, messages of one size, a port busy
//! for the share ρ of the time; Pollaczek 1930, Khinchine 1932). Real traffic comes
//! in bursts and waits longer: that part is a model, and is told apart.

use crosstalk_core::interconnect::{Component, ComponentKind, Hop};
use crosstalk_core::units::{BitRate, Bytes, Seconds};

/// From at least `low` to at most `high` seconds; without `high`: and up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// At least.
    pub low: f64,
    /// At most, where that is known.
    pub high: Option<f64>,
}

impl Span {
    /// Exactly so much.
    pub fn exactly(seconds: f64) -> Self {
        Span { low: seconds, high: Some(seconds) }
    }

    /// So many times this.
    #[must_use]
    pub fn times(self, n: f64) -> Self {
        Span { low: self.low * n, high: self.high.map(|high| high * n) }
    }
}

impl std::ops::Add for Span {
    type Output = Span;

    /// What is not known stays unknown.
    fn add(self, other: Span) -> Span {
        let high = self.high.zip(other.high).map(|(a, b)| a + b);
        Span { low: self.low + other.low, high }
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::exactly(0.0), |a, b| a + b)
    }
}

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Bytes of the message, and of all others.
    pub size: Bytes,
    /// Of the links.
    pub rate: BitRate,
    /// The share of the time that each port on the way is busy with other messages, below 1.
    pub utilisation: f64,
}

impl Traffic {
    /// What sending one message takes, in seconds.
    fn service(&self) -> f64 {
        self.size.0 as f64 * 8.0 / self.rate.0
    }

    /// The mean wait at one port, in seconds (M/D/1).
    pub fn wait(&self) -> f64 {
        self.utilisation / (2.0 * (1.0 - self.utilisation)) * self.service()
    }
}

/// What a path takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// Of each hop, for the head of the message.
    pub hops: Vec<Span>,
    /// What its size adds, over all links.
    pub serialising: f64,
    /// What other messages add on average: by a model.
    pub queueing: f64,
}

impl Latency {
    /// Adds up a path of hops with their components.
    pub fn of(path: &[(&Hop, &Component)], traffic: Option<&Traffic>) -> Self {
        let hops = path.iter().map(|(hop, component)| span(hop, component)).collect();
        let count = |wanted: fn(ComponentKind) -> bool| {
            path.iter().filter(|(_, component)| wanted(component.kind)).count() as f64
        };
        let whole = count(|kind| kind == ComponentKind::StoreAndForward);
        let queues = count(ComponentKind::queues);
        Latency {
            hops,
            serialising: traffic.map_or(0.0, |traffic| (1.0 + whole) * traffic.service()),
            queueing: traffic.map_or(0.0, |traffic| queues * traffic.wait()),
        }
    }

    /// For the head of a message, which is what is published.
    pub fn head(&self) -> Span {
        self.hops.iter().copied().sum()
    }

    /// End to end, the size and the waiting included.
    pub fn total(&self) -> Span {
        self.head() + Span::exactly(self.serialising + self.queueing)
    }
}

fn span(hop: &Hop, component: &Component) -> Span {
    let one = Span { low: component.low.0, high: component.high.map(|Seconds(high)| high) };
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
            source: Source { text: "a test".into(), calibration: false },
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
        let total = Latency::of(&path, None).total();
        assert!((total.low - 720e-9).abs() < 1e-15, "{total:?}");
        assert!((total.high.expect("known") - 1100e-9).abs() < 1e-15, "{total:?}");
    }

    #[test]
    fn what_one_part_leaves_open_the_whole_leaves_open() {
        let (known, open) =
            (component(ComponentKind::Passes, 1.0, Some(2.0)), component(ComponentKind::Passes, 3.0, None));
        let point = hop(None);
        let total = Latency::of(&[(&point, &known), (&point, &open)], None).total();
        assert_eq!(total, Span { low: 4.0, high: None });
    }

    #[test]
    fn a_message_is_serialised_once_and_at_every_switch_that_takes_it_whole() {
        let (whole, through) = (
            component(ComponentKind::StoreAndForward, 0.0, Some(0.0)),
            component(ComponentKind::CutThrough, 0.0, Some(0.0)),
        );
        let point = hop(None);
        // 1,250 B at 10 Gbit/s take a microsecond.
        let traffic = Traffic { size: Bytes(1250), rate: BitRate(10e9), utilisation: 0.0 };
        let takes = |path: &[(&Hop, &Component)]| Latency::of(path, Some(&traffic)).total().low;
        assert!((takes(&[(&point, &through)]) - 1e-6).abs() < 1e-15);
        assert!((takes(&[(&point, &whole), (&point, &whole)]) - 3e-6).abs() < 1e-15);
    }

    #[test]
    fn waiting_is_as_in_an_m_d_1_queue() {
        // ρ = 1/2: half a service; ρ = 0.9: 4.5 services. Cables and cards have no queue.
        let (switch, cable) = (
            component(ComponentKind::CutThrough, 0.0, Some(0.0)),
            component(ComponentKind::Cable, 0.0, Some(0.0)),
        );
        let (point, five) = (hop(None), hop(Some(5.0)));
        let waits = |utilisation| {
            let traffic = Traffic { size: Bytes(1250), rate: BitRate(10e9), utilisation };
            Latency::of(&[(&point, &switch), (&five, &cable)], Some(&traffic)).queueing
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
            let service = traffic.service();
            let (mut state, mut waiting, mut sum) = (seed | 1, 0.0_f64, 0.0);
            let n = 200_000;
            for _ in 0..n {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                let gap = -unit.ln() * service / utilisation;
                waiting = (waiting + service - gap).max(0.0);
                sum += waiting;
            }
            let ratio = sum / n as f64 / traffic.wait();
            prop_assert!((0.9..1.1).contains(&ratio), "{ratio} at {utilisation}");
        }
    }
}
