//! Planned looks: at which numbers of blocks the data are judged, and how much
//! of the error each look may spend.
//!
//! The error is spent in proportion to the blocks: after b of B planned blocks
//! α·b/B in all (Kim & DeMets 1987, ρ = 1; Lan & DeMets 1983). With looks at
//! 12, 24 and 48 blocks and α = 5 % the looks may spend 1.25, 1.25 and 2.5 %.
//! The parts add up to α and each is used as a level of its own (Bonferroni),
//! so that the sum bounds the error whatever the dependence between looks: the
//! usual refinement, which uses the correlation of successive statistics, needs
//! their joint distribution, and that holds only in the limit.

/// The planned looks of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    blocks: Vec<usize>,
    alpha: f64,
}

/// One look at the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Blocks that it sees.
    pub blocks: usize,
    /// The two-sided error that it may spend over the whole study.
    pub error: f64,
}

impl Looks {
    /// Looks after each of `blocks` blocks, with the error `alpha` over the study
    /// (0.05 by the house's rules). `None` unless `blocks` ascend from at least 1
    /// and 0 < `alpha` < 1.
    pub fn new(blocks: &[usize], alpha: f64) -> Option<Self> {
        let ascend = blocks.windows(2).all(|pair| pair[0] < pair[1]);
        let valid = ascend && *blocks.first()? > 0 && alpha > 0.0 && alpha < 1.0;
        valid.then(|| Looks { blocks: blocks.to_vec(), alpha })
    }

    /// The blocks at which it is looked, ascending.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The error over the whole study.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The most blocks that may be run.
    pub fn budget(&self) -> usize {
        self.blocks[self.blocks.len() - 1]
    }

    /// Every planned look.
    pub fn all(&self) -> Vec<Look> {
        self.taken(self.budget())
    }

    /// The looks of a run that has come to `blocks` blocks: the planned ones up
    /// to there, and where the run ended between two, a last one that spends
    /// only what those blocks have earned. So a run that was cut short can be
    /// judged, provided that its data had no part in its ending.
    pub fn taken(&self, blocks: usize) -> Vec<Look> {
        let blocks = blocks.min(self.budget());
        let mut seen: Vec<usize> = self.blocks.iter().copied().filter(|b| *b <= blocks).collect();
        if blocks > 0 && seen.last() != Some(&blocks) {
            seen.push(blocks);
        }
        let before = std::iter::once(&0).chain(&seen);
        let share = self.alpha / self.budget() as f64;
        seen.iter().zip(before).map(|(b, a)| Look { blocks: *b, error: share * (b - a) as f64 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_error_is_spent_as_blocks_are() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let errors: Vec<f64> = looks.all().iter().map(|look| look.error).collect();
        assert_eq!(errors, [0.0125, 0.0125, 0.025]);
    }

    #[test]
    fn a_run_cut_short_has_a_last_look_of_what_it_earned() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let taken = looks.taken(18);
        assert_eq!(taken.len(), 2);
        assert_eq!(taken[1].blocks, 18);
        assert!((taken[1].error - 0.00625).abs() < 1e-12);
        assert_eq!(looks.taken(0), []);
    }

    #[test]
    fn looks_must_ascend() {
        assert_eq!(Looks::new(&[], 0.05), None);
        assert_eq!(Looks::new(&[0, 3], 0.05), None);
        assert_eq!(Looks::new(&[12, 12], 0.05), None);
        assert_eq!(Looks::new(&[12], 0.0), None);
    }

    proptest! {
        #[test]
        fn never_more_than_alpha_is_spent(
            steps in prop::collection::vec(1_usize..40, 1..8),
            blocks in 0_usize..300,
        ) {
            let planned: Vec<usize> =
                steps.iter().scan(0, |sum, step| { *sum += step; Some(*sum) }).collect();
            let looks = Looks::new(&planned, 0.05).expect("ascending");
            let spent: f64 = looks.taken(blocks).iter().map(|look| look.error).sum();
            prop_assert!(spent <= 0.05 + 1e-12);
        }
    }
}
