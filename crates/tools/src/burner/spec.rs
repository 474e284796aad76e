//! What the work uses.

use super::mix::Mix;

/// What a burner uses, and by how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub(super) threads: usize,
    pub(super) mix: Mix,
    /// Whether its threads have the lowest priority.
    pub(super) lowest: bool,
}
