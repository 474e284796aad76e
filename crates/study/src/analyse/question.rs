//! A claim as a question to its data, before they are judged.

use crosstalk_core::record::Origin;
use crosstalk_stats::order::Order;
use crosstalk_stats::verdict::Margin;

use std::collections::BTreeSet;

use super::contrast::Contrast;
use super::datum::Datum;
use super::select::View;
use super::statement::{Expectation, Interpretation};
use crate::file::Claim;
use crate::predicate::{Predicate, Relation};

/// A claim with what is known of it before its data are judged.
pub struct OpenClaim<'a> {
    /// Its name in the study.
    pub name: &'a str,
    /// As written.
    pub written: &'a Claim,
    /// What was published, in the claim's own unit.
    pub published: Option<f64>,
    /// The margin of the size test, as a ratio.
    pub margin: Option<f64>,
    /// The unit of its number.
    pub unit: String,
    /// What a trend's number is, to follow it in a sentence: ` as the power of slaves that it follows`. Else empty.
    pub per: String,
    /// What it asks.
    pub question: ClaimQuestion<'a>,
}

/// What a claim asks of its data.
pub enum ClaimQuestion<'a> {
    /// About one number a block.
    Number(NumberQuestion<'a>),
    /// About several differences that must all be above zero.
    Steps(StepsQuestion<'a>),
    /// Nothing, and why.
    NotAsked(String),
}

/// A question about one number a block, turned so that the claim holds above zero.
pub struct NumberQuestion<'a> {
    /// The numbers.
    pub datum: Datum,
    /// Whether they are differences of cells that ran in random order.
    pub paired: bool,
    /// How to read an answer.
    pub interpretation: Interpretation,
    /// How far from zero a number must be to count.
    pub margin: Margin,
    /// The published size and its margin, on the question's scale.
    pub size: Option<(f64, f64)>,
    /// Where noise was measured that counts as margin.
    pub noise: Vec<NoiseSource<'a>>,
    /// For a ratio its cells, so that a comparison of the same cells can answer it.
    pub contrast: Option<Contrast<'a>>,
}

/// A question whether each of several differences is above zero.
pub struct StepsQuestion<'a> {
    /// What each step showed, by complete block.
    pub order: Order,
    /// As of a [`Datum`].
    pub origins: BTreeSet<Origin>,
    /// As of a [`Datum`].
    pub modelled: bool,
    /// How to read an answer.
    pub interpretation: Interpretation,
    /// Where noise was measured that counts as margin.
    pub noise: Vec<NoiseSource<'a>>,
}

/// The metric whose noise a claim's number must exceed.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseSource<'a> {
    /// The claim's experiment.
    pub experiment: &'a str,
    /// The metric.
    pub metric: String,
    /// What one unit of the natural logarithm is on the claim's scale.
    pub scale: f64,
}

impl<'a> NoiseSource<'a> {
    /// That of a metric in an experiment, where one unit of the natural logarithm is `scale`. `None` where its numbers are
    /// computed, and have no noise.
    pub fn of(view: &View<'a>, metric: &str, scale: f64) -> Option<Self> {
        let experiment = view.experiment.name();
        (!view.experiment.planned.computed).then(|| NoiseSource {
            experiment,
            metric: metric.to_string(),
            scale,
        })
    }
}

impl OpenClaim<'_> {
    /// Whether a claim about a ratio expects it above 1 (`Some(true)`) or below; `None` where it expects something else.
    pub fn side_of_one(&self) -> Option<bool> {
        let predicate = self.written.expect.as_ref().map(|expect| expect.value);
        match Expectation::of(predicate, self.published, 1.0)? {
            Expectation::Side(Predicate { relation, bound: 1.0 }) => Some(relation == Relation::Above),
            _ => None,
        }
    }

    /// The cells of a ratio within one experiment; `None` for other claims.
    pub fn contrast<'v>(&self, view: &View<'v>) -> Option<Contrast<'v>> {
        let ratio =
            self.written.ratio.as_ref().filter(|ratio| ratio.over.is_none() && ratio.against.is_none())?;
        Some(Contrast::new(view, &ratio.metric, &self.written.at, &ratio.of, &ratio.to))
    }
}
