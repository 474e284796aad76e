//! A question with its data, whatever its kind.

use crosstalk_stats::family::{Answer, Question};
use crosstalk_stats::order::Order;
use crosstalk_stats::question::{Comparison, Published};
use crosstalk_stats::threshold::Threshold;
use crosstalk_stats::verdict::{Margin, Side, size};

/// What is asked of a number a block, by complete block.
pub enum Ask {
    /// A difference of cells that ran in random order.
    Paired {
        /// The numbers.
        by_block: Vec<Option<f64>>,
        /// The margin stated beforehand.
        margin: Margin,
        /// What pairs of equal cells showed, where it was measured.
        noise: Vec<Vec<Option<f64>>>,
        /// The published size.
        size: Option<Published>,
    },
    /// A number that is no difference, and need not be symmetric about anything.
    Lone {
        /// The numbers.
        by_block: Vec<Option<f64>>,
        /// The margin stated beforehand.
        margin: Margin,
        /// The published size.
        size: Option<Published>,
    },
    /// Several differences that must all lie above the margin.
    Steps(Order),
    /// What is asked once an earlier experiment's result is there.
    ToCome,
}

impl Question for Ask {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        match self {
            Ask::Paired { by_block, margin, noise, size } => {
                let comparison = Comparison { by_block, margin: margin.beyond, noise, published: *size };
                comparison.equivalent_within(margin.within).answer(blocks, tail, earlier)
            }
            Ask::Lone { by_block, margin, size } => {
                let answer = Threshold { by_block, number: 0.0 }.answer(blocks, tail, earlier);
                within(answer, *margin, *size)
            }
            Ask::Steps(order) => order.answer(blocks, tail, earlier),
            Ask::ToCome => Answer::default(),
        }
    }
}

/// What an answer's interval says against a margin other than zero, and about a size.
fn within(answer: Answer, margin: Margin, published: Option<Published>) -> Answer {
    let side = answer.interval.and_then(|interval| Side::of(&interval, margin));
    let found = published.zip(answer.interval).and_then(|(p, i)| size(&i, p.value, p.margin));
    Answer {
        side,
        margin: if side == Some(Side::Within) { margin.within } else { margin.beyond },
        size: found,
        settled: side.is_some() && (published.is_none() || found.is_some()),
        frees: answer.frees && published.is_none() && margin == Margin::default(),
        ..answer
    }
}
