//! On how many processors background work runs. Contention mostly grows faster than their number, so
//! that fewer of them for more of the time may donate more within the same budget. Each halving of
//! the number is an item with a ratio of its own; now and then a neighbour of the one in use is
//! tried for some turns.

use super::duty::share;
use super::estimate::Contention;
use super::sense::Probe;

/// Pairs between two tries.
const USE: usize = 48;
/// Pairs of a try.
const TRY: usize = 8;
/// By so much another must donate more to be taken: what differs less is noise.
const BETTER: f64 = 1.15;

/// The items: all processors, half of them, a quarter …, one.
#[derive(Debug, Clone, PartialEq)]
pub struct Menu {
    items: Vec<(usize, Contention)>,
    chosen: usize,
    /// The one that is tried, and how many pairs it still gets.
    trial: Option<(usize, usize)>,
    pairs: usize,
}

impl Menu {
    /// Of a host with so many processors; only all of them where they cannot be chosen.
    pub fn new(cores: usize, choice: bool) -> Self {
        let mut items = vec![(cores, Contention::default())];
        let mut count = cores / 2;
        while choice && count > 0 {
            items.push((count, Contention::default()));
            count /= 2;
        }
        Menu { items, chosen: 0, trial: None, pairs: 0 }
    }

    fn at(&self) -> usize {
        self.trial.map_or(self.chosen, |(item, _)| item)
    }

    /// The number in use.
    pub fn cores(&self) -> usize {
        self.items[self.at()].0
    }

    /// The contention with the number in use.
    pub fn contention(&self) -> &Contention {
        &self.items[self.at()].1
    }

    /// The ratios of each kind that are to be reckoned with. A number that is tried is taken for as bad as the
    /// chosen one until its own pairs tell: to find out must not cost foreground work more than was agreed on.
    pub fn ratios(&self) -> [f64; 3] {
        let (foreground, chosen) = (self.contention(), self.items[self.chosen].1.ratios());
        let known = foreground.pairs() >= TRY;
        let mut ratios = foreground.ratios();
        for (ratio, chosen) in ratios.iter_mut().zip(chosen) {
            *ratio = if known { *ratio } else { ratio.max(chosen) };
        }
        ratios
    }

    /// Takes a pair in, of the number in use. `extra` is a ratio that is not the probes', `room`
    /// what foreground work leaves, `budget` the slowdown agreed on.
    pub fn add(&mut self, running: &Probe, still: &Probe, extra: f64, room: f64, budget: f64) {
        let at = self.at();
        self.items[at].1.add(running, still);
        self.pairs += 1;
        match &mut self.trial {
            Some((_, left)) if *left > 1 => *left -= 1,
            Some(_) => {
                self.trial = None;
                self.choose(extra, room, budget);
            }
            None => {
                let tight = share(budget, self.contention().worst() * extra) < 0.9;
                // Where foreground work leaves one processor, fewer is no choice.
                if tight && self.pairs >= USE && self.items.len() > 1 && room > 1.5 {
                    self.pairs = 0;
                    self.trial = Some((self.neighbour(), TRY));
                }
            }
        }
    }

    /// Of the next ones the one that less is known of.
    fn neighbour(&self) -> usize {
        let (fewer, more) = (self.chosen + 1, self.chosen.wrapping_sub(1));
        let known = |item: usize| self.items.get(item).map(|(_, contention)| contention.pairs());
        match (known(fewer), known(more)) {
            (Some(a), Some(b)) => {
                if b < a {
                    more
                } else {
                    fewer
                }
            }
            (Some(_), None) => fewer,
            _ => more,
        }
    }

    /// Processors' worth of work that an item donates, within the budget.
    fn donates(&self, item: usize, extra: f64, room: f64, budget: f64) -> f64 {
        let (cores, contention) = &self.items[item];
        (*cores as f64).min(room) * share(budget, contention.worst() * extra)
    }

    fn choose(&mut self, extra: f64, room: f64, budget: f64) {
        let now = self.donates(self.chosen, extra, room, budget) * BETTER;
        let tried = (0..self.items.len()).filter(|item| self.items[*item].1.pairs() >= TRY);
        let best = tried.map(|item| (self.donates(item, extra, room, budget), item));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, item)) = best.filter(|(donated, _)| *donated > now) {
            self.chosen = item;
        }
    }

    /// Begins again with all of them: foreground work is another one. What is known stays a first guess.
    pub fn rewind(&mut self) {
        (self.chosen, self.trial, self.pairs) = (0, None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn still() -> Probe {
        Probe { compute: 1.0, latency: 1.0, bandwidth: 1.0 }
    }

    /// After so many pairs on a host whose contention with `n` processors is `ratio(n)`.
    fn after(pairs: usize, cores: usize, ratio: impl Fn(usize) -> f64) -> Menu {
        let mut menu = Menu::new(cores, true);
        for _ in 0..pairs {
            let running = Probe { latency: ratio(menu.cores()), ..still() };
            menu.add(&running, &still(), 1.0, cores as f64 - 1.0, 0.05);
        }
        menu
    }

    #[test]
    fn where_contention_grows_fast_fewer_are_taken() {
        // Donated: 7 × 0.0952 with all, 4 × 0.30 with half, 2 × 0.52 with a quarter.
        let menu = after(600, 8, |n| 1.0 + 0.0156 * (n * n) as f64);
        assert_eq!(menu.cores(), 2);
    }

    #[test]
    fn where_it_is_the_same_all_are_kept() {
        assert_eq!(after(600, 8, |_| 1.5).chosen, 0);
        assert_eq!(after(600, 8, |_| 1.0).chosen, 0);
    }

    #[test]
    fn a_number_that_is_tried_is_no_better_than_the_chosen_one_until_it_is_known() {
        let mut menu = after(USE, 8, |_| 1.5);
        assert_eq!((menu.cores(), menu.contention().pairs()), (4, 0), "half of them are tried");
        for _ in 1..TRY {
            menu.add(&still(), &still(), 1.0, 7.0, 0.05);
            assert!((menu.ratios()[1] - 1.5).abs() < 1e-12, "{:?}", menu.ratios());
        }
        menu.add(&still(), &still(), 1.0, 7.0, 0.05);
        assert_eq!((menu.cores(), menu.ratios()), (4, [1.0; 3]), "it costs nothing, and is taken");
    }

    #[test]
    fn one_processor_is_no_choice() {
        assert_eq!(after(300, 1, |_| 2.0).cores(), 1);
        assert_eq!(Menu::new(8, false).items.len(), 1);
    }
}
