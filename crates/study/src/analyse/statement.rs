//! A claim about one number, turned so that its data can answer.
//!
//! The number of each block is turned so that the claim holds above zero. A claim about a ratio that a comparison
//! asks about anyway is read from that comparison's answer: one question, not two.

use crosstalk_stats::Interval;
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::Side;

use super::datum::Datum;
use crate::findings::Estimate;
use crate::predicate::{Predicate, Relation};

/// The scale on which a claim's numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Logarithms of ratios, shown as ratios.
    Ratio,
    /// The numbers themselves.
    Plain,
}

impl Scale {
    /// Converts a number as it is shown to the scale of comparison.
    pub fn to_compared(self, shown: f64) -> f64 {
        if self == Scale::Ratio { shown.ln() } else { shown }
    }

    /// Converts a number on the scale of comparison to the one that is shown.
    pub fn to_shown(self, compared: f64) -> f64 {
        if self == Scale::Ratio { compared.exp() } else { compared }
    }
}

/// What a claim expects of its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expectation {
    /// That it lies on one side of a bound.
    Side(Predicate),
    /// That it equals the published value.
    Equal(f64),
}

impl Expectation {
    /// A claim's predicate; without one, the side of `neutral` on which the published value lies. It is equality
    /// where `neutral` is the published value or not a number, and `None` where the claim has neither.
    pub fn of(expect: Option<Predicate>, published: Option<f64>, neutral: f64) -> Option<Self> {
        match (expect, published) {
            (Some(predicate), _) => Some(Expectation::Side(predicate)),
            (None, Some(p)) if p > neutral => Some(Expectation::side(Relation::Above, neutral)),
            (None, Some(p)) if p < neutral => Some(Expectation::side(Relation::Below, neutral)),
            (None, Some(p)) => Some(Expectation::Equal(p)),
            (None, None) => None,
        }
    }

    fn side(relation: Relation, bound: f64) -> Self {
        Expectation::Side(Predicate { relation, bound })
    }
}

/// How to read an answer about a question's number `q`: the claim's own number, as compared, is `offset + sign · q`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interpretation {
    /// The scale of the claim's number.
    pub scale: Scale,
    /// 1 or −1; see above.
    pub sign: f64,
    /// See above.
    pub offset: f64,
    /// The side of the answer on which the claim holds.
    pub holds_on: Side,
    /// Whether the same question asks about the size.
    pub size_asked: bool,
}

impl Interpretation {
    /// The claim's own number with its interval, as shown.
    pub fn estimate(&self, interval: &Interval) -> Estimate {
        let claimed = |q: f64| self.scale.to_shown(self.offset + self.sign * q);
        let (a, b) = (claimed(interval.low), claimed(interval.high));
        Estimate { value: claimed(interval.point), interval: Some((a.min(b), a.max(b))), n: interval.count }
    }

    /// The claim's own number without an interval, from the question's number `q` of `n` blocks.
    pub fn point(&self, q: f64, n: usize) -> Estimate {
        Estimate { value: self.scale.to_shown(self.offset + self.sign * q), interval: None, n }
    }

    /// Whether the claim holds; `None` where that is not decided.
    pub fn holds(&self, answer: &Answer) -> Option<bool> {
        answer.side.map(|side| side == self.holds_on)
    }
}

/// The numbers of `datum` turned so that `predicate` holds above zero, and how to read an answer about them.
pub fn turn_to_positive(datum: &Datum, scale: Scale, predicate: Predicate) -> (Datum, Interpretation) {
    let sign = if predicate.relation == Relation::Above { 1.0 } else { -1.0 };
    let offset = scale.to_compared(predicate.bound);
    let mut turned = datum.clone();
    for value in turned.values.values_mut() {
        *value = sign * (*value - offset);
    }
    turned.values.retain(|_, v| v.is_finite());
    (turned, Interpretation { scale, sign, offset, holds_on: Side::Above, size_asked: false })
}
