//! How much slower work like the probe's is while external work runs: from pairs of probes, one
//! while it ran and the next while it stood still, or the other way round, milliseconds apart.
//!
//! What disturbs both of a pair alike (other machines on the same host, own work itself) cancels
//! out. A pair is the logarithm of a ratio; of several the median counts, which one disturbed probe
//! does not move, and it counts from when its lower bound of 99 % (an order statistic: the sign
//! test's) is above nothing. Every step is monotone: a slower probe never makes the estimate less.

use std::collections::VecDeque;

use super::sense::Probe;

/// Pairs that are kept.
const KEPT: usize = 32;
/// The last pairs, of which a large contention is believed at once: where three of them say so, since one
/// probe that was disturbed is in two.
const LAST: usize = 4;
/// A contention that large: beyond what probes differ by themselves.
const LARGE: f64 = 0.08;
/// So many of the last pairs must all say that it is over: fewer do so by chance where it is no
/// larger than what probes differ by themselves, and they alone must be able to show what is left.
const OVER: usize = 8;

/// Pairs of one kind of probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    logs: VecDeque<f64>,
}

impl Pairs {
    /// Adds a pair: times while external work ran, and while it stood still.
    pub fn add(&mut self, running: f64, still: f64) {
        let log = (running / still).ln();
        if !log.is_finite() {
            return;
        }
        if self.logs.len() == KEPT {
            self.logs.pop_front();
        }
        self.logs.push_back(log);
        // It has become less: what was before says nothing any more.
        let before = self.logs.len().saturating_sub(OVER);
        let half = 0.5 * median(self.logs.iter().take(before));
        if before > 0 && self.logs.iter().skip(before).all(|log| *log < half) {
            self.logs.drain(..before);
        }
    }

    /// The median of the last ones.
    fn last(&self, count: usize) -> f64 {
        median(self.logs.iter().skip(self.logs.len().saturating_sub(count)))
    }

    /// How many times as long it takes while external work runs: 1 where nothing is shown.
    pub fn ratio(&self) -> f64 {
        let mut shown: f64 = 0.0;
        if self.lower_bound() > 0.0 {
            shown = median(self.logs.iter());
        }
        if self.logs.len() >= LAST && self.last(LAST) > LARGE {
            shown = shown.max(self.last(LAST));
        }
        shown.max(0.0).exp()
    }

    /// Whether the last pair says that there is much more than is shown: once may be by chance.
    fn is_doubted(&self) -> bool {
        self.logs.back().is_some_and(|last| *last > self.ratio().ln() + LARGE)
    }

    /// The order statistic below which the median lies in at most 1 % of cases (sign test, normal
    /// approximation); nothing is shown by fewer than 8 pairs. A probe is in two pairs, so that the signs
    /// of two that follow each other agree more often than not: their logarithms correlate by a half, their
    /// signs by 2/π · asin ½, a third, and the variance of how many are positive is 5/3 of what it would be.
    fn lower_bound(&self) -> f64 {
        let n = self.logs.len();
        if n < 8 {
            return f64::NEG_INFINITY;
        }
        let rank = ((n as f64 - 2.326 * (5.0 / 3.0 * n as f64).sqrt()) / 2.0).floor().max(0.0) as usize;
        sorted(self.logs.iter())[rank]
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.logs.len()
    }
}

fn sorted<'a>(logs: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = logs.copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median, the lower one of two.
fn median<'a>(logs: impl Iterator<Item = &'a f64>) -> f64 {
    let sorted = sorted(logs);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Pairs of every kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contention {
    kinds: [Pairs; 3],
}

impl Contention {
    /// Adds a pair of each kind.
    pub fn add(&mut self, running: &Probe, still: &Probe) {
        for (kind, (running, still)) in
            self.kinds.iter_mut().zip(running.times().into_iter().zip(still.times()))
        {
            kind.add(running, still);
        }
    }

    /// The largest ratio of all kinds, and which kind that is: what own work is made of is not
    /// known, so the worst is expected.
    pub fn worst(&self) -> (f64, usize) {
        let ratios = self.kinds.iter().map(Pairs::ratio).enumerate();
        ratios.fold((1.0, 0), |worst, (kind, ratio)| if ratio > worst.0 { (ratio, kind) } else { worst })
    }

    /// The ratios of all kinds.
    pub fn ratios(&self) -> [f64; 3] {
        [0, 1, 2].map(|kind| self.kinds[kind].ratio())
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.kinds[0].len()
    }

    /// Whether the next pairs should come soon: the last one says that there is much more than is shown.
    pub fn is_doubted(&self) -> bool {
        self.kinds.iter().any(Pairs::is_doubted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[f64]) -> Pairs {
        let mut all = Pairs::default();
        pairs.iter().for_each(|ratio| all.add(*ratio, 1.0));
        all
    }

    #[test]
    fn equal_probes_show_nothing_and_a_steady_ratio_shows_itself() {
        assert_eq!(of(&[1.0; 20]).ratio(), 1.0);
        assert!((of(&[1.03; 20]).ratio() - 1.03).abs() < 1e-12);
        assert_eq!(of(&[1.03; 7]).ratio(), 1.0, "too few for a small one");
        assert!((of(&[1.5; 4]).ratio() - 1.5).abs() < 1e-12, "enough for a large one");
        assert_eq!(of(&[0.9; 20]).ratio(), 1.0, "faster is not slower");
    }

    #[test]
    fn a_pair_that_says_much_more_is_doubted_until_others_have_decided() {
        assert!(!of(&[1.0; 20]).is_doubted() && of(&[1.0, 1.0, 1.2]).is_doubted());
        assert!(!of(&[1.0, 1.0, 1.2, 1.0]).is_doubted(), "it was by chance");
        assert!(of(&[1.0, 1.0, 1.2, 1.21]).is_doubted(), "it may be one probe, in two pairs");
        assert!(!of(&[1.0, 1.0, 1.2, 1.21, 1.2]).is_doubted(), "it was not");
    }

    #[test]
    fn one_disturbed_probe_shows_nothing() {
        assert_eq!(of(&[1.0, 1.0, 9.0, 1.0, 1.0]).ratio(), 1.0);
        assert_eq!(of(&[1.0, 1.0, 9.0, 9.0, 1.0]).ratio(), 1.0, "it is in the pair before and in that after");
        assert_eq!(of(&[f64::NAN, 0.0, f64::INFINITY]).len(), 0);
    }

    #[test]
    fn probes_that_differ_by_themselves_seldom_show_anything() {
        // Ten minutes of a pair of turns a second, of 200 guards (xorshift64, Marsaglia 2003).
        let (mut seed, mut shown, mut all) = (88_172_645_463_325_252_u64, 0_u32, 0_u32);
        let mut probe = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            1.0 + 0.05 * ((seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
        };
        for _ in 0..200 {
            let (mut pairs, mut still) = (Pairs::default(), probe());
            for _ in 0..600 {
                let running = probe();
                pairs.add(running, still);
                still = probe();
                pairs.add(running, still);
                (shown, all) = (shown + u32::from(pairs.ratio() > 1.0), all + 1);
            }
        }
        let share = f64::from(shown) / f64::from(all);
        assert!(share < 0.015, "{share}");
    }

    #[test]
    fn what_is_over_is_forgotten_after_a_few_pairs() {
        let mut pairs = of(&[1.5; 32]);
        (0..OVER).for_each(|_| pairs.add(1.0, 1.0));
        assert_eq!(pairs.ratio(), 1.0);
        assert!(pairs.len() <= OVER + 1);
    }

    #[test]
    fn the_worst_kind_is_named() {
        let probe = |latency| Probe { compute: 1.0, latency, bandwidth: 1.0 };
        let mut contention = Contention::default();
        (0..8).for_each(|_| contention.add(&probe(1.4), &probe(1.0)));
        let (ratio, kind) = contention.worst();
        assert!((ratio - 1.4).abs() < 1e-12);
        assert_eq!(Probe::KINDS[kind], "memory latency");
        assert_eq!(contention.pairs(), 8);
    }

    proptest! {
        #[test]
        fn a_slower_probe_never_makes_it_less(
            before in prop::collection::vec(0.8_f64..1.6, 0..40),
            ratio in 0.8_f64..1.6,
            more in 0.0_f64..0.5,
        ) {
            let (mut less, mut greater) = (of(&before), of(&before));
            less.add(ratio, 1.0);
            greater.add(ratio + more, 1.0);
            prop_assert!(greater.ratio() >= less.ratio(), "{} < {}", greater.ratio(), less.ratio());
        }
    }
}
