//! The family of a study: all its primary questions, judged together at its
//! planned looks (interim analyses). The whole study draws a false conclusion with
//! probability at most α.
//!
//! Each of K questions can err on two sides: 2K one-sided hypotheses. A look that
//! may spend `error` tests each at the level `error / (2K − d)`, where d counts
//! the settled sides. This is Holm's (1979) step-down over one-sided hypotheses.
//! A look repeats it until nothing more is found; the next look begins with the
//! same settled sides.
//!
//! The bound holds for any dependence between questions that share blocks. If the
//! truth of a question lies beyond its margin, only one side can be claimed
//! falsely; otherwise both can. With D questions truly beyond, 2K − D sides can be
//! wrong. Until the first false finding, d counts true directions, so d ≤ D. Each
//! of those sides is tested at `error / (2K − D)` at most. Therefore the look errs
//! first with probability at most `error`, and the looks' errors add up to α. (This
//! is the sequential rejection principle of Goeman & Solari 2010.)
//!
//! An equivalence releases no level for other questions, because both directions
//! stay false. The usual form of Holm's procedure releases a whole question with
//! its finding. It bounds false directions only under conditions (Shaffer 1980).
//!
//! The error of verdicts is bounded over the whole study. The interval shown with
//! a verdict is at least as wide as the verdict needs.

use crate::Interval;
use crate::looks::{Look, Looks};
use crate::paired::blocks_needed;
use crate::verdict::Side;

/// A question that a study asks of its data, such as whether two cells differ.
pub trait Question {
    /// The answer from the first `blocks` blocks. Each of its two sides is claimed
    /// falsely with probability at most `tail`. `earlier` is the answer at the
    /// look before.
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer;
}

/// The answer to a question at one interim analysis (look).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answer {
    /// The confidence interval, on the question's (log) scale.
    pub interval: Option<Interval>,
    /// The finding.
    pub side: Option<Side>,
    /// The margin of the finding, on the same scale.
    pub margin: f64,
    /// Whether the size agrees with the published one; `None`: undecided, or not asked.
    pub size: Option<bool>,
    /// Whether everything asked is decided: more blocks are not needed.
    pub settled: bool,
    /// Whether one of the question's two sides is settled for good, and releases its
    /// share of the error to the other questions. Only directions do that, against a
    /// margin that was stated beforehand, if no size is asked.
    pub frees: bool,
}

/// The state of one question after the last interim analysis (look).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Conclusion {
    /// The answer.
    pub answer: Answer,
    /// The look, counted from 1, at which it was settled.
    pub settled_at: Option<usize>,
}

/// The state of a study after all looks that its blocks allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusions {
    /// One per question, in their order.
    pub by_question: Vec<Conclusion>,
    /// How many looks were taken.
    pub looks: usize,
    /// The blocks at the last look.
    pub blocks: usize,
    /// The one-sided level at the last look.
    pub tail: f64,
}

impl Conclusions {
    /// Whether every question is settled: then the run may stop.
    pub fn settled(&self) -> bool {
        self.by_question.iter().all(|conclusion| conclusion.settled_at.is_some())
    }
}

/// Judges all primary `questions` of a study after `blocks` complete blocks. It
/// repeats every look up to there. Therefore the runner, during the run, and the
/// analysis, years later, conclude the same from the same data.
pub fn conclude(looks: &Looks, blocks: usize, questions: &[&dyn Question]) -> Conclusions {
    let mut state = Conclusions {
        by_question: vec![Conclusion::default(); questions.len()],
        looks: 0,
        blocks: 0,
        tail: 0.0,
    };
    let mut freed = vec![false; questions.len()];
    for (index, look) in looks.taken_after(blocks).into_iter().enumerate() {
        let (answers, tail) =
            step_down_at_look(look.blocks, look.error, questions, &state.by_question, &mut freed);
        for (conclusion, answer) in state.by_question.iter_mut().zip(answers) {
            conclusion.answer = answer;
            conclusion.settled_at = answer.settled.then(|| conclusion.settled_at.unwrap_or(index + 1));
        }
        state = Conclusions { looks: index + 1, blocks: look.blocks, tail, ..state };
    }
    state
}

/// The one-sided level of each of `questions` questions at a look that may spend
/// `error`, if `freed` sides are settled.
pub fn level_per_question(error: f64, questions: usize, freed: usize) -> f64 {
    error / (2 * questions.max(1)).saturating_sub(freed).max(1) as f64
}

/// The blocks of the first planned look that could decide one of `questions`
/// paired questions; `None`: no look could.
pub fn first_deciding_look(looks: &Looks, questions: usize) -> Option<usize> {
    let decides = |look: &Look| blocks_needed(level_per_question(look.error, questions, 0)) <= look.blocks;
    looks.planned().into_iter().find(decides).map(|look| look.blocks)
}

/// The greatest number of paired questions with which a planned look could still
/// decide one, if all blocks agree.
pub fn most_questions(looks: &Looks) -> usize {
    // 2⁻ⁿ ≤ error / 2K, see [`blocks_needed`] and [`level_per_question`].
    let at = |look: &Look| look.error * 2_f64.powi(look.blocks.min(1000) as i32 - 1);
    looks.planned().iter().map(at).fold(0.0, f64::max) as usize
}

/// The answers at one look, and their level: repeated until no finding settles another side.
fn step_down_at_look(
    blocks: usize,
    error: f64,
    questions: &[&dyn Question],
    earlier: &[Conclusion],
    freed: &mut [bool],
) -> (Vec<Answer>, f64) {
    loop {
        let before = freed.iter().filter(|f| **f).count();
        let tail = level_per_question(error, questions.len(), before);
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

    /// A question that is answered once the level is at least `level`.
    struct NeedsLevel<'a> {
        level: f64,
        frees: bool,
        seen: &'a RefCell<Vec<(usize, f64)>>,
    }

    impl Question for NeedsLevel<'_> {
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
        let questions: Vec<NeedsLevel> =
            needs.iter().map(|&(level, frees)| NeedsLevel { level, frees, seen: &seen }).collect();
        let questions: Vec<&dyn Question> = questions.iter().map(|q| q as &dyn Question).collect();
        let looks = Looks::new(looks, 0.05).expect("valid");
        let found = conclude(&looks, looks.most_blocks(), &questions);
        (found, seen.take())
    }

    #[test]
    fn one_question_at_one_look_has_the_whole_error() {
        let (found, seen) = run(&[(0.025, true)], &[20]);
        assert!(found.settled());
        assert_eq!(seen[0], (20, 0.025));
    }

    #[test]
    fn a_direction_releases_the_level_of_one_side() {
        // Two questions: level 0.05/4, after one finding 0.05/3.
        let (found, _) = run(&[(0.0125, true), (0.016, true)], &[20]);
        assert!(found.settled());
        let (found, _) = run(&[(0.0125, false), (0.016, true)], &[20]);
        assert_eq!(found.by_question[1].settled_at, None, "an equivalence releases nothing");
    }

    #[test]
    fn levels_of_a_study_stay_within_its_error() {
        let (_, seen) = run(&[(1.0, true), (1.0, true), (1.0, true)], &[12, 24, 48]);
        let spent: f64 = seen.iter().map(|(_, tail)| 2.0 * tail).sum();
        assert!((spent - 0.05).abs() < 1e-12, "{spent}");
    }

    #[test]
    fn the_look_at_which_it_was_settled_is_reported() {
        let (found, _) = run(&[(0.0125, true)], &[12, 24, 48]);
        assert_eq!(found.by_question[0].settled_at, Some(3));
        assert_eq!((found.looks, found.blocks), (3, 48));
    }

    #[test]
    fn the_first_deciding_look_depends_on_the_number_of_questions() {
        let full = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        assert_eq!(first_deciding_look(&full, 6), Some(12));
        assert_eq!(first_deciding_look(&full, 60), Some(24));
        let quick = Looks::new(&[6], 0.05).expect("valid");
        assert_eq!(first_deciding_look(&quick, 1), Some(6));
        assert_eq!(first_deciding_look(&quick, 2), None);
    }

    #[test]
    fn with_more_than_the_most_questions_no_look_decides() {
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
