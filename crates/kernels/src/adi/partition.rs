//! The multi-partition scheme (NAS-95-020, section 3): of c² ranks, each has c of c³ cells, along a diagonal of the cube. In
//! each direction, a rank has one cell of every layer, and all its cells have their neighbours on the same two ranks. So
//! all ranks compute at every stage of a sweep through the layers.

/// A rank's cells, and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Layers in each direction, which are also the cells of a rank.
    pub(crate) layers: usize,
    /// The layer of each of its cells, in each direction.
    pub(crate) cells: Vec<[usize; 3]>,
    /// The rank of the cells before its own, in each direction.
    pub(crate) before: [usize; 3],
    /// The rank of the cells after its own.
    pub(crate) after: [usize; 3],
}

impl Partition {
    /// The cells of rank `id` of `size`, a square number.
    pub(crate) fn new(id: usize, size: usize) -> Self {
        let layers = size.isqrt();
        let (i, j) = (id % layers, id / layers);
        // A cell further in the third direction is one further in the first, and one less far in the second.
        let cells = (0..layers).map(|k| [(i + k) % layers, (j + layers - k) % layers, k]).collect();
        let rank = |i: usize, j: usize| i % layers + layers * (j % layers);
        let back = layers - 1;
        Partition {
            layers,
            cells,
            before: [rank(i + back, j), rank(i, j + back), rank(i + 1, j + back)],
            after: [rank(i + 1, j), rank(i, j + 1), rank(i + back, j + 1)],
        }
    }

    /// Which of its cells is in this layer.
    pub(crate) fn cell_in(&self, direction: usize, layer: usize) -> usize {
        let found = self.cells.iter().position(|cell| cell[direction] == layer);
        found.expect("there is a cell of each layer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_one_rank_and_neighbours_are_where_they_are_expected() {
        for layers in 1..=5 {
            let ranks: Vec<Partition> =
                (0..layers * layers).map(|id| Partition::new(id, layers * layers)).collect();
            let owner = |cell: [usize; 3]| {
                let owners: Vec<usize> =
                    (0..ranks.len()).filter(|id| ranks[*id].cells.contains(&cell)).collect();
                assert_eq!(owners.len(), 1, "{cell:?} of {layers}");
                owners[0]
            };
            for rank in &ranks {
                for (direction, cell) in (0..3).flat_map(|d| rank.cells.iter().map(move |cell| (d, *cell))) {
                    let shifted = |by: usize| {
                        let mut there = cell;
                        there[direction] = (there[direction] + by) % layers;
                        there
                    };
                    assert_eq!(owner(shifted(1)), rank.after[direction]);
                    assert_eq!(owner(shifted(layers - 1)), rank.before[direction]);
                    assert_eq!(rank.cells[rank.cell_in(direction, cell[direction])], cell);
                }
            }
        }
    }
}
