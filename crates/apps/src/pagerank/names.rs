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

/// The names of a graph's vertices, and the label of each.
#[derive(Debug, Clone, PartialEq)]
pub enum Names {
    /// The labels are the file's own numbers, below this bound.
    Same(u32),
    /// The labels are positions in a table.
    Table(Table),
}

impl Names {
    /// All labels are below this number.
    pub fn label_bound(&self) -> u32 {
        match self {
            Names::Same(bound) => *bound,
            Names::Table(table) => table.label_count(),
        }
    }

    /// The label of a name, if it has one.
    pub fn label_of(&self, name: Name) -> Option<u32> {
        match (self, name) {
            (Names::Same(bound), Name::Number(number)) => {
                u32::try_from(number).ok().filter(|number| number < bound)
            }
            (Names::Same(_), Name::Text(_)) => None,
            (Names::Table(table), name) => table.label_of(name),
        }
    }

    /// The name of a label below [`Names::label_bound`].
    pub fn name_of(&self, label: u32) -> Name<'_> {
        match self {
            Names::Same(_) => Name::Number(u64::from(label)),
            Names::Table(table) => table.name_of(label),
        }
    }

    /// The names of one part's vertices alone, for use without labels.
    pub fn keep_part(self, part: usize, partition: Partition) -> PartNames {
        match self {
            Names::Same(_) => PartNames::Same { part, partition },
            Names::Table(table) => {
                let labels = (0..).map(|place| partition.label(part, place));
                let places = partition.count_places(part, table.label_count());
                PartNames::Column(Column::of_names(labels.take(places).map(|label| table.name_of(label))))
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
    pub fn name_at(&self, place: u32) -> Name<'_> {
        match self {
            PartNames::Same { part, partition } => Name::Number(u64::from(partition.label(*part, place))),
            PartNames::Column(column) => column.name(place as usize),
        }
    }

    /// The bytes that the names take in memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            PartNames::Same { .. } => 0,
            PartNames::Column(column) => column.memory_bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
