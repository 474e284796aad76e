//! The ratings of one side, row by row: MLlib's in-block.

/// The ratings of the rows (users, or items) that one slave owns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// The rows' ids, ascending; each has a rating.
    pub ids: Vec<u32>,
    /// Row → where its ratings begin; one more at the end.
    pub offsets: Vec<usize>,
    /// The other side of each rating: first its id, and with a route its slot. Within a row they are in the
    /// order of ids, so that sums over a row round the same on any number of slaves.
    pub columns: Vec<u32>,
    /// Each rating.
    pub ratings: Vec<f32>,
}

impl Rows {
    /// Sorts ratings, each (row, column, rating), into rows.
    pub fn new(mut ratings: Vec<(u32, u32, f32)>) -> Self {
        // Ratings that are in order already cost next to nothing.
        ratings.sort_unstable_by_key(|(row, column, _)| u64::from(*row) << 32 | u64::from(*column));
        let mut rows = Rows::default();
        for (index, (row, _, _)) in ratings.iter().enumerate() {
            if rows.ids.last() != Some(row) {
                rows.ids.push(*row);
                rows.offsets.push(index);
            }
        }
        rows.offsets.push(ratings.len());
        rows.columns = ratings.iter().map(|(_, column, _)| *column).collect();
        rows.ratings = ratings.iter().map(|(_, _, rating)| *rating).collect();
        rows
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The row with this id.
    pub fn find(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// A row's columns and ratings.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.ratings[range])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_sorted_into_rows() {
        let rows = Rows::new(vec![(7, 2, 1.0), (3, 9, 2.0), (7, 1, 3.0)]);
        assert_eq!(rows.ids, [3, 7]);
        assert_eq!(rows.row(0), (&[9][..], &[2.0][..]));
        assert_eq!(rows.row(1), (&[1, 2][..], &[3.0, 1.0][..]));
        assert_eq!((rows.find(7), rows.find(8)), (Some(1), None));
    }

    #[test]
    fn no_ratings_are_no_rows() {
        assert_eq!(Rows::new(Vec::new()).count(), 0);
    }
}
