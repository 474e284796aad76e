//! A model, as one slave holds it.

use super::factors::Factors;

/// One slave's part of a model: the factors of its users and items.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The factors of its users.
    pub users: Factors,
    /// The factors of its items.
    pub items: Factors,
    /// The factors of its users before the last half of the last iteration: those from which `items` was
    /// computed.
    pub earlier: Factors,
}
