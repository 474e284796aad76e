//! All primary questions of a study, judged together at its planned looks, so
//! that the whole study draws a false conclusion with probability at most α.
//!
//! K questions, each of which can go wrong on two sides, are 2K one-sided
//! hypotheses. A look that may spend `error` tests each at the level
//! `error / (2K − d)`, where d counts the sides that are settled: Holm's (1979)
//! step-down over one-sided hypotheses, repeated at a look until nothing more
//! is found, and carried from look to look.
//!
//! Why it holds, whatever the dependence between questions that share blocks:
//! of a question whose truth lies beyond its margin only one side can be claimed
//! falsely; of any other, both. So with D questions truly beyond, 2K − D sides can
//! go wrong. Until the first false finding, d counts true directions, so d ≤ D and
//! each of those sides is tested at `error / (2K − D)` at most: the look errs first
//! with probability at most `error`, and the looks' errors add up to α. (This is
//! the sequential rejection principle of Goeman & Solari 2010.) An equivalence
//! frees nothing, because both directions stay false. The common form of Holm's
//! procedure, which frees a whole question with its finding, bounds false
//! directions only under conditions (Shaffer 1980).
//!
//! So verdicts are protected over the whole study. The interval shown with each
//! is at least as wide as its verdict needs.

use crate::Interval;
use crate::looks::{Look, Looks};
use crate::paired::blocks_needed;
use crate::verdict::Side;

/// Something that a study asks its data.
pub trait Question {
    /// The answer from the first `blocks` blocks, such that each of its two sides
    /// is claimed falsely with probability at most `tail`. `earlier` is what the
    /// look before said.
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer;
}

/// What a question's data say at a look.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answer {
    /// What the data allow, on the question's own (log) scale.
    pub interval: Option<Interval>,
    /// The finding.
    pub side: Option<Side>,
    /// The margin, on the same scale, that the finding is beyond or within.
    pub margin: f64,
    /// Whether the size agrees with what was published, where that is asked.
    pub size: Option<bool>,
    /// Whether more blocks could add nothing that is asked.
    pub settled: bool,
    /// Whether one of the question's two sides is settled for good, so that the
    /// others may use its share: true only for directions against a margin that
    /// was stated beforehand, of questions that do not also ask for a size.
    pub frees: bool,
}

/// One question's state after the last look taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Conclusion {
    /// What the data say.
    pub answer: Answer,
    /// The first look, counted from 1, after which it was settled.
    pub settled_at: Option<usize>,
}

/// A study's state after the looks that its blocks allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusions {
    /// In the order of the questions.
    pub of: Vec<Conclusion>,
    /// How many looks were taken.
    pub looks: usize,
    /// Blocks seen at the last of them.
    pub blocks: usize,
    /// The one-sided level of the last of them.
    pub tail: f64,
}

impl Conclusions {
    /// Whether every question is settled, so that the run may stop.
    pub fn settled(&self) -> bool {
        self.of.iter().all(|conclusion| conclusion.settled_at.is_some())
    }
}

/// Judges all primary `questions` of a study after `blocks` complete blocks, by
/// taking every look up to there again: the runner that asks whether to stop and
/// the analysis years later conclude the same from the same data.
pub fn conclude(looks: &Looks, blocks: usize, questions: &[&dyn Question]) -> Conclusions {
    let mut state =
        Conclusions { of: vec![Conclusion::default(); questions.len()], looks: 0, blocks: 0, tail: 0.0 };
    let mut freed = vec![false; questions.len()];
    for (index, look) in looks.taken(blocks).into_iter().enumerate() {
        let (answers, tail) = step_down(look.blocks, look.error, questions, &state.of, &mut freed);
        for (conclusion, answer) in state.of.iter_mut().zip(answers) {
            conclusion.answer = answer;
            conclusion.settled_at = answer.settled.then(|| conclusion.settled_at.unwrap_or(index + 1));
        }
        state = Conclusions { looks: index + 1, blocks: look.blocks, tail, ..state };
    }
    state
}

/// The one-sided level of each of `questions` questions at a look that may spend
/// `error`, when `freed` of their sides are settled.
pub fn level(error: f64, questions: usize, freed: usize) -> f64 {
    error / (2 * questions.max(1)).saturating_sub(freed).max(1) as f64
}

/// The blocks of the first planned look at which one of `questions` paired
/// questions could be decided at all; `None` where the plan allows no verdict.
pub fn first_deciding_look(looks: &Looks, questions: usize) -> Option<usize> {
    let decides = |look: &Look| blocks_needed(level(look.error, questions, 0)) <= look.blocks;
    looks.all().into_iter().find(decides).map(|look| look.blocks)
}

/// The most paired questions that the plan could decide one of, if all blocks agree.
pub fn most_questions(looks: &Looks) -> usize {
    // 2⁻ⁿ ≤ error / 2K, see [`blocks_needed`] and [`level`].
    let at = |look: &Look| look.error * 2_f64.powi(look.blocks.min(1000) as i32 - 1);
    looks.all().iter().map(at).fold(0.0, f64::max) as usize
}

/// One look: answers until no finding frees more for the others.
fn step_down(
    blocks: usize,
    error: f64,
    questions: &[&dyn Question],
    earlier: &[Conclusion],
    freed: &mut [bool],
) -> (Vec<Answer>, f64) {
    loop {
        let before = freed.iter().filter(|f| **f).count();
        let tail = level(error, questions.len(), before);
        let answers: Vec<Answer> = questions
            .iter()
            .zip(earlier)
            .map(|(question, conclusion)| question.answer(blocks, tail, Some(&conclusion.answer)))
            .collect();
        for (free, answer) in freed.iter_mut().zip(&answers) {
            *free |= answer.frees;
        }
        if freed.iter().filter(|f| **f).count() == before {
            return (answers, tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Found once the level is at least what it needs.
    struct Needs<'a> {
        level: f64,
        frees: bool,
        seen: &'a RefCell<Vec<(usize, f64)>>,
    }

    impl Question for Needs<'_> {
        fn answer(&self, blocks: usize, tail: f64, _: Option<&Answer>) -> Answer {
            self.seen.borrow_mut().push((blocks, tail));
            let found = tail >= self.level;
            Answer {
                side: found.then_some(Side::Above),
                settled: found,
                frees: found && self.frees,
                ..Answer::default()
            }
        }
    }

    fn run(needs: &[(f64, bool)], looks: &[usize]) -> (Conclusions, Vec<(usize, f64)>) {
        let seen = RefCell::new(Vec::new());
        let questions: Vec<Needs> =
            needs.iter().map(|&(level, frees)| Needs { level, frees, seen: &seen }).collect();
        let questions: Vec<&dyn Question> = questions.iter().map(|q| q as &dyn Question).collect();
        let looks = Looks::new(looks, 0.05).expect("valid");
        let found = conclude(&looks, looks.budget(), &questions);
        (found, seen.take())
    }

    #[test]
    fn one_question_at_one_look_has_the_whole_error() {
        let (found, seen) = run(&[(0.025, true)], &[20]);
        assert!(found.settled());
        assert_eq!(seen[0], (20, 0.025));
    }

    #[test]
    fn a_direction_frees_one_side_for_the_others() {
        // Two questions: level 0.05/4, after one finding 0.05/3.
        let (found, _) = run(&[(0.0125, true), (0.016, true)], &[20]);
        assert!(found.settled());
        let (found, _) = run(&[(0.0125, false), (0.016, true)], &[20]);
        assert_eq!(found.of[1].settled_at, None, "an equivalence frees nothing");
    }

    #[test]
    fn levels_of_a_study_stay_within_its_error() {
        let (_, seen) = run(&[(1.0, true), (1.0, true), (1.0, true)], &[12, 24, 48]);
        let spent: f64 = seen.iter().map(|(_, tail)| 2.0 * tail).sum();
        assert!((spent - 0.05).abs() < 1e-12, "{spent}");
    }

    #[test]
    fn the_look_that_settled_it_is_named() {
        let (found, _) = run(&[(0.0125, true)], &[12, 24, 48]);
        assert_eq!(found.of[0].settled_at, Some(3));
        assert_eq!((found.looks, found.blocks), (3, 48));
    }

    #[test]
    fn a_plan_knows_when_it_can_first_decide() {
        let full = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        assert_eq!(first_deciding_look(&full, 6), Some(12));
        assert_eq!(first_deciding_look(&full, 60), Some(24));
        let quick = Looks::new(&[6], 0.05).expect("valid");
        assert_eq!(first_deciding_look(&quick, 1), Some(6));
        assert_eq!(first_deciding_look(&quick, 2), None);
    }

    #[test]
    fn the_most_questions_are_those_beyond_which_no_look_decides() {
        for (looks, most) in [(&[5][..], 0), (&[6], 1), (&[9], 12), (&[4, 8], 3)] {
            let looks = Looks::new(looks, 0.05).expect("valid");
            assert_eq!(most_questions(&looks), most);
            assert_eq!(first_deciding_look(&looks, most + 1), None);
            assert!(most == 0 || first_deciding_look(&looks, most).is_some());
        }
        assert!(most_questions(&Looks::new(&[5000], 0.05).expect("valid")) > 1_000_000);
    }

    #[test]
    fn a_study_without_questions_is_settled() {
        assert!(run(&[], &[12]).0.settled());
    }
}
