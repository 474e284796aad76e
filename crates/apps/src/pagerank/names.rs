//! What vertices are called in a file, and the labels that stand for them here.
//!
//! Numbers without large gaps are labels themselves. Otherwise every name that an edge has gets a
//! label, from 0 without gaps, so that tables by label follow the number of vertices. Labels go
//! by the names' keys: a number is its own key, so that the order of vertices stays; a text's is
//! a hash, of which equal ones go by the text.

use crosstalk_core::Fault;
use rustc_hash::FxHashSet;

use super::partition::Partition;
use super::rmat::mix;
use super::source::{Extent, Source};
use crate::exchange::Exchange;

/// The largest label: it shares 32 bits with flags.
pub const LARGEST_LABEL: u32 = (1 << 28) - 1;

/// Exchanges that [`Names::agree`] makes where names get labels.
pub const EXCHANGES: u64 = 2;

/// Stands before a number in a message, where a text's length would stand.
const NUMBER: u32 = u32::MAX;

/// A vertex as a file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name<'a> {
    /// By a number.
    Number(u64),
    /// By anything else.
    Text(&'a str),
}

impl Name<'_> {
    /// The number, or the text's hash.
    pub fn key(self) -> u64 {
        match self {
            Name::Number(number) => number,
            Name::Text(text) => text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash ^ u64::from_le_bytes(word)).wrapping_add(hash)
            }),
        }
    }

    fn put(self, buffer: &mut Vec<u8>) {
        match self {
            Name::Number(number) => {
                buffer.extend_from_slice(&NUMBER.to_le_bytes());
                buffer.extend_from_slice(&number.to_le_bytes());
            }
            Name::Text(text) => {
                buffer.extend_from_slice(&(text.len() as u32).to_le_bytes());
                buffer.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// The first name in a buffer, and what follows it.
    fn get(buffer: &[u8]) -> Option<(Name<'_>, &[u8])> {
        let (length, rest) = buffer.split_first_chunk()?;
        match u32::from_le_bytes(*length) {
            NUMBER => {
                let (number, rest) = rest.split_first_chunk()?;
                Some((Name::Number(u64::from_le_bytes(*number)), rest))
            }
            length => {
                let (text, rest) = rest.split_at_checked(length as usize)?;
                Some((Name::Text(str::from_utf8(text).ok()?), rest))
            }
        }
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => number.fmt(f),
            Name::Text(text) => text.fmt(f),
        }
    }
}

/// The labels of a graph's vertices.
#[derive(Debug, Clone, PartialEq)]
pub enum Names {
    /// They are the file's own numbers, below this bound.
    Same(u32),
    /// Each name has its place.
    Table(Table),
}

impl Names {
    /// What vertices are called, as all parts learn from the chunks that each reads.
    pub fn agree(source: &Source, extent: Extent, exchange: &mut dyn Exchange) -> Result<Self, Fault> {
        if let Some(labels) = extent.labels {
            return Ok(Names::Same(labels));
        }
        let parts = exchange.parts();
        let mut found = Set::default();
        source.names(exchange.part(), parts, |name| found.insert(name))?;
        // Each name goes to one part, which tells all parts of it once.
        let mut outgoing = vec![Vec::new(); parts];
        found.drain(|name| name.put(&mut outgoing[(mix(name.key()) % parts as u64) as usize]));
        let mut own = Set::default();
        exchange.exchange(outgoing)?.iter().try_for_each(|buffer| each(buffer, |name| own.insert(name)))?;
        let mut buffer = Vec::new();
        own.drain(|name| name.put(&mut buffer));
        let arrived = exchange.exchange(vec![buffer; parts])?;
        Table::new(&arrived).map(Names::Table)
    }

    /// Labels are below this.
    pub fn labels(&self) -> u32 {
        match self {
            Names::Same(bound) => *bound,
            Names::Table(table) => table.keys.len() as u32,
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

    /// The names of the vertices of one part alone, for whoever needs no labels any more.
    pub fn keep(self, part: usize, partition: Partition) -> PartNames {
        match self {
            Names::Same(_) => PartNames::Same { part, partition },
            Names::Table(table) => {
                let labels = (0..).map(|place| partition.label(part, place));
                let places = partition.places(part, table.keys.len() as u32);
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
        /// Who holds which label.
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

/// Names one behind the other: all numbers, or all texts.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Texts.
    Texts {
        /// Where each ends.
        ends: Vec<usize>,
        /// One behind the other.
        text: String,
    },
}

impl Column {
    fn of<'a>(names: impl Iterator<Item = Name<'a>>) -> Self {
        let (mut numbers, mut ends, mut text) = (Vec::new(), Vec::new(), String::new());
        for name in names {
            match name {
                Name::Number(number) => numbers.push(number),
                Name::Text(one) => {
                    text.push_str(one);
                    ends.push(text.len());
                }
            }
        }
        if ends.is_empty() {
            numbers.shrink_to_fit();
            return Column::Numbers(numbers);
        }
        ends.shrink_to_fit();
        text.shrink_to_fit();
        Column::Texts { ends, text }
    }

    fn name(&self, place: usize) -> Name<'_> {
        match self {
            Column::Numbers(numbers) => Name::Number(numbers[place]),
            Column::Texts { ends, text } => {
                let begin = if place == 0 { 0 } else { ends[place - 1] };
                Name::Text(&text[begin..ends[place]])
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Column::Numbers(numbers) => size_of_val(numbers.as_slice()),
            Column::Texts { ends, text } => size_of_val(ends.as_slice()) + text.len(),
        }
    }
}

/// Names in the order of their labels, and the way from a name to its label: its key's leading
/// bits say where to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Label → key.
    keys: Vec<u64>,
    /// Leading bits of a key, above the least one → the first label with them.
    starts: Vec<u32>,
    /// The bits of a key that do not lead.
    shift: u32,
    /// Label → text, where names are texts.
    texts: Option<Column>,
}

impl Table {
    /// Of the names in some buffers, each once.
    fn new(buffers: &[Vec<u8>]) -> Result<Self, Fault> {
        let mut names: Vec<(u64, Name)> = Vec::new();
        for buffer in buffers {
            each(buffer, |name| names.push((name.key(), name)))?;
        }
        if names.len() > LARGEST_LABEL as usize + 1 {
            return Err(Fault::usage(format!(
                "the graph has {} vertices: expected at most {}",
                names.len(),
                u64::from(LARGEST_LABEL) + 1
            ))
            .remedy("use a smaller graph"));
        }
        names.sort_unstable();
        let keys: Vec<u64> = names.iter().map(|(key, _)| *key).collect();
        let texts = match Column::of(names.into_iter().map(|(_, name)| name)) {
            Column::Numbers(_) => None,
            texts @ Column::Texts { .. } => Some(texts),
        };
        let (least, most) = (keys.first().copied().unwrap_or(0), keys.last().copied().unwrap_or(0));
        let leading = usize::BITS - keys.len().leading_zeros();
        let shift = (u64::BITS - (most - least).leading_zeros()).saturating_sub(leading);
        let mut starts = Vec::with_capacity(((most - least) >> shift) as usize + 2);
        for (label, key) in (0_u32..).zip(&keys) {
            starts.resize(starts.len().max(((key - least) >> shift) as usize + 1), label);
        }
        starts.push(keys.len() as u32);
        Ok(Table { keys, starts, shift, texts })
    }

    fn label(&self, name: Name) -> Option<u32> {
        let key = name.key();
        let lead = (key.checked_sub(*self.keys.first()?)? >> self.shift) as usize;
        let (begin, end) = (*self.starts.get(lead)?, *self.starts.get(lead + 1)?);
        let keys = &self.keys[begin as usize..end as usize];
        let first = begin + keys.partition_point(|other| *other < key) as u32;
        let equal = (first..end).take_while(|label| self.keys[*label as usize] == key);
        equal.into_iter().find(|label| self.name(*label) == name)
    }

    fn name(&self, label: u32) -> Name<'_> {
        match &self.texts {
            None => Name::Number(self.keys[label as usize]),
            Some(texts) => texts.name(label as usize),
        }
    }
}

/// Names, each once.
#[derive(Default)]
struct Set {
    numbers: FxHashSet<u64>,
    texts: FxHashSet<Box<str>>,
}

impl Set {
    fn insert(&mut self, name: Name) {
        match name {
            Name::Number(number) => {
                self.numbers.insert(number);
            }
            Name::Text(text) if !self.texts.contains(text) => {
                self.texts.insert(text.into());
            }
            Name::Text(_) => {}
        }
    }

    fn drain(self, mut take: impl FnMut(Name)) {
        self.numbers.into_iter().for_each(|number| take(Name::Number(number)));
        self.texts.into_iter().for_each(|text| take(Name::Text(&text)));
    }
}

/// Hands the names in a message to `take`.
fn each<'a>(mut buffer: &'a [u8], mut take: impl FnMut(Name<'a>)) -> Result<(), Fault> {
    while !buffer.is_empty() {
        let (name, rest) = Name::get(buffer).ok_or_else(|| Fault::attempt("names came incomplete"))?;
        take(name);
        buffer = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
