//! Numbers by block.

/// The numbers of the first `blocks` blocks that have one.
pub(crate) fn first(by_block: &[Option<f64>], blocks: usize) -> Vec<f64> {
    by_block.iter().take(blocks).flatten().copied().collect()
}
