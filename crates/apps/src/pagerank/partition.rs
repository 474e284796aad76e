//! The part that has a vertex: the remainder of its label, as in GraphX's hash partitioner. Generated labels
//! are in random order, so every part gets its share of the hubs.

/// The division of a graph's labels among the parts (slaves).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    parts: u32,
}

impl Partition {
    /// A division among so many parts.
    pub fn new(parts: usize) -> Self {
        Partition { parts: parts as u32 }
    }

    /// The part that holds `label`.
    pub fn owner(self, label: u32) -> usize {
        (label % self.parts) as usize
    }

    /// The place of `label` among the labels of its owner.
    pub fn place(self, label: u32) -> u32 {
        label / self.parts
    }

    /// The label at `place` of `part`.
    pub fn label(self, part: usize, place: u32) -> u32 {
        place * self.parts + part as u32
    }

    /// How many of the labels below `bound` belong to `part`.
    pub fn count_places(self, part: usize, bound: u32) -> usize {
        bound.saturating_sub(part as u32).div_ceil(self.parts) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_label_has_one_place(parts in 1_usize..9, bound in 1_u32..5000) {
            let partition = Partition::new(parts);
            let mut found: Vec<u32> = (0..parts)
                .flat_map(|part| {
                    let places = partition.count_places(part, bound) as u32;
                    (0..places).map(move |place| partition.label(part, place))
                })
                .collect();
            found.sort_unstable();
            prop_assert_eq!(found, (0..bound).collect::<Vec<_>>());
            for label in 0..bound {
                let (part, place) = (partition.owner(label), partition.place(label));
                prop_assert_eq!(partition.label(part, place), label);
            }
        }
    }
}
