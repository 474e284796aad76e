//! What a claim states, put so that its data can answer.
//!
//! A claim is put as a question about one number a block that is above zero
//! where the claim stands. Where it is about a ratio that a comparison asks
//! for anyway, it is read off that comparison's answer: one question, not two.

use crosstalk_stats::Interval;
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::Side;

use super::datum::Datum;
use crate::findings::Estimate;
use crate::predicate::{Predicate, Relation};

/// On which scale a claim's numbers are compared, and how they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Logs of ratios, shown as ratios.
    Ratio,
    /// The numbers themselves.
    Plain,
}

impl Scale {
    /// From the number as written to the number as compared.
    pub fn inward(self, shown: f64) -> f64 {
        if self == Scale::Ratio { shown.ln() } else { shown }
    }

    /// Back again.
    pub fn outward(self, inner: f64) -> f64 {
        if self == Scale::Ratio { inner.exp() } else { inner }
    }
}

/// What is expected of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// On one side of a bound.
    Side(Predicate),
    /// At the published value, whose neutral place it is.
    Equal(f64),
}

impl Expected {
    /// What a claim expects: its predicate, else the side of `neutral` on which
    /// the published value lies (equality where that is no number, or published).
    /// `None` where it states neither.
    pub fn of(expect: Option<Predicate>, published: Option<f64>, neutral: f64) -> Option<Self> {
        match (expect, published) {
            (Some(predicate), _) => Some(Expected::Side(predicate)),
            (None, Some(p)) if p > neutral => Some(Expected::side(Relation::Above, neutral)),
            (None, Some(p)) if p < neutral => Some(Expected::side(Relation::Below, neutral)),
            (None, Some(p)) => Some(Expected::Equal(p)),
            (None, None) => None,
        }
    }

    fn side(relation: Relation, bound: f64) -> Self {
        Expected::Side(Predicate { relation, bound })
    }
}

/// A claim about one number, and how to read an answer about it.
///
/// What was asked is `q`; the claim's own number (as compared) is `offset + sign · q`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// How its numbers are shown.
    pub scale: Scale,
    /// See above.
    pub sign: f64,
    /// See above.
    pub offset: f64,
    /// The side of the answer on which the claim stands.
    pub stands: Side,
    /// Whether the size was asked for with the same question.
    pub sized: bool,
}

impl Reading {
    /// The claim's own number with its interval, as shown.
    pub fn found(&self, interval: &Interval) -> Estimate {
        let own = |q: f64| self.scale.outward(self.offset + self.sign * q);
        let (a, b) = (own(interval.low), own(interval.high));
        Estimate { value: own(interval.point), interval: Some((a.min(b), a.max(b))), n: interval.count }
    }

    /// The claim's own number where there is no interval: from the number that was asked about.
    pub fn point(&self, q: f64, n: usize) -> Estimate {
        Estimate { value: self.scale.outward(self.offset + self.sign * q), interval: None, n }
    }

    /// Whether the claim stands, is refuted, or is not decided.
    pub fn holds(&self, answer: &Answer) -> Option<bool> {
        answer.side.map(|side| side == self.stands)
    }
}

/// The block numbers `values` of a claim turned so that it stands above zero.
pub fn turned(datum: &Datum, scale: Scale, predicate: Predicate) -> (Datum, Reading) {
    let sign = if predicate.relation == Relation::Above { 1.0 } else { -1.0 };
    let offset = scale.inward(predicate.bound);
    let mut turned = datum.clone();
    for value in turned.values.values_mut() {
        *value = sign * (*value - offset);
    }
    turned.values.retain(|_, v| v.is_finite());
    (turned, Reading { scale, sign, offset, stands: Side::Above, sized: false })
}
