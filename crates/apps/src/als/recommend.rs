//! The items that the new user would like best.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The `count` items with the highest predictions that are not among `rated`,
/// best first; of equals the one with the lower id.
pub fn best_items(
    predictions: impl Iterator<Item = (u32, f64)>,
    rated: &BTreeSet<u32>,
    count: usize,
) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = predictions.filter(|(item, _)| !rated.contains(item)).collect();
    if all.len() > count {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

fn order(a: &(u32, f64), b: &(u32, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_what_was_rated_does_not_come() {
        let predictions = [(1, 3.0), (2, 5.0), (3, 4.0), (4, 4.0), (5, 1.0)];
        let rated = BTreeSet::from([2]);
        assert_eq!(best_items(predictions.into_iter(), &rated, 3), [(3, 4.0), (4, 4.0), (1, 3.0)]);
        assert_eq!(best_items(predictions.into_iter(), &rated, 50).len(), 4);
    }
}
