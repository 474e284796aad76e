//! How much slower work like the probe's is while background work runs: from pairs of probes, one
//! while it ran and the next while it was paused, or the other way round, milliseconds apart.
//!
//! What disturbs both of a pair alike (other machines on the same host, foreground work itself) cancels
//! out. A pair is the logarithm of a ratio; of several the median counts, which one disturbed probe
//! does not move, and it counts from when its lower bound of 99.5 % (an order statistic: the sign
//! test's) is above nothing. Every step is monotone: a slower probe never makes the estimate less.

use std::collections::VecDeque;

use super::snapshot::Probe;

/// The last pairs, fewer and all that are kept: fewer show sooner what has changed, more what is smaller
/// than probes differ by themselves.
const WINDOWS: [usize; 2] = [32, 128];
const KEPT: usize = WINDOWS[1];
/// The last pairs, of which a large contention is believed at once: where all of them say so. One probe that
/// was disturbed is in two, and pairs that follow each other agree more often than not.
const LAST: usize = 8;
/// The same where contention was over not many pairs ago: it may come back, as where a virtual machine's
/// processors are moved about by its host.
const AGAIN: usize = 4;
/// For so many pairs that may be.
const WARY: usize = 128;
/// A contention that large: beyond what probes differ by themselves.
const LARGE: f64 = 0.08;
/// So many of the last pairs must all say that it is over, and twice as many where it was no larger than what
/// probes differ by themselves: fewer do so by chance now and then. They alone must be able to show what is left.
const OVER: usize = 8;

/// Pairs of one kind of probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    logs: VecDeque<f64>,
    /// The logarithm of what they show.
    shown: f64,
    /// The median of all.
    middle: f64,
    /// For so many pairs it may come back.
    wary: usize,
}

impl Pairs {
    /// Adds a pair: times while background work ran, and while it was paused.
    pub fn add(&mut self, running: f64, paused: f64) {
        let log = (running / paused).ln();
        if !log.is_finite() {
            return;
        }
        if self.logs.len() == KEPT {
            self.logs.pop_front();
        }
        self.logs.push_back(log);
        // It has become less: what was before says nothing any more.
        let over = [OVER, 2 * OVER].into_iter().find(|last| self.is_over(*last));
        if let Some(last) = over {
            self.logs.drain(..self.logs.len() - last);
        }
        let was = self.shown;
        self.show();
        self.wary = if over.is_some() && was > LARGE { WARY } else { self.wary.saturating_sub(1) };
    }

    /// Whether the last ones, so many, all say that it has become less than half.
    fn is_over(&self, last: usize) -> bool {
        let Some(before) = self.logs.len().checked_sub(last).filter(|before| *before > 0) else {
            return false;
        };
        let middle = median(self.logs.iter().take(before));
        let enough = if middle > LARGE { OVER } else { 2 * OVER };
        last >= enough && self.logs.iter().skip(before).all(|log| *log < 0.5 * middle)
    }

    /// How many times as long it takes while background work runs: 1 where nothing is shown.
    pub fn ratio(&self) -> f64 {
        self.shown.exp()
    }

    fn show(&mut self) {
        self.shown = 0.0;
        for window in WINDOWS {
            let sorted = sorted(self.logs.iter().skip(self.logs.len().saturating_sub(window)));
            self.middle = middle(&sorted);
            if lower_bound(&sorted) > 0.0 {
                self.shown = self.shown.max(self.middle);
            }
        }
        let enough = if self.wary > 0 { AGAIN } else { LAST };
        let last = sorted(self.logs.iter().rev().take(enough));
        if last.len() == enough && last[0] > LARGE {
            self.shown = self.shown.max(middle(&last));
        }
    }

    /// Whether the last pair says that there is much more than is shown: once may be by chance.
    fn is_doubted(&self) -> bool {
        self.logs.back().is_some_and(|last| *last > self.shown + LARGE)
    }

    /// Whether there may be more than `matters`, or soon be again, and nothing is shown yet.
    fn is_open(&self, matters: f64) -> bool {
        self.shown == 0.0 && (self.middle > matters || self.wary > 0)
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

/// The median of sorted ones, the lower one of two.
fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

fn median<'a>(logs: impl Iterator<Item = &'a f64>) -> f64 {
    middle(&sorted(logs))
}

/// The order statistic below which the median lies in at most half a percent of cases (sign test, normal
/// approximation), there being two windows; nothing is shown by fewer than 8 pairs. A probe is in two pairs, so that the signs
/// of two that follow each other agree more often than not: their logarithms correlate by a half, their
/// signs by 2/π · asin ½, a third, and the variance of how many are positive is 5/3 of what it would be.
fn lower_bound(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n < 8 {
        return f64::NEG_INFINITY;
    }
    sorted[((n as f64 - 2.576 * (5.0 / 3.0 * n as f64).sqrt()) / 2.0).floor().max(0.0) as usize]
}

/// Pairs of every kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contention {
    kinds: [Pairs; 3],
}

impl Contention {
    /// Adds a pair of each kind.
    pub fn add(&mut self, running: &Probe, paused: &Probe) {
        for (kind, (running, paused)) in
            self.kinds.iter_mut().zip(running.times().into_iter().zip(paused.times()))
        {
            kind.add(running, paused);
        }
    }

    /// The ratios of all kinds: what foreground work is made of is not known, so that the largest counts.
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

    /// Whether more of them would show what matters: there may be so much contention, or soon be again, of which
    /// nothing is shown.
    pub fn is_open(&self, matters: f64) -> bool {
        self.kinds.iter().any(|kind| kind.is_open(matters))
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
        assert_eq!(of(&[1.5; 7]).ratio(), 1.0, "too few for a large one");
        let begun: Vec<f64> = [[1.0; 40].as_slice(), &[1.5; 8]].concat();
        assert!((of(&begun).ratio() - 1.5).abs() < 1e-12, "enough for a large one that begins");
        assert_eq!(of(&[0.9; 20]).ratio(), 1.0, "faster is not slower");
        let small: Vec<f64> = [[1.0; 100].as_slice(), &[1.04; 28]].concat();
        assert!(of(&small).ratio() > 1.0, "a small one that begins is shown before it is half of all");
    }

    #[test]
    fn a_pair_that_says_much_more_is_doubted_until_others_have_decided() {
        assert!(!of(&[1.0; 20]).is_doubted() && of(&[1.0, 1.0, 1.2]).is_doubted());
        assert!(!of(&[1.0, 1.0, 1.2, 1.0]).is_doubted(), "it was by chance");
        assert!(of(&[1.0, 1.0, 1.2, 1.21]).is_doubted(), "it may be one probe, in two pairs");
        let begun = |pairs: usize| [vec![1.0; 40], vec![1.2; pairs]].concat();
        assert!(of(&begun(7)).is_doubted(), "seven are not enough");
        assert!(!of(&begun(8)).is_doubted(), "it was not");
    }

    #[test]
    fn one_disturbed_probe_shows_nothing() {
        assert_eq!(of(&[1.0, 1.0, 9.0, 1.0, 1.0]).ratio(), 1.0);
        assert_eq!(of(&[1.0, 1.0, 9.0, 9.0, 1.0]).ratio(), 1.0, "it is in the pair before and in that after");
        assert_eq!(of(&[1.0, 1.12, 1.12, 1.0, 1.12]).ratio(), 1.0, "nor do two of them, with one between");
        assert_eq!(of(&[f64::NAN, 0.0, f64::INFINITY]).len(), 0);
    }

    #[test]
    fn probes_that_differ_by_themselves_seldom_show_anything() {
        // Ten minutes of two pairs a second, of 200 guards (xorshift64, Marsaglia 2003).
        let (mut seed, mut shown, mut all) = (88_172_645_463_325_252_u64, 0_u32, 0_u32);
        let mut probe = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            1.0 + 0.05 * ((seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
        };
        for _ in 0..200 {
            let (mut pairs, mut paused) = (Pairs::default(), probe());
            for _ in 0..600 {
                let running = probe();
                pairs.add(running, paused);
                paused = probe();
                pairs.add(running, paused);
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
    fn what_comes_back_soon_is_believed_sooner() {
        let mut pairs = of(&[1.5; 32]);
        let mut add = |ratio: f64, count: usize| {
            (0..count).for_each(|_| pairs.add(ratio, 1.0));
            (pairs.ratio(), pairs.is_open(0.01))
        };
        assert_eq!(add(1.0, OVER), (1.0, true), "it is over, and is sampled at");
        assert_eq!(add(1.4, AGAIN - 1), (1.0, true));
        assert!((add(1.4, 1).0 - 1.4).abs() < 1e-12);
        assert_eq!(add(1.0, OVER + AGAIN), (1.0, true), "it is over again");
        assert_eq!(add(1.0, WARY), (1.0, false));
        assert_eq!(add(1.4, AGAIN), (1.0, false), "that is long ago");
    }

    #[test]
    fn each_kind_counts_for_itself() {
        let probe = |latency| Probe { compute: 1.0, latency, bandwidth: 1.0 };
        let mut contention = Contention::default();
        (0..8).for_each(|_| contention.add(&probe(1.4), &probe(1.0)));
        let [compute, latency, _] = contention.ratios();
        assert!(compute == 1.0 && (latency - 1.4).abs() < 1e-12);
        assert_eq!(contention.pairs(), 8);
    }

    proptest! {
        #[test]
        fn a_slower_probe_never_makes_it_less(
            before in prop::collection::vec(0.8_f64..1.6, 0..150),
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
