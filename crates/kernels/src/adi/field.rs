//! Values on the points of a cell, with those of neighbours around it.
//!
//! A row has the points along the first direction. Of each row, the first value of all points comes first, then the second,
//! and so on: neighbouring points of a value are consecutive, and a row's values are near each other.

/// Points, or lines, that are computed at once.
pub(crate) const PACK: usize = 8;
/// A value of so many points or lines.
pub(crate) type Pack = [f64; PACK];
/// Layers of neighbours' points on each side of a cell. The first point of a cell has these coordinates.
pub(crate) const GHOSTS: usize = 2;

/// `M` values on each point of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Field<const M: usize> {
    values: Vec<f64>,
    width: usize,
    height: usize,
}

impl<const M: usize> Field<M> {
    /// For a cell of `size` points, each with these values.
    pub(crate) fn new(size: [usize; 3], fill: [f64; M]) -> Self {
        // A pack may begin at the last point of a row, and is read with two neighbours.
        let width = (size[0] + GHOSTS + GHOSTS + PACK - 1).next_multiple_of(PACK);
        let height = size[1] + 2 * GHOSTS;
        let rows = height * (size[2] + 2 * GHOSTS);
        let row: Vec<f64> = fill.into_iter().flat_map(|value| std::iter::repeat_n(value, width)).collect();
        Field { values: row.repeat(rows), width, height }
    }

    /// From a value to the next one, in a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are in a layer.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// A row: all points with these second and third coordinates.
    pub(crate) fn row(&self, j: usize, k: usize) -> &[f64] {
        let length = M * self.width;
        &self.values[(k * self.height + j) * length..][..length]
    }

    /// The same, to be changed.
    pub(crate) fn row_mut(&mut self, j: usize, k: usize) -> &mut [f64] {
        let length = M * self.width;
        &mut self.values[(k * self.height + j) * length..][..length]
    }

    /// The values of a point.
    pub(crate) fn at(&self, [i, j, k]: [usize; 3]) -> [f64; M] {
        let row = self.row(j, k);
        std::array::from_fn(|value| row[value * self.width + i])
    }

    /// Sets the values of a point.
    pub(crate) fn set(&mut self, [i, j, k]: [usize; 3], values: [f64; M]) {
        let width = self.width;
        let row = self.row_mut(j, k);
        for (value, number) in values.into_iter().enumerate() {
            row[value * width + i] = number;
        }
    }
}

/// The pack that begins there.
#[inline(always)]
pub(crate) fn pack(row: &[f64], at: usize) -> &Pack {
    row[at..].first_chunk().expect("rows end with room for a pack")
}

/// The same, to be changed.
#[inline(always)]
pub(crate) fn pack_mut(row: &mut [f64], at: usize) -> &mut Pack {
    row[at..].first_chunk_mut().expect("rows end with room for a pack")
}

/// The packs of `M` values that begin at the first point of a row.
#[inline(always)]
pub(crate) fn packs<const M: usize>(row: &[f64], width: usize) -> [&Pack; M] {
    let mut packs = [pack(row, 0); M];
    for (value, pack_of_value) in packs.iter_mut().enumerate() {
        *pack_of_value = pack(row, value * width);
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_where_they_were_set() {
        let mut field = Field::new([3, 4, 5], [1.0, 2.0]);
        field.set([4, 5, 6], [3.0, 4.0]);
        assert_eq!((field.at([4, 5, 6]), field.at([4, 5, 5])), ([3.0, 4.0], [1.0, 2.0]));
        let [first, second] = packs(&field.row(5, 6)[4..], field.width());
        assert_eq!((first[0], first[1], second[0], second[1]), (3.0, 1.0, 4.0, 2.0));
    }
}
