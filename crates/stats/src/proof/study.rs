//! One simulated study, from its first block to its verdicts.

use super::machine::Machine;
use crate::family::{Answer, Conclusions, Question, conclude};
use crate::looks::Looks;
use crate::question::{Comparison, Practical};
use crate::verdict::Side;

/// What is true of the cells of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Situation {
    /// All cells are equal; any difference is claimed falsely.
    Equal,
    /// Every difference is exactly its margin of 2 %, so that "better", "worse" and
    /// "equivalent" are all false.
    Edge,
    /// Half the cells differ by 5 % and free their share of the error for the
    /// other half, which are equal.
    Mixed,
    /// Half the cells differ by 5 %, half are equal; a direction is claimed beyond
    /// the A/A floor of the study's own twin cells, equivalence within 5 % (so that
    /// half the cells stand on its edge). The situation of a user.
    User,
    /// Every size is exactly as far from the published one as its margin of 5 %
    /// allows, so that agreement and disagreement in size are both false.
    Size,
    /// Half the cells differ by a little more than the margin of 2 % within which differences do not matter, half
    /// are equal; a direction is claimed beyond half a percent. "Equivalent" is false of the first.
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

    /// For people.
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
            Situation::Edge => sign * EDGE.ln(),
            Situation::Mixed | Situation::User if index < COMPARISONS / 2 => sign * DIFFERENCE.ln(),
            Situation::Apart if index < COMPARISONS / 2 => sign * (EDGE * JUST).ln(),
            Situation::Mixed | Situation::User | Situation::Apart => 0.0,
            Situation::Size => 1.3_f64.ln(),
        }
    }

    /// How comparison `index` is asked.
    fn ask<'a>(self, index: usize, ratios: &'a [Option<f64>], twins: &'a Vec<Option<f64>>) -> Practical<'a> {
        let comparison = match self {
            Situation::Equal | Situation::Mixed => Comparison::new(ratios, 0.0),
            Situation::Edge => Comparison::new(ratios, EDGE.ln()),
            Situation::Apart => Comparison::new(ratios, BEYOND.ln()),
            Situation::User => Comparison::new(ratios, 0.0).above_noise(std::slice::from_ref(twins)),
            Situation::Size => {
                let off = if index.is_multiple_of(2) { SIZE_MARGIN } else { -SIZE_MARGIN };
                Comparison::new(ratios, 0.0).against(self.truth(index) + off, SIZE_MARGIN)
            }
        };
        comparison.equivalent_within(match self {
            Situation::User => DIFFERENCE.ln(),
            Situation::Apart => EDGE.ln(),
            _ => 0.0,
        })
    }
}

/// Primary comparisons a study.
pub const COMPARISONS: usize = 6;
/// The difference that is to be found.
pub const DIFFERENCE: f64 = 1.05;
const EDGE: f64 = 1.02;
/// What lies just outside a margin is so much beyond it.
const JUST: f64 = 1.0005;
/// Beyond which a direction is claimed, where that is stated beforehand.
const BEYOND: f64 = 1.005;
const SIZE_MARGIN: f64 = 0.05;

/// What one study came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
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

/// Runs one study on `machine`.
pub fn run(machine: &mut Machine, situation: Situation, looks: &Looks) -> Tally {
    let truths: Vec<f64> =
        [0.0, 0.0].into_iter().chain((0..COMPARISONS).map(|i| situation.truth(i))).collect();
    // Cell 0 is the base, cell 1 its twin.
    let mut ratios = vec![Vec::new(); COMPARISONS + 1];
    let mut conclusions = judge(situation, &ratios, looks);
    for blocks in looks.blocks() {
        while ratios[0].len() < *blocks {
            let values = machine.block(&truths);
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
    let asked: Vec<Practical> =
        ratios[1..].iter().enumerate().map(|(i, ratio)| situation.ask(i, ratio, &ratios[0])).collect();
    let questions: Vec<&dyn Question> = asked.iter().map(|ask| ask as &dyn Question).collect();
    conclude(looks, ratios[0].len(), &questions)
}

fn count(situation: Situation, ratios: &[Vec<Option<f64>>], conclusions: &Conclusions) -> Tally {
    let mut tally = Tally { blocks: conclusions.blocks, ..Tally::default() };
    for (index, conclusion) in conclusions.of.iter().enumerate() {
        let (truth, answer) = (situation.truth(index), &conclusion.answer);
        let published = situation.ask(index, &ratios[index + 1], &ratios[0]).comparison.published;
        tally.wrong |= side_is_false(truth, answer);
        tally.wrong |= published.is_some_and(|p| size_is_false(truth - p.value, p.margin, answer.size));
        tally.inconclusive += u64::from(answer.side.is_none());
        if truth.abs() == DIFFERENCE.ln() {
            let right = if truth > 0.0 { Side::Above } else { Side::Below };
            tally.differences += 1;
            tally.found += u64::from(answer.side == Some(right));
        }
    }
    tally
}

/// What lies on the edge itself is neither beyond nor within, up to rounding.
const ROUNDING: f64 = 1e-12;

fn side_is_false(truth: f64, answer: &Answer) -> bool {
    match answer.side {
        None => false,
        Some(Side::Above) => truth <= answer.margin + ROUNDING,
        Some(Side::Below) => truth >= -answer.margin - ROUNDING,
        Some(Side::Within) => truth.abs() >= answer.margin - ROUNDING,
    }
}

fn size_is_false(off: f64, margin: f64, agrees: Option<bool>) -> bool {
    match agrees {
        None => false,
        Some(true) => off.abs() >= margin - ROUNDING,
        Some(false) => off.abs() <= margin + ROUNDING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::machine::Kind;

    #[test]
    fn on_a_silent_machine_every_verdict_is_right() {
        let looks = Looks::new(&[12, 24, 48], 0.05).expect("valid");
        let tally = run(&mut Machine::new(Kind::Normal, 1e-9, 1), Situation::User, &looks);
        assert_eq!((tally.wrong, tally.differences, tally.found), (false, 3, 3));
    }

    #[test]
    fn verdicts_are_false_on_the_wrong_side_and_on_the_edge() {
        let says = |side| Answer { side: Some(side), margin: 0.1, ..Answer::default() };
        assert!(side_is_false(0.1, &says(Side::Above)) && !side_is_false(0.2, &says(Side::Above)));
        assert!(side_is_false(0.1, &says(Side::Within)) && !side_is_false(0.05, &says(Side::Within)));
        assert!(side_is_false(0.2, &says(Side::Below)) && !side_is_false(-0.2, &says(Side::Below)));
        assert!(size_is_false(0.1, 0.1, Some(true)) && size_is_false(0.1, 0.1, Some(false)));
        assert!(!size_is_false(0.05, 0.1, Some(true)) && !size_is_false(0.3, 0.1, Some(false)));
    }
}
