//! Values by block.

/// The values of the first `blocks` blocks, without those that have none.
pub(crate) fn first_values(by_block: &[Option<f64>], blocks: usize) -> Vec<f64> {
    by_block.iter().take(blocks).flatten().copied().collect()
}
