//! Names that lie one behind the other.

use super::name::Name;

/// A column of vertex names: all numbers, or all texts.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Texts.
    Texts {
        /// The end of each.
        ends: Vec<usize>,
        /// The texts, concatenated.
        text: String,
    },
}

impl Column {
    /// The column of these names.
    pub fn of_names<'a>(names: impl Iterator<Item = Name<'a>>) -> Self {
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

    /// The name at `place`.
    pub fn name(&self, place: usize) -> Name<'_> {
        match self {
            Column::Numbers(numbers) => Name::Number(numbers[place]),
            Column::Texts { ends, text } => {
                let begin = if place == 0 { 0 } else { ends[place - 1] };
                Name::Text(&text[begin..ends[place]])
            }
        }
    }

    /// The bytes that the names take in memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Column::Numbers(numbers) => size_of_val(numbers.as_slice()),
            Column::Texts { ends, text } => size_of_val(ends.as_slice()) + text.len(),
        }
    }
}
