//! MovieLens's ratings, in its three formats: `ratings.csv`, with a heading and columns between
//! commas; `ratings.dat`, between `::`; and `u.data`, between tabs. A line has the numbers of a
//! user and of an item, a rating and a time stamp. Also CloudSuite's myratings.csv, which is the
//! new user's and has no heading.

use crosstalk_core::{Fault, quoted};
use std::path::Path;

use super::rating::{NEW_USER, Rating};
use crate::input::TextFile;

/// The first line of a ratings.csv, with the names of its columns.
pub const CSV_HEADING: &str = "userId,movieId,rating,timestamp";

/// The possible stars.
const STARS: std::ops::RangeInclusive<f32> = 0.5..=5.0;

/// The largest id: that of MLlib, which has 32-bit numbers with a sign.
pub const LARGEST_ID: u32 = i32::MAX as u32;

/// The largest time stamp, in the year 5138: milliseconds are above it since 1973.
const LATEST: u64 = 99_999_999_999;

const NO_TIME: &str = "give every rating a time stamp in seconds: its last digit says whether the rating trains, validates or tests";

/// How the columns of a file of ratings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Under [`CSV_HEADING`], between commas.
    Heading,
    /// Between `::`.
    Colons,
    /// Between tabs.
    Tabs,
}

impl Layout {
    /// The layout that a text's first line shows.
    pub fn detect(text: &[u8]) -> Result<Self, Fault> {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        if first == CSV_HEADING.as_bytes() {
            return Ok(Layout::Heading);
        }
        if first.windows(2).any(|pair| pair == b"::") {
            return Ok(Layout::Colons);
        }
        if first.contains(&b'\t') {
            return Ok(Layout::Tabs);
        }
        let commas = first.iter().filter(|byte| **byte == b',').count();
        let remedy = match first.first() {
            Some(b'0'..=b'9') if commas == 3 => "write the heading above the ratings",
            Some(_) if commas == 2 => NO_TIME,
            _ => "give MovieLens's ratings.csv, ratings.dat or u.data",
        };
        let found = quoted(first);
        Err(Fault::usage(format!("expected the heading `{CSV_HEADING}`, found `{found}`")).remedy(remedy))
    }

    /// A line's four columns.
    fn columns(self, line: &[u8]) -> Option<[&[u8]; 4]> {
        if self == Layout::Colons {
            let mut rest = line.split(|byte| *byte == b':');
            let user = rest.next()?;
            let mut next = || rest.next().filter(|gap| gap.is_empty()).and_then(|_| rest.next());
            let (item, stars, time) = (next()?, next()?, next()?);
            return rest.next().is_none().then_some([user, item, stars, time]);
        }
        let separator = if self == Layout::Tabs { b'\t' } else { b',' };
        let mut rest = line.split(|byte| *byte == separator);
        let columns = [rest.next()?, rest.next()?, rest.next()?, rest.next()?];
        rest.next().is_none().then_some(columns)
    }

    /// A line's rating and time stamp.
    fn rating(self, line: &[u8]) -> Result<(Rating, u64), Fault> {
        let Some([user, item, stars, time]) = self.columns(line) else {
            let (between, separator) = match self {
                Layout::Heading => (",", &b","[..]),
                Layout::Colons => ("::", &b"::"[..]),
                Layout::Tabs => ("tabs", &b"\t"[..]),
            };
            let found = 1 + line.windows(separator.len()).filter(|window| *window == separator).count();
            let fault = Fault::usage(format!(
                "expected 4 columns ({CSV_HEADING}) between {between}, found {found}: `{}`",
                quoted(line)
            ));
            return Err(if found == 3 { fault.remedy(NO_TIME) } else { fault });
        };
        let time = number(time, "a time stamp", u64::MAX)?;
        if time > LATEST {
            return Err(Fault::usage(format!(
                "expected a time stamp in seconds since 1970, found `{time}`: milliseconds?"
            ))
            .remedy("divide time stamps in milliseconds by 1000: the last digit of the seconds splits the ratings"));
        }
        Ok((three(&[user, item, stars])?, time))
    }
}

/// The lines of a text that have a rating, with their numbers.
fn lines(text: &[u8], layout: Layout) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = (1..).zip(text.split(|byte| *byte == b'\n')).skip(usize::from(layout == Layout::Heading));
    lines.map(|(number, line)| (number, line.trim_ascii())).filter(|(_, line)| !line.is_empty())
}

/// The number of the line with the rating of this index.
pub fn line_of_rating(text: &[u8], index: usize) -> usize {
    let layout = Layout::detect(text).unwrap_or(Layout::Heading);
    lines(text, layout).nth(index).map_or(0, |(number, _)| number)
}

/// Refuses a text whose last line has no end and the shortest time stamp: the file is cut short.
fn whole(text: &[u8], layout: Layout) -> Result<(), (usize, Fault)> {
    if text.ends_with(b"\n") {
        return Ok(());
    }
    let length = |line| layout.columns(line).map(|[.., time]| time.len());
    let mut before: Option<usize> = None;
    let mut lines = lines(text, layout).peekable();
    while let Some((number, line)) = lines.next() {
        match (lines.peek().is_some(), length(line), before) {
            (false, Some(last), Some(least)) if last < least => {
                let fault = Fault::usage(format!(
                    "the last line does not end, and its time stamp is shorter than all before: `{}`",
                    quoted(line)
                ));
                return Err((
                    number,
                    fault.remedy("copy or download the file again, or end the line if it is right"),
                ));
            }
            (_, Some(now), _) => before = Some(before.map_or(now, |least| least.min(now))),
            _ => {}
        }
    }
    Ok(())
}

/// Reads all ratings in `text`, which came from `place`, and passes each with its time stamp to `take`.
pub fn ratings(text: &[u8], place: &str, mut take: impl FnMut(Rating, u64)) -> Result<(), Fault> {
    let layout = Layout::detect(text).map_err(|fault| fault.at(format!("{place}:1")))?;
    whole(text, layout).map_err(|(number, fault)| fault.at(format!("{place}:{number}")))?;
    for (number, line) in lines(text, layout) {
        match layout.rating(line) {
            Ok((rating, timestamp)) if rating.user != NEW_USER => take(rating, timestamp),
            Ok(_) => {
                let message = format!("user {NEW_USER} is the new user's id: expected another");
                return Err(Fault::usage(message).at(format!("{place}:{number}")));
            }
            Err(fault) => return Err(fault.at(format!("{place}:{number}"))),
        }
    }
    Ok(())
}

/// Reads the new user's ratings, a line each; those of 0 stars are left out, as
/// CloudSuite does.
pub fn read_personal_ratings(path: &Path) -> Result<Vec<Rating>, Fault> {
    let place = path.display().to_string();
    let text = read_whole(path)?;
    let mut ratings = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        if line.is_empty() || fields.get(2).is_some_and(|stars| matches!(*stars, b"0" | b"0.0")) {
            continue;
        }
        let rating = three(&fields).map_err(|fault| fault.at(format!("{place}:{number}")))?;
        if rating.user != NEW_USER {
            let message = format!("expected ratings of user {NEW_USER}, found user {}", rating.user);
            return Err(Fault::usage(message).at(format!("{place}:{number}")));
        }
        ratings.push(rating);
    }
    if ratings.is_empty() {
        return Err(Fault::usage("there are no ratings in it").at(place));
    }
    Ok(ratings)
}

/// Reads a whole file.
pub fn read_whole(path: &Path) -> Result<Vec<u8>, Fault> {
    TextFile::open(path)?.read_whole()
}

fn three(fields: &[&[u8]]) -> Result<Rating, Fault> {
    let [user, item, stars, ..] = fields else {
        return Err(Fault::usage(format!("expected user,item,rating, found {} columns", fields.len())));
    };
    Ok(Rating {
        user: number(user, "a user's number", u64::from(LARGEST_ID))? as u32,
        item: number(item, "an item's number", u64::from(LARGEST_ID))? as u32,
        stars: self::stars(stars)?,
    })
}

fn stars(field: &[u8]) -> Result<f32, Fault> {
    // The usual case.
    if let [whole @ b'0'..=b'5', b'.', half @ (b'0' | b'5')] = field {
        let stars = f32::from(whole - b'0') + if *half == b'5' { 0.5 } else { 0.0 };
        if STARS.contains(&stars) {
            return Ok(stars);
        }
    }
    let parsed = str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok());
    parsed.filter(|stars| STARS.contains(stars)).ok_or_else(|| {
        let (least, most) = (STARS.start(), STARS.end());
        Fault::usage(format!("expected a rating from {least} to {most}, found `{}`", quoted(field)))
    })
}

fn number(field: &[u8], what: &str, most: u64) -> Result<u64, Fault> {
    let value = field.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    });
    value.filter(|value| !field.is_empty() && *value <= most).ok_or_else(|| {
        let bound = if most == u64::MAX { String::new() } else { format!(" of at most {most}") };
        Fault::usage(format!("expected {what}{bound}, found `{}`", quoted(field)))
    })
}

#[cfg(test)]
mod tests;
