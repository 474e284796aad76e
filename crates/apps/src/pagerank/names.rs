//! The vertices' names in a file, and their labels here.
//!
//! Numbers without large gaps are labels themselves. Otherwise every name that an edge has gets a label, from
//! 0 without gaps, so that tables by label grow with the number of vertices. Labels are ordered by the names'
//! keys: a number is its own key, so that the order of vertices stays; a text's key is a hash, and equal keys
//! are ordered by the text.

use super::column::Column;
use super::name::Name;
use super::partition::Partition;
use super::table::Table;

/// The labels of a graph's vertices.
#[derive(Debug, Clone, PartialEq)]
pub enum Names {
    /// The labels are the file's own numbers, below this bound.
    Same(u32),
    /// The labels are positions in a table.
    Table(Table),
}

impl Names {
    /// Labels are below this.
    pub fn labels(&self) -> u32 {
        match self {
            Names::Same(bound) => *bound,
            Names::Table(table) => table.labels(),
        }
    }

    /// The label of a name, if it has one.
    pub fn label(&self, name: Name) -> Option<u32> {
        match (self, name) {
            (Names::Same(bound), Name::Number(number)) => {
                u32::try_from(number).ok().filter(|number| number < bound)
            }
            (Names::Same(_), Name::Text(_)) => None,
            (Names::Table(table), name) => table.label(name),
        }
    }

    /// The name of a label below [`Names::labels`].
    pub fn name(&self, label: u32) -> Name<'_> {
        match self {
            Names::Same(_) => Name::Number(u64::from(label)),
            Names::Table(table) => table.name(label),
        }
    }

    /// The names of one part's vertices alone, for use without labels.
    pub fn keep(self, part: usize, partition: Partition) -> PartNames {
        match self {
            Names::Same(_) => PartNames::Same { part, partition },
            Names::Table(table) => {
                let labels = (0..).map(|place| partition.label(part, place));
                let places = partition.places(part, table.labels());
                PartNames::Column(Column::of(labels.take(places).map(|label| table.name(label))))
            }
        }
    }
}

/// The names of one part's vertices, by place.
#[derive(Debug, Clone)]
pub enum PartNames {
    /// The labels.
    Same {
        /// The part.
        part: usize,
        /// The division of labels among parts.
        partition: Partition,
    },
    /// Others.
    Column(Column),
}

impl PartNames {
    /// The name of the vertex at `place`.
    pub fn name(&self, place: u32) -> Name<'_> {
        match self {
            PartNames::Same { part, partition } => Name::Number(u64::from(partition.label(*part, place))),
            PartNames::Column(column) => column.name(place as usize),
        }
    }

    /// The bytes that they take.
    pub fn bytes(&self) -> usize {
        match self {
            PartNames::Same { .. } => 0,
            PartNames::Column(column) => column.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pagerank::table::Table;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn table(names: &[Name]) -> Names {
        let mut buffers = vec![Vec::new(); 3];
        (0..).zip(names).for_each(|(index, name)| name.put(&mut buffers[index % 3]));
        Names::Table(Table::new(&buffers).expect("complete"))
    }

    #[test]
    fn numbers_keep_their_order() {
        let names = [7, 4_000_000_000, 1 << 63, 0, 268_435_455].map(Name::Number);
        let table = table(&names);
        let labels = names.map(|name| table.label(name).expect("known"));
        assert_eq!(labels, [1, 3, 4, 0, 2]);
        assert_eq!(table.label(Name::Number(8)), None);
        assert_eq!(table.label(Name::Number(u64::MAX)), None);
        assert_eq!(table.label(Name::Text("7")), None);
    }

    #[test]
    fn numbers_without_gaps_are_labels() {
        let names = Names::Same(5);
        assert_eq!(names.label(Name::Number(4)), Some(4));
        assert_eq!((names.label(Name::Number(5)), names.label(Name::Text("4"))), (None, None));
        assert_eq!(names.name(3), Name::Number(3));
    }

    #[test]
    fn a_message_that_is_cut_short_is_a_fault() {
        let mut buffer = Vec::new();
        Name::Text("Graz").put(&mut buffer);
        assert!(Table::new(&[buffer[..6].to_vec()]).is_err());
    }

    proptest! {
        #[test]
        fn every_number_has_one_label(numbers: BTreeSet<u64>, parts in 1_usize..4) {
            let names: Vec<Name> = numbers.iter().map(|number| Name::Number(*number)).collect();
            let table = table(&names);
            prop_assert_eq!(table.labels() as usize, names.len());
            for (label, name) in (0..).zip(&names) {
                prop_assert_eq!(table.label(*name), Some(label));
                prop_assert_eq!(table.name(label), *name);
            }
            let partition = Partition::new(parts);
            for part in 0..parts {
                let kept = table.clone().keep(part, partition);
                for place in 0..partition.places(part, table.labels()) as u32 {
                    prop_assert_eq!(kept.name(place), table.name(partition.label(part, place)));
                }
            }
        }

        #[test]
        fn every_text_has_one_label(texts in proptest::collection::btree_set(".{1,20}", 0..60)) {
            let names: Vec<Name> = texts.iter().map(|text| Name::Text(text)).collect();
            let table = table(&names);
            let labels: BTreeSet<u32> = names.iter().filter_map(|name| table.label(*name)).collect();
            prop_assert!(labels.iter().copied().eq(0..names.len() as u32));
            for name in names {
                prop_assert_eq!(table.label(name).map(|label| table.name(label)), Some(name));
            }
        }
    }
}
