//! Pieces of sentences.

use crosstalk_core::value::{Levels, describe_levels};
use std::collections::BTreeSet;

use crate::{label, level};

/// ` at slaves 6, boards many`; empty without levels.
pub fn at_levels(levels: &Levels) -> String {
    if levels.is_empty() { String::new() } else { format!(" at {}", describe_levels(levels)) }
}

/// A text with `#` for each number: the same for reasons that differ in numbers alone.
pub fn without_numbers(text: &str) -> String {
    text.split(|c: char| c.is_ascii_digit() || c == '.')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("#")
}

/// The first of each group of texts that differ in numbers alone, in their order.
pub fn distinct_texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.into_iter().filter(|text| seen.insert(without_numbers(text))).cloned().collect()
}

/// `1 block`, `12 blocks`.
pub fn count_in_words(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `in all 12 blocks`, `in its only block`.
pub fn in_all(n: usize, what: &str) -> String {
    if n == 1 { format!("in its only {what}") } else { format!("in all {n} {what}s") }
}

/// `in 3 of 12 blocks`, `in all 12 blocks`, `in its only block`.
pub fn in_some(n: usize, all: usize, what: &str) -> String {
    if n == all { in_all(all, what) } else { format!("in {n} of {}", count_in_words(all, what)) }
}

/// The most of a list that a sentence names.
const NAMED: usize = 6;

/// A list in words; of a long one its first, and how many more there are.
pub fn first_of(all: &[String]) -> String {
    match all.split_at_checked(NAMED) {
        Some((first, more)) if !more.is_empty() => format!("{}, and {} more", first.join(", "), more.len()),
        _ => join_in_words(all),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn join_in_words(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A name as people read it: `run time` for `run_time`, `stage` for the label `[stage]`. An environment variable's name
/// stays, `LC_ALL`.
pub fn readable_name(name: &str) -> String {
    let name = label::display_name(name);
    if level::is_variable(name) { name.to_string() } else { name.replace('_', " ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_numbers_are_one() {
        let reasons = ["steal: 1.5 %", "steal: 22 %", "late"].map(String::from);
        assert_eq!(distinct_texts(&reasons), ["steal: 1.5 %", "late"]);
    }

    #[test]
    fn small_things_read_well() {
        assert_eq!(["run_time", "[stage]", "LC_ALL"].map(readable_name), ["run time", "stage", "LC_ALL"]);
        assert_eq!(
            (count_in_words(1, "block"), count_in_words(12, "block")),
            ("1 block".to_string(), "12 blocks".to_string())
        );
        assert_eq!(
            [(1, 1), (3, 3), (1, 3)].map(|(n, all)| in_some(n, all, "block")),
            ["in its only block", "in all 3 blocks", "in 1 of 3 blocks"]
        );
        assert_eq!(join_in_words(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
