//! An edge.

/// A directed edge between two vertices' labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The vertex that it leaves.
    pub source: u32,
    /// The vertex that it points at.
    pub target: u32,
}
