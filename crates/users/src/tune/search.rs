//! The search: which groupings are run, and which is chosen.
//!
//! First each way to divide and limit users is run once, at a middle number of groups, then more and fewer groups with
//! the best of them. The better half then runs again and again, halved each time: *sequential halving* (Karnin, Koren
//! and Somekh 2013, "Almost Optimal Exploration in Multi-Armed Bandits"). All that are compared have run in the same
//! blocks: with the same seed, and about the same time. A run that takes longer than [`CAP`] times plain's is cut off,
//! as in adaptive capping (Hutter et al. 2009, "ParamILS").
//!
//! It knows no machine: a function runs a grouping.

use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;

use super::grouping::Grouping;
use super::neighbours::{CLIFF, common_blocks, fewer, more, most_alike};
use super::run::{Ending, Run};

/// A run is cut off after so many times of plain's first one.
pub const CAP: f64 = 1.5;
/// The most groupings that are run again.
const AGAIN: usize = 6;
/// Estimates that differ by this share at most are equal: the simpler grouping is chosen.
const EQUAL: f64 = 0.01;
/// After so many blocks a leader that won each of them against all others needs no more, and neither do equals.
const ENOUGH: usize = 4;

/// Runs a grouping in a block; it may take so many seconds.
pub type Measure<'a, M> = &'a mut dyn FnMut(&Grouping, usize, Option<f64>) -> Result<Ending<M>, Fault>;

/// A search, and what it has run so far.
pub struct Search<'a, M> {
    space: &'a [Grouping],
    budget: usize,
    random: Rng,
    runs: Vec<Run<M>>,
    measure: Measure<'a, M>,
}

/// What a search has found.
#[derive(Debug)]
pub struct SearchResult<M> {
    /// The grouping that it takes for the best.
    pub best: Grouping,
    /// All runs, in the order in which they were made.
    pub runs: Vec<Run<M>>,
}

/// Searches `space` with `budget` runs at most, of which `before` were made: plain's in block 0 is among them.
///
/// # Errors
/// Those of `measure`.
pub fn search<M>(
    space: &[Grouping],
    budget: usize,
    seed: u64,
    before: Vec<Run<M>>,
    measure: Measure<M>,
) -> Result<SearchResult<M>, Fault> {
    let mut search = Search { space, budget, random: Rng::seeded(seed), runs: before, measure };
    let screened = search.screen()?;
    let best = search.halve(screened)?;
    search.look_around(best)?;
    Ok(SearchResult { best, runs: search.runs })
}

impl<M> Search<'_, M> {
    /// Runs those that promise most once each. Returns all that ended well, the best first.
    fn screen(&mut self) -> Result<Vec<Grouping>, Fault> {
        let mut counts: Vec<usize> = self.space.iter().map(|grouping| grouping.groups).collect();
        counts.dedup();
        counts.retain(|groups| *groups > 1);
        let Some(&middle) = counts.get(counts.len() / 2) else { return Ok(vec![Grouping::PLAIN]) };
        // Half of the budget is for running again.
        let most = self.budget.div_ceil(2).max(self.runs.len());
        let space = self.space;
        for grouping in space.iter().filter(|grouping| grouping.groups == middle) {
            self.once(*grouping, most)?;
        }
        // More groups, and fewer, as long as that is better.
        let mut best = self.ranked()[0];
        let at = counts.iter().position(|groups| *groups == best.groups);
        let (below, above) = at.map_or((&[][..], &counts[..]), |at| (&counts[..at], &counts[at + 1..]));
        for counts in [above.to_vec(), below.iter().rev().copied().collect()] {
            for groups in counts {
                let Some(next) = most_alike(self.space, best, groups) else { break };
                self.once(next, most)?;
                if self.ranked()[0] != next {
                    break;
                }
                best = next;
            }
        }
        // The other ways to divide and limit users with that number of groups.
        let others = space.iter().filter(|other| {
            other.groups == best.groups && (other.who == best.who || other.limits == best.limits)
        });
        for other in others {
            self.once(*other, most)?;
        }
        Ok(self.ranked())
    }

    /// Runs the better half of these again until one is left, or as often as the budget allows.
    fn halve(&mut self, screened: Vec<Grouping>) -> Result<Grouping, Fault> {
        let mut left: Vec<Grouping> = screened;
        left.truncate(left.len().div_ceil(2).clamp(2, AGAIN));
        // Two runs are for what is beside the best.
        let budget = self.budget.saturating_sub(2);
        let mut rounds = (left.len() as f64).log2().ceil() as usize;
        let mut block = 1;
        while left.len() > 1 && rounds > 0 {
            let times = (budget.saturating_sub(self.runs.len()) / (left.len() * rounds)).max(1);
            for _ in 0..times {
                if self.runs.len() + left.len() > budget {
                    return Ok(self.simplest(&left));
                }
                let mut order = left.clone();
                self.random.shuffle(&mut order);
                order.into_iter().try_for_each(|grouping| self.run(grouping, block))?;
                block += 1;
                left.retain(|grouping| self.score(*grouping, block).is_some());
                self.sort(&mut left, block);
                if self.is_decided(&left, block) {
                    return Ok(self.simplest(&left));
                }
            }
            left.truncate(left.len().div_ceil(2));
            rounds -= 1;
        }
        Ok(self.simplest(&left))
    }

    /// Runs the neighbours of the best in the last block in which it ran, so that what is beyond it is known: fewer
    /// groups, and more of them until that falls off.
    fn look_around(&mut self, best: Grouping) -> Result<(), Fault> {
        let runs = self.runs.iter().filter(|run| run.grouping == best);
        let block = runs.map(|run| run.block).max().unwrap_or(0);
        if let Some(neighbour) = fewer(self.space, best) {
            self.run_beside(neighbour, best, block)?;
        }
        for neighbour in more(self.space, best) {
            self.run_beside(neighbour, best, block)?;
            if self.falls_off(neighbour, best) {
                break;
            }
        }
        Ok(())
    }

    /// Runs a neighbour in this block, unless both have run in the same one, or there were enough runs.
    fn run_beside(&mut self, neighbour: Grouping, best: Grouping, block: usize) -> Result<(), Fault> {
        let is_known = common_blocks(&self.runs, neighbour, best).next().is_some();
        if is_known || self.runs.len() >= self.budget { Ok(()) } else { self.run(neighbour, block) }
    }

    /// Whether a neighbour was killed or cut off, or is a cliff in the blocks in which both have run.
    fn falls_off(&self, neighbour: Grouping, best: Grouping) -> bool {
        let mut blocks = common_blocks(&self.runs, neighbour, best).peekable();
        if blocks.peek().is_none() {
            return false;
        }
        let logs: Option<Vec<f64>> =
            blocks.map(|block| Some(self.log(neighbour, block)? - self.log(best, block)?)).collect();
        logs.is_none_or(|logs| logs.iter().sum::<f64>() / logs.len() as f64 >= CLIFF.ln())
    }

    /// Runs a grouping in block 0, unless that was done, or `most` runs were made.
    fn once(&mut self, grouping: Grouping, most: usize) -> Result<(), Fault> {
        let is_known = self.runs.iter().any(|run| run.grouping == grouping && run.block == 0);
        if is_known || self.runs.len() >= most { Ok(()) } else { self.run(grouping, 0) }
    }

    fn run(&mut self, grouping: Grouping, block: usize) -> Result<(), Fault> {
        let plain = self.runs.iter().find(|run| run.grouping == Grouping::PLAIN);
        let cap = plain.and_then(|run| run.ending.makespan()).map(|makespan| CAP * makespan);
        // Plain itself is never cut off: it is what all others are compared with.
        let cap = cap.filter(|_| grouping != Grouping::PLAIN);
        let ending = (self.measure)(&grouping, block, cap)?;
        self.runs.push(Run { grouping, block, ending });
        Ok(())
    }

    /// All that ended well in block 0, the best first.
    fn ranked(&self) -> Vec<Grouping> {
        let ended = self.runs.iter().filter(|run| run.block == 0 && run.ending.makespan().is_some());
        let mut ranked: Vec<Grouping> = ended.map(|run| run.grouping).collect();
        self.sort(&mut ranked, 1);
        ranked
    }

    /// The mean logarithm of a grouping's makespans in the blocks before `block`; `None` if one has none.
    fn score(&self, grouping: Grouping, block: usize) -> Option<f64> {
        let logs: Option<Vec<f64>> = (0..block).map(|block| self.log(grouping, block)).collect();
        logs.map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
    }

    fn log(&self, grouping: Grouping, block: usize) -> Option<f64> {
        let run = self.runs.iter().find(|run| run.grouping == grouping && run.block == block)?;
        run.ending.makespan().map(f64::ln)
    }

    fn sort(&self, groupings: &mut [Grouping], block: usize) {
        let score = |grouping: &Grouping| self.score(*grouping, block).unwrap_or(f64::INFINITY);
        groupings.sort_by(|a, b| score(a).total_cmp(&score(b)).then(a.cmp(b)));
    }

    /// Whether the first of these was better than each other one in every block before `block`, or all are equal, and
    /// there were enough blocks.
    fn is_decided(&self, left: &[Grouping], block: usize) -> bool {
        let [leader, others @ ..] = left else { return true };
        let score = |grouping: &Grouping| self.score(*grouping, block).unwrap_or(f64::INFINITY);
        let are_equal = left.last().is_some_and(|last| score(last) - score(leader) <= EQUAL);
        let wins = |other: &Grouping| {
            (0..block).all(|block| {
                self.log(*leader, block).zip(self.log(*other, block)).is_some_and(|(a, b)| a < b - EQUAL)
            })
        };
        block >= ENOUGH && (are_equal || others.iter().all(wins))
    }

    /// The simplest of those that are as good as the best, by the blocks in which all of them have run.
    fn simplest(&self, left: &[Grouping]) -> Grouping {
        let last = self.runs.iter().map(|run| run.block).max().unwrap_or(0);
        let in_all = |block: &usize| left.iter().all(|one| self.log(*one, *block).is_some());
        let blocks = (0..=last).take_while(in_all).count();
        let score = |grouping: &Grouping| self.score(*grouping, blocks).unwrap_or(f64::INFINITY);
        let best = left.iter().map(score).fold(f64::INFINITY, f64::min);
        let good = left.iter().filter(|grouping| score(grouping) <= best + EQUAL);
        good.min().copied().unwrap_or(Grouping::PLAIN)
    }
}

/// The grouping whose makespans are least, of those that have ended well in every block in which others have run.
pub fn best<M>(space: &[Grouping], runs: &[Run<M>]) -> Option<Grouping> {
    let score = |grouping: &Grouping| {
        let own = runs.iter().filter(|run| run.grouping == *grouping);
        let logs: Option<Vec<f64>> = own.map(|run| run.ending.makespan().map(f64::ln)).collect();
        logs.filter(|logs| !logs.is_empty()).map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
    };
    let scored = space.iter().filter_map(|grouping| Some((score(grouping)?, *grouping)));
    scored.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, grouping)| grouping)
}

#[cfg(test)]
mod tests;
