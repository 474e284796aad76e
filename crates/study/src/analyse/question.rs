//! A claim as a question to its data, before they are judged.

use crosstalk_stats::order::Order;
use crosstalk_stats::verdict::Margin;

use super::contrast::Contrast;
use super::datum::Datum;
use super::select::View;
use super::statement::Reading;
use crate::file::Claim;

/// A claim with what is known of it before its data are judged.
pub struct Stated<'a> {
    /// Its name in the study.
    pub name: &'a str,
    /// As written.
    pub claim: &'a Claim,
    /// What was published, in the claim's own unit.
    pub published: Option<f64>,
    /// The margin of the size test, as a ratio.
    pub margin: Option<f64>,
    /// The unit of its number.
    pub unit: String,
    /// What its number is per, where the unit does not say: ` as the power of slaves that it follows`.
    pub per: String,
    /// What it asks.
    pub put: Put<'a>,
}

/// A claim as a question.
pub enum Put<'a> {
    /// About one number a block.
    One(One<'a>),
    /// About several differences that must all be above zero.
    Steps(Steps<'a>),
    /// It cannot be asked: why.
    Not(String),
}

/// A question about one number a block, above zero where the claim stands.
pub struct One<'a> {
    /// The numbers.
    pub datum: Datum,
    /// Whether they are no differences of cells that ran in random order.
    pub lone: bool,
    /// How the answer reads.
    pub reading: Reading,
    /// Beyond which it stands.
    pub margin: Margin,
    /// The published size and its margin, on the question's scale.
    pub size: Option<(f64, f64)>,
    /// Which noise counts as margin.
    pub noise: Vec<Beside<'a>>,
    /// For a ratio: which cells it is of, so that a comparison of the same can answer it.
    pub contrast: Option<Contrast<'a>>,
}

/// A question about several differences.
pub struct Steps<'a> {
    /// What each step showed, by complete block.
    pub order: Order,
    /// How the answer reads.
    pub reading: Reading,
    /// Which noise counts as margin.
    pub noise: Beside<'a>,
}

/// The noise beside which a claim must stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside<'a> {
    /// The claim's experiment.
    pub experiment: &'a str,
    /// What is asked of its cells.
    pub metric: String,
    /// What one of the natural log is on the claim's scale.
    pub scale: f64,
}

impl Stated<'_> {
    /// The cells of a ratio, where it is one of one experiment.
    pub fn contrast<'v>(&self, view: &View<'v>) -> Option<Contrast<'v>> {
        let ratio = self.claim.ratio.as_ref().filter(|ratio| ratio.over.is_none())?;
        Some(Contrast::new(view, &ratio.metric, &self.claim.at, &ratio.of, &ratio.to))
    }
}
