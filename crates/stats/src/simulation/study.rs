//! Simulates one study, from its first block to its verdicts.

use super::machine::Machine;
use crate::family::{Answer, Conclusions, Question, conclude};
use crate::looks::Looks;
use crate::question::{Comparison, PracticalComparison};
use crate::verdict::Side;

/// The truth about the cells of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Situation {
    /// All cells are equal: every claimed difference is false.
    Equal,
    /// Every difference is exactly its margin of 2 %: "better", "worse" and
    /// "equivalent" are all false.
    Edge,
    /// Half the cells differ by 5 % and release their share of the error to the
    /// other half. Those are equal.
    Mixed,
    /// Half the cells differ by 5 %, half are equal. A direction is claimed beyond
    /// the A/A floor of the study's equal cells, equivalence within 5 %: half the
    /// cells are exactly at that margin. The situation of a user.
    User,
    /// Every size differs from the published one by exactly its margin of 5 %:
    /// agreement and disagreement in size are both false.
    Size,
    /// Half the cells differ by a little more than the equivalence margin of 2 %,
    /// half are equal. A direction is claimed beyond half a percent. "Equivalent" is
    /// false of the first half.
    Apart,
}

impl Situation {
    /// Every situation.
    pub const ALL: [Situation; 6] = [
        Situation::Equal,
        Situation::Edge,
        Situation::Mixed,
        Situation::User,
        Situation::Size,
        Situation::Apart,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Situation::Equal => "equal",
            Situation::Edge => "edge",
            Situation::Mixed => "mixed",
            Situation::User => "user",
            Situation::Size => "size",
            Situation::Apart => "apart",
        }
    }

    /// The true log ratio of comparison `index`.
    fn truth(self, index: usize) -> f64 {
        let sign = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
        match self {
            Situation::Equal => 0.0,
            Situation::Edge => sign * EDGE_MARGIN.ln(),
            Situation::Mixed | Situation::User if index < COMPARISONS / 2 => sign * TRUE_RATIO.ln(),
            Situation::Apart if index < COMPARISONS / 2 => sign * (EDGE_MARGIN * JUST_BEYOND).ln(),
            Situation::Mixed | Situation::User | Situation::Apart => 0.0,
            Situation::Size => 1.3_f64.ln(),
        }
    }

    /// The question of comparison `index`.
    fn ask<'a>(
        self,
        index: usize,
        ratios: &'a [Option<f64>],
        equal_cells: &'a Vec<Option<f64>>,
    ) -> PracticalComparison<'a> {
        let comparison = match self {
            Situation::Equal | Situation::Mixed => Comparison::new(ratios, 0.0),
            Situation::Edge => Comparison::new(ratios, EDGE_MARGIN.ln()),
            Situation::Apart => Comparison::new(ratios, DIRECTION_MARGIN.ln()),
            Situation::User => Comparison::new(ratios, 0.0).above_noise(std::slice::from_ref(equal_cells)),
            Situation::Size => {
                let distance = if index.is_multiple_of(2) { SIZE_MARGIN } else { -SIZE_MARGIN };
                Comparison::new(ratios, 0.0).against(self.truth(index) + distance, SIZE_MARGIN)
            }
        };
        comparison.equivalent_within(match self {
            Situation::User => TRUE_RATIO.ln(),
            Situation::Apart => EDGE_MARGIN.ln(),
            _ => 0.0,
        })
    }
}

/// The number of primary comparisons of a simulated study.
pub const COMPARISONS: usize = 6;
/// The ratio of cells that differ.
pub const TRUE_RATIO: f64 = 1.05;
/// The margin of [`Situation::Edge`] and [`Situation::Apart`], as a ratio.
const EDGE_MARGIN: f64 = 1.02;
/// The ratio of a difference just outside its margin to the margin.
const JUST_BEYOND: f64 = 1.0005;
/// The margin of directions in [`Situation::Apart`], as a ratio.
const DIRECTION_MARGIN: f64 = 1.005;
/// The margin of published sizes, on the log scale.
const SIZE_MARGIN: f64 = 0.05;

/// The verdicts of one simulated study, right and wrong ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StudyResult {
    /// Whether any verdict is false.
    pub wrong: bool,
    /// True differences of 5 %.
    pub differences: u64,
    /// How many of them were found.
    pub found: u64,
    /// Comparisons without a verdict.
    pub inconclusive: u64,
    /// Blocks run.
    pub blocks: usize,
}

/// Simulates one study on `machine`.
pub fn run(machine: &mut Machine, situation: Situation, looks: &Looks) -> StudyResult {
    let truths: Vec<f64> =
        [0.0, 0.0].into_iter().chain((0..COMPARISONS).map(|i| situation.truth(i))).collect();
    // Cell 0 is the base, cell 1 is equal to it.
    let mut ratios = vec![Vec::new(); COMPARISONS + 1];
    let mut conclusions = judge(situation, &ratios, looks);
    for blocks in looks.blocks() {
        while ratios[0].len() < *blocks {
            let values = machine.simulate_block(&truths);
            for (ratio, value) in ratios.iter_mut().zip(&values[1..]) {
                ratio.push(Some(value - values[0]));
            }
        }
        conclusions = judge(situation, &ratios, looks);
        if conclusions.settled() {
            break;
        }
    }
    count(situation, &ratios, &conclusions)
}

fn judge(situation: Situation, ratios: &[Vec<Option<f64>>], looks: &Looks) -> Conclusions {
    let asked: Vec<PracticalComparison> =
        ratios[1..].iter().enumerate().map(|(i, ratio)| situation.ask(i, ratio, &ratios[0])).collect();
    let questions: Vec<&dyn Question> = asked.iter().map(|ask| ask as &dyn Question).collect();
    conclude(looks, ratios[0].len(), &questions)
}

fn count(situation: Situation, ratios: &[Vec<Option<f64>>], conclusions: &Conclusions) -> StudyResult {
    let mut result = StudyResult { blocks: conclusions.blocks, ..StudyResult::default() };
    for (index, conclusion) in conclusions.by_question.iter().enumerate() {
        let (truth, answer) = (situation.truth(index), &conclusion.answer);
        let published = situation.ask(index, &ratios[index + 1], &ratios[0]).comparison.published;
        result.wrong |= side_is_false(truth, answer);
        result.wrong |= published.is_some_and(|p| size_is_false(truth - p.value, p.margin, answer.size));
        result.inconclusive += u64::from(answer.side.is_none());
        if truth.abs() == TRUE_RATIO.ln() {
            let right = if truth > 0.0 { Side::Above } else { Side::Below };
            result.differences += 1;
            result.found += u64::from(answer.side == Some(right));
        }
    }
    result
}

/// A truth exactly at its margin is neither beyond nor within, up to this rounding.
const ROUNDING: f64 = 1e-12;

fn side_is_false(truth: f64, answer: &Answer) -> bool {
    match answer.side {
        None => false,
        Some(Side::Above) => truth <= answer.margin + ROUNDING,
        Some(Side::Below) => truth >= -answer.margin - ROUNDING,
        Some(Side::Within) => truth.abs() >= answer.margin - ROUNDING,
    }
}

fn size_is_false(difference: f64, margin: f64, agrees: Option<bool>) -> bool {
    match agrees {
        None => false,
        Some(true) => difference.abs() >= margin - ROUNDING,
        Some(false) => difference.abs() <= margin + ROUNDING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::NoiseKind;

    #[test]
    fn without_noise_every_verdict_is_right() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let result = run(&mut Machine::new(NoiseKind::Normal, 1e-9, 1), Situation::User, &looks);
        assert_eq!((result.wrong, result.differences, result.found), (false, 3, 3));
    }

    #[test]
    fn verdicts_are_false_on_the_wrong_side_and_at_the_margin() {
        let answer = |side| Answer { side: Some(side), margin: 0.1, ..Answer::default() };
        assert!(side_is_false(0.1, &answer(Side::Above)) && !side_is_false(0.2, &answer(Side::Above)));
        assert!(side_is_false(0.1, &answer(Side::Within)) && !side_is_false(0.05, &answer(Side::Within)));
        assert!(side_is_false(0.2, &answer(Side::Below)) && !side_is_false(-0.2, &answer(Side::Below)));
        assert!(size_is_false(0.1, 0.1, Some(true)) && size_is_false(0.1, 0.1, Some(false)));
        assert!(!size_is_false(0.05, 0.1, Some(true)) && !size_is_false(0.3, 0.1, Some(false)));
    }
}
