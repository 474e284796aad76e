//! Looks: the planned interim analyses of a study. Each is after a number of
//! blocks, and may spend a part of the error.
//!
//! The error is spent in proportion to the blocks: α·b/B in total after b of B
//! planned blocks (Kim & DeMets 1987, ρ = 1; Lan & DeMets 1983). With looks at 12,
//! 24 and 48 blocks and α = 5 %, the looks may spend 1.25, 1.25 and 2.5 %. The
//! parts add up to α, and each is a level by itself (Bonferroni). The sum bounds
//! the error for any dependence between looks. The usual refinement uses the
//! correlation of successive statistics. It needs their joint distribution, which
//! is known only in the limit.

/// The interim analyses (looks) that a study plans.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    blocks: Vec<usize>,
    alpha: f64,
}

/// One interim analysis: after how many blocks, and how much error it may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The blocks that are complete at this look.
    pub blocks: usize,
    /// The two-sided error that it may spend, over all questions of the study.
    pub error: f64,
}

impl Looks {
    /// A look after each number of `blocks`, with the error `alpha` over the study
    /// (0.05 by default). `None` unless `blocks` ascend from at least 1 and
    /// 0 < `alpha` < 1.
    pub fn new(blocks: &[usize], alpha: f64) -> Option<Self> {
        let ascend = blocks.windows(2).all(|pair| pair[0] < pair[1]);
        let valid = ascend && *blocks.first()? > 0 && alpha > 0.0 && alpha < 1.0;
        valid.then(|| Looks { blocks: blocks.to_vec(), alpha })
    }

    /// The numbers of blocks of the looks, ascending.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The error over the whole study.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The greatest number of blocks: that of the last look.
    pub fn most_blocks(&self) -> usize {
        self.blocks[self.blocks.len() - 1]
    }

    /// Every planned interim analysis.
    pub fn planned(&self) -> Vec<Look> {
        self.taken_after(self.most_blocks())
    }

    /// The looks of a run with `blocks` blocks: the planned ones up to there. If the
    /// run ended between two, another one follows that spends only the share of its
    /// blocks. Thus a run that ended early can be judged, provided that it did not
    /// end because of its data.
    pub fn taken_after(&self, blocks: usize) -> Vec<Look> {
        let blocks = blocks.min(self.most_blocks());
        let mut seen: Vec<usize> = self.blocks.iter().copied().filter(|b| *b <= blocks).collect();
        if blocks > 0 && seen.last() != Some(&blocks) {
            seen.push(blocks);
        }
        let before = std::iter::once(&0).chain(&seen);
        let share = self.alpha / self.most_blocks() as f64;
        seen.iter().zip(before).map(|(b, a)| Look { blocks: *b, error: share * (b - a) as f64 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_error_is_spent_in_proportion_to_the_blocks() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let errors: Vec<f64> = looks.planned().iter().map(|look| look.error).collect();
        assert_eq!(errors, [0.0125, 0.0125, 0.025]);
    }

    #[test]
    fn a_run_that_ended_early_has_a_last_look_with_the_share_of_its_blocks() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let taken = looks.taken_after(18);
        assert_eq!(taken.len(), 2);
        assert_eq!(taken[1].blocks, 18);
        assert!((taken[1].error - 0.00625).abs() < 1e-12);
        assert_eq!(looks.taken_after(0), []);
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
            let spent: f64 = looks.taken_after(blocks).iter().map(|look| look.error).sum();
            prop_assert!(spent <= 0.05 + 1e-12);
        }
    }
}
