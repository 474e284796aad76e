//! An edge.

/// A directed edge between two vertices' labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it leaves.
    pub source: u32,
    /// Where it points.
    pub target: u32,
}
