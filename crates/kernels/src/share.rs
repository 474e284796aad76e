//! How points, rows or batches are divided among ranks.

use std::ops::Range;

/// The share of one of `parts` in `count` things. The first parts have one more if they cannot be equal.
pub(crate) fn share(count: usize, parts: usize, part: usize) -> Range<usize> {
    let begin = |part: usize| part * (count / parts) + part.min(count % parts);
    begin(part)..begin(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_the_first_are_longer() {
        assert_eq!([0, 1, 2].map(|part| share(64, 3, part)), [0..22, 22..43, 43..64]);
        assert_eq!([0, 1, 2].map(|part| share(2, 3, part)), [0..1, 1..2, 2..2]);
    }
}
