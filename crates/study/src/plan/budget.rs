//! What a plan's blocks can decide, and whether some are spare.

use super::Plan;
use crate::rules::ALPHA;
use crate::words::count_in_words;
use crosstalk_stats::family::{first_deciding_look, level_per_question, most_questions};
use crosstalk_stats::looks::Looks;
use crosstalk_stats::paired::blocks_needed;

/// Spare blocks beyond the fewest that could decide: a block is lost where all tries at a cell fail or are unfaithful.
const SPARE: usize = 2;

impl Plan {
    /// What its blocks can decide, in a sentence.
    pub fn decides_in_words(&self) -> String {
        let blocks = self.looks.last().copied().unwrap_or(0);
        let runs = match blocks {
            1 => "1 run of each cell".to_string(),
            many => format!("{many} runs of each cell"),
        };
        match Looks::new(&self.looks, ALPHA).as_ref().map_or(0, most_questions) {
            0 => format!(
                "{runs} can decide nothing: one comparison needs {}; values and intervals are reported",
                blocks_needed(level_per_question(ALPHA, 1, 0))
            ),
            _ if self.questions == 0 && self.cells().any(|cell| cell.unmet_need.is_some()) => {
                format!(
                    "{runs}; nothing is left to compare: this host cannot run the other side (see the notes)"
                )
            }
            _ if self.questions == 0 => format!("{runs}; nothing is compared"),
            most if most < self.questions => format!(
                "{runs} can decide at most {} together, and {} are asked",
                count_in_words(most, "question"),
                self.questions
            ),
            _ => format!(
                "{runs} are enough to decide {}, if the differences are clear",
                count_in_words(self.questions, "question")
            ),
        }
    }

    /// The fewest blocks that can decide all questions at one analysis, and spare ones.
    pub fn blocks_that_suffice(&self) -> usize {
        blocks_needed(level_per_question(ALPHA, self.questions, 0)) + SPARE
    }
}

/// A warning about a budget that could decide nothing, or only if no block is lost.
pub(crate) fn warning(plan: &Plan) -> Option<String> {
    let looks = Looks::new(&plan.looks, ALPHA)?;
    if plan.questions == 0 {
        return None;
    }
    let (budget, questions) =
        (count_in_words(looks.most_blocks(), "block"), count_in_words(plan.questions, "question"));
    let enough = plan.blocks_that_suffice();
    if first_deciding_look(&looks, plan.questions).is_none() {
        return Some(format!(
            "{budget} can decide nothing, even if all agree: to decide {questions} at one analysis takes {} (try: --runs {enough})",
            enough - SPARE,
        ));
    }
    let last = looks.planned().last().map_or(ALPHA, |look| look.error);
    let needed = blocks_needed(level_per_question(last, plan.questions, 0));
    (needed + SPARE > looks.most_blocks()).then(|| {
        format!(
            "{budget} leave too few spare ones: to decide {questions} takes {needed}, and a block is lost where an attempt fails or \
             is not faithful in all its tries (try: --runs {enough})"
        )
    })
}
