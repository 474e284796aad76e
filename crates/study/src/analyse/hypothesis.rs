//! What is tested on the data, for comparisons and claims alike.

use crosstalk_stats::Interval;
use crosstalk_stats::family::{Answer, Question};
use crosstalk_stats::order::Order;
use crosstalk_stats::question::{Comparison, Published};
use crosstalk_stats::threshold::Threshold;
use crosstalk_stats::verdict::{Margin, Side, agrees_in_size};

/// A hypothesis with its data: one number a complete block.
pub enum Hypothesis {
    /// About a difference of cells that ran in random order.
    Paired {
        /// The numbers.
        by_block: Vec<Option<f64>>,
        /// The margin stated beforehand.
        margin: Margin,
        /// The log ratios of equal cells, one list a pair; empty where none were measured.
        noise: Vec<Vec<Option<f64>>>,
        /// The published size.
        size: Option<Published>,
    },
    /// About a number that is no difference, and need not be symmetric about anything.
    Unpaired {
        /// The numbers.
        by_block: Vec<Option<f64>>,
        /// The margin stated beforehand.
        margin: Margin,
        /// The published size.
        size: Option<Published>,
    },
    /// About several differences that must all lie above the margin.
    Steps(Order),
    /// About data that an earlier experiment's result must precede.
    Pending,
}

impl Question for Hypothesis {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        match self {
            Hypothesis::Paired { by_block, margin, noise, size } => {
                let comparison = Comparison { by_block, margin: margin.beyond, noise, published: *size };
                comparison.equivalent_within(margin.within).answer(blocks, tail, earlier)
            }
            Hypothesis::Unpaired { by_block, margin, size } => {
                let answer = Threshold { by_block, number: 0.0 }.answer(blocks, tail, earlier);
                against_margin(answer, *margin, *size)
            }
            Hypothesis::Steps(order) => order.answer(blocks, tail, earlier),
            Hypothesis::Pending => Answer::default(),
        }
    }
}

/// The answer that a computed number gives: it has no error, so that nothing is left open. `None`: there is no number.
pub fn answer_of_number(number: Option<f64>, margin: Margin, size: Option<Published>) -> Answer {
    let Some(number) = number else { return Answer::default() };
    let interval = Interval { point: number, low: number, high: number, count: 1 };
    let side = Side::of(&interval, margin);
    Answer {
        interval: Some(interval),
        side,
        margin: if side == Some(Side::Within) { margin.within } else { margin.beyond },
        size: size.and_then(|size| agrees_in_size(&interval, size.value, size.margin)),
        settled: true,
        frees: false,
    }
}

/// An answer about zero as one about a margin and a published size.
fn against_margin(answer: Answer, margin: Margin, published: Option<Published>) -> Answer {
    let side = answer.interval.and_then(|interval| Side::of(&interval, margin));
    let agrees = published.zip(answer.interval).and_then(|(p, i)| agrees_in_size(&i, p.value, p.margin));
    Answer {
        side,
        margin: if side == Some(Side::Within) { margin.within } else { margin.beyond },
        size: agrees,
        settled: side.is_some() && (published.is_none() || agrees.is_some()),
        frees: answer.frees && published.is_none() && margin == Margin::default(),
        ..answer
    }
}
