//! The table from names to labels and back.

use crosstalk_core::Fault;

use super::column::Column;
use super::name::{LARGEST_LABEL, Name, for_each_name};

/// The names of vertices in the order of their labels, with an index from names to labels by their
/// keys' leading bits.
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
    /// The table of the names in some messages, each once.
    ///
    /// # Errors
    /// An attempt fault where a message is cut short; a usage fault where there are too many.
    pub fn new(buffers: &[Vec<u8>]) -> Result<Self, Fault> {
        let mut names: Vec<(u64, Name)> = Vec::new();
        for buffer in buffers {
            for_each_name(buffer, |name| names.push((name.key(), name)))?;
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
        let texts = match Column::of_names(names.into_iter().map(|(_, name)| name)) {
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

    /// How many labels there are.
    pub fn label_count(&self) -> u32 {
        self.keys.len() as u32
    }

    /// The label of a name, if it has one.
    pub fn label_of(&self, name: Name) -> Option<u32> {
        let key = name.key();
        let lead = (key.checked_sub(*self.keys.first()?)? >> self.shift) as usize;
        let (begin, end) = (*self.starts.get(lead)?, *self.starts.get(lead + 1)?);
        let keys = &self.keys[begin as usize..end as usize];
        let first = begin + keys.partition_point(|other| *other < key) as u32;
        let equal = (first..end).take_while(|label| self.keys[*label as usize] == key);
        equal.into_iter().find(|label| self.name_of(*label) == name)
    }

    /// The name of a label that there is.
    pub fn name_of(&self, label: u32) -> Name<'_> {
        match &self.texts {
            None => Name::Number(self.keys[label as usize]),
            Some(texts) => texts.name(label as usize),
        }
    }
}
