//! Findings over the ranges of the model's parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number over the ranges of the model's parameters, around what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverRanges {
    /// Between what 95 % of the clusters lie that were drawn from the ranges: the error of the model alone.
    pub of_model: (f64, f64),
    /// The same with the noise of this machine: the interval of both.
    pub together: (f64, f64),
    /// What each parameter alone does, the greatest effect first.
    pub parameters: Vec<ParameterEffect>,
}

/// A number at both ends of the range of one parameter, all others as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParameterEffect {
    /// The parameter: `system moonshot: speed`.
    pub name: String,
    /// The ends of its range, for people: "0.1", "15.0 µs"; of a parameter that follows another, of the factor between them.
    pub range: (String, String),
    /// The number at the lower end.
    pub at_lower: f64,
    /// The number at the upper end.
    pub at_upper: f64,
}
