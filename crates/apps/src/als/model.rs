//! A model, as one slave holds it.

use super::factors::Factors;

/// One slave's part of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Of its users.
    pub users: Factors,
    /// Of its items.
    pub items: Factors,
    /// Of its users, before the last half of the last iteration: what `items`
    /// was computed from.
    pub earlier: Factors,
}
