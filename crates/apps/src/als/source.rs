//! The ratings: from a generator or a file. Both give a text, which the master reads while the clock runs.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::csv::{self, Layout};
use super::generate::generate;
use super::rating::{NEW_USER, Rating, Split};
use crate::dataset::{DataSet, directory};

/// Number of ratings of the stand-in for CloudSuite's myratings.csv, which has as many.
const PERSONAL: usize = 11;

/// Where the ratings come from: a file, or a generator.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Generated, at a scale from a seed.
    Generated {
        /// Factor on the users, items and ratings of the data set.
        scale: f64,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Read from a file.
    File(PathBuf),
    /// A data set in the directory of the data, checked.
    DataSet(DataSet),
}

/// The text of a file of ratings that was checked, in memory or in its file.
pub enum CheckedText {
    /// In memory.
    Here(Vec<u8>),
    /// In a file.
    File(PathBuf),
}

/// The master's input: the ratings, and those of the new user.
pub struct Input {
    text: CheckedText,
    personal: Vec<Rating>,
}

impl Source {
    /// About how many ratings there are, if that is known without reading them.
    pub fn about_ratings(&self) -> Option<f64> {
        match self {
            Source::Generated { scale, .. } => Some(scale * 1e5),
            Source::File(_) => None,
            // Each line of ratings.csv is about 23 bytes.
            Source::DataSet(set) => Some(set.size.0 as f64 / 23.0),
        }
    }

    /// What it needs of the machine.
    pub fn need(&self) -> Option<Need> {
        match self {
            Source::DataSet(set) => Some(set.need()),
            Source::Generated { .. } | Source::File(_) => None,
        }
    }

    /// Generates or reads all ratings once, and reports their faults. The new user's come from `personal`, or
    /// are made up.
    pub fn open(&self, personal: Option<&Path>) -> Result<Input, Fault> {
        let (text, place) = match self {
            Source::Generated { scale, seed } => {
                (CheckedText::Here(generate(*scale, *seed)), "generated ratings".into())
            }
            Source::File(path) => (CheckedText::File(path.clone()), path.display().to_string()),
            Source::DataSet(set) => {
                let path = set.checked_file(&directory())?;
                (CheckedText::File(path.clone()), path.display().to_string())
            }
        };
        let split = good(&text.bytes()?, &place)?;
        let personal = match personal {
            Some(path) => csv::read_personal_ratings(path)?,
            None => stand_in(&split.training),
        };
        if let Some((item, _)) = twice(personal.iter().map(|rating| rating.item)) {
            return Err(Fault::usage(format!("the new user has rated item {item} twice"))
                .at("the new user's ratings"));
        }
        Ok(Input { text, personal })
    }
}

impl Input {
    /// The ratings of the new user.
    pub fn personal_ratings(&self) -> &[Rating] {
        &self.personal
    }

    /// The text of a ratings.csv, whatever the file's format.
    pub fn csv_text(&self) -> Result<Cow<'_, [u8]>, Fault> {
        let text = self.text.bytes()?;
        if Layout::detect(&text)? == Layout::Heading {
            return Ok(text);
        }
        let mut csv = format!("{}\n", csv::CSV_HEADING);
        csv::ratings(&text, "ratings", |Rating { user, item, stars }, timestamp| {
            // Writing to a string does not fail.
            let _ = writeln!(csv, "{user},{item},{stars},{timestamp}");
        })?;
        Ok(Cow::Owned(csv.into_bytes()))
    }

    /// Reads all ratings, the new user's among those for training.
    pub fn read_split(&self) -> Result<Split, Fault> {
        let mut split = Split::default();
        csv::ratings(&self.text.bytes()?, "ratings", |rating, timestamp| split.add(rating, timestamp))?;
        split.training.extend(&self.personal);
        Ok(split)
    }
}

impl CheckedText {
    fn bytes(&self) -> Result<Cow<'_, [u8]>, Fault> {
        match self {
            CheckedText::Here(text) => Ok(Cow::Borrowed(text)),
            CheckedText::File(path) => csv::read_whole(path).map(Cow::Owned),
        }
    }
}

/// Reads the text. No user may rate an item twice, and no part of the split may be empty.
fn good(text: &[u8], place: &str) -> Result<Split, Fault> {
    let (mut split, mut pairs) = (Split::default(), Vec::new());
    csv::ratings(text, place, |rating, timestamp| {
        pairs.push(u64::from(rating.user) << 32 | u64::from(rating.item));
        split.add(rating, timestamp);
    })?;
    if let Some((pair, [first, second])) = twice(pairs.into_iter()) {
        // Blank lines are no ratings: the lines are counted again.
        let line = |index| csv::line_of_rating(text, index);
        let message =
            format!("user {} has rated item {} before, on line {}", pair >> 32, pair as u32, line(first));
        return Err(Fault::usage(message)
            .at(format!("{place}:{}", line(second)))
            .remedy("keep one rating of each pair"));
    }
    let parts = [("0 to 5", &split.training), ("6 or 7", &split.validation), ("8 or 9", &split.test)];
    if let Some((digits, _)) = parts.iter().find(|(_, part)| part.is_empty()) {
        return Err(Fault::usage(format!("no rating has a time stamp that ends in {digits}"))
            .at(place)
            .remedy("give more ratings: they are split by the time stamp's last digit"));
    }
    Ok(split)
}

/// A key that comes twice, and its first two indices.
fn twice<K: Ord + Copy>(keys: impl Iterator<Item = K>) -> Option<(K, [usize; 2])> {
    let mut keys: Vec<(K, usize)> = keys.zip(0..).collect();
    keys.sort_unstable();
    let pair = keys.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    Some((pair[0].0, [pair[0].1, pair[1].1]))
}

/// The new user's ratings by default: of the items with the most ratings for training, 3, 4 and 5 stars in
/// turn.
fn stand_in(training: &[Rating]) -> Vec<Rating> {
    let mut counts = BTreeMap::new();
    training.iter().for_each(|rating| *counts.entry(rating.item).or_insert(0_u32) += 1);
    let mut items: Vec<(u32, u32)> = counts.into_iter().collect();
    items.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let stars = [3.0, 4.0, 5.0].into_iter().cycle();
    let rated = items.into_iter().take(PERSONAL).zip(stars);
    rated.map(|((item, _), stars)| Rating { user: NEW_USER, item, stars }).collect()
}

#[cfg(test)]
mod tests;
