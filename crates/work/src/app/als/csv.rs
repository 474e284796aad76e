//! MovieLens's ratings.csv: a heading, then `userId,movieId,rating,timestamp` a
//! line. Also CloudSuite's myratings.csv, which is the new user's and has no
//! heading.

use crosstalk_core::Fault;
use std::io::{self, Read};
use std::path::Path;

use super::rating::{NEW_USER, Rating};
use crate::app::input;

/// The heading.
pub const HEADING: &str = "userId,movieId,rating,timestamp";

/// The stars there are.
const STARS: std::ops::RangeInclusive<f32> = 0.5..=5.0;

/// The largest id: tables are indexed by it.
pub const LARGEST_ID: u32 = (1 << 28) - 1;

/// Reads all ratings in `text`, which came from `place`, and hands each with its
/// time stamp to `take`.
pub fn ratings(text: &[u8], place: &str, mut take: impl FnMut(Rating, u64)) -> Result<(), Fault> {
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let heading = lines.next().map_or(&b""[..], |(_, line)| line).trim_ascii();
    if heading != HEADING.as_bytes() {
        let found = String::from_utf8_lossy(&heading[..heading.len().min(60)]).into_owned();
        return Err(Fault::usage(format!("expected the heading `{HEADING}`, found `{found}`"))
            .at(format!("{place}:1"))
            .remedy("give MovieLens's ratings.csv"));
    }
    for (number, line) in lines {
        let read = match line.trim_ascii() {
            b"" => continue,
            line => four(line),
        };
        match read {
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
pub fn personal(path: &Path) -> Result<Vec<Rating>, Fault> {
    let place = path.display().to_string();
    let text = read(path)?;
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

/// The whole of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let whole = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        input::open(path)?.read_to_end(&mut text)?;
        Ok(text)
    };
    whole().map_err(|e| {
        Fault::usage(format!("cannot be read: {e}"))
            .at(path.display().to_string())
            .remedy("name a file of ratings that the master's node can read")
    })
}

fn four(line: &[u8]) -> Result<(Rating, u64), Fault> {
    let fields = Fields::cut(line)?;
    let timestamp = number(fields.0[3], "a time stamp", u64::MAX)?;
    Ok((three(&fields.0)?, timestamp))
}

/// A line's four columns.
struct Fields<'a>([&'a [u8]; 4]);

impl<'a> Fields<'a> {
    fn cut(line: &'a [u8]) -> Result<Self, Fault> {
        let mut rest = line.split(|byte| *byte == b',');
        match (rest.next(), rest.next(), rest.next(), rest.next(), rest.next()) {
            (Some(a), Some(b), Some(c), Some(d), None) => Ok(Fields([a, b, c, d])),
            _ => Err(Fault::usage(format!(
                "expected 4 columns ({HEADING}), found {}: `{}`",
                line.split(|byte| *byte == b',').count(),
                shown(line)
            ))),
        }
    }
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
    // What nearly every line has.
    if let [whole @ b'0'..=b'5', b'.', half @ (b'0' | b'5')] = field {
        let stars = f32::from(whole - b'0') + if *half == b'5' { 0.5 } else { 0.0 };
        if STARS.contains(&stars) {
            return Ok(stars);
        }
    }
    let parsed = str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok());
    parsed.filter(|stars| STARS.contains(stars)).ok_or_else(|| {
        let (least, most) = (STARS.start(), STARS.end());
        Fault::usage(format!("expected a rating from {least} to {most}, found `{}`", shown(field)))
    })
}

fn number(field: &[u8], what: &str, most: u64) -> Result<u64, Fault> {
    let value = field.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    });
    value.filter(|value| !field.is_empty() && *value <= most).ok_or_else(|| {
        let bound = if most == u64::MAX { String::new() } else { format!(" of at most {most}") };
        Fault::usage(format!("expected {what}{bound}, found `{}`", shown(field)))
    })
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(text: &str) -> Result<Vec<(Rating, u64)>, Fault> {
        let mut found = Vec::new();
        ratings(text.as_bytes(), "r.csv", |rating, timestamp| found.push((rating, timestamp)))?;
        Ok(found)
    }

    fn refusal(line: &str) -> String {
        all(&format!("{HEADING}\n1,2,3.0,4\n{line}\n")).expect_err("refused").to_string()
    }

    #[test]
    fn lines_are_read_as_movielens_writes_them() {
        let found = all(&format!("{HEADING}\r\n1,31,2.5,1260759144\r\n7,9,4,10\n\n")).expect("reads");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], (Rating { user: 1, item: 31, stars: 2.5 }, 1_260_759_144));
        assert_eq!(found[1], (Rating { user: 7, item: 9, stars: 4.0 }, 10));
    }

    #[test]
    fn a_bad_line_is_named_with_its_file() {
        assert!(refusal("1,2,3.0").starts_with("r.csv:3: expected 4 columns"), "{}", refusal("1,2,3.0"));
        assert!(refusal("1,2,3.0,4,5").contains("found 5"));
        assert!(refusal("one,2,3.0,4").contains("expected a user's number of at most"));
        assert!(refusal("1,,3.0,4").contains("expected an item's number"));
        assert!(refusal("1,999999999,3.0,4").contains("found `999999999`"));
        for bad in ["0.0", "5.5", "-1", "x", "NaN", ""] {
            assert!(refusal(&format!("1,2,{bad},4")).contains("expected a rating from 0.5 to 5"), "{bad}");
        }
        assert!(refusal("1,2,3.0,-4").contains("expected a time stamp, found `-4`"));
        assert!(refusal("0,2,3.0,4").contains("the new user's id"));
        let fault = all("1,2,3.0,4\n").expect_err("refused").to_string();
        assert!(fault.starts_with("r.csv:1: expected the heading"), "{fault}");
    }

    #[test]
    fn the_new_users_ratings_have_no_heading_and_zeros_are_left_out() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"0,253,3.0,900660748\n0,5,0,900660748\n0,1407,5.0,900660871\n").expect("written");
        let found = personal(file.path()).expect("reads");
        assert_eq!(found.iter().map(|rating| rating.item).collect::<Vec<_>>(), [253, 1407]);
        file.write_all(b"4,1407,5.0,900660871\n").expect("written");
        let fault = personal(file.path()).expect_err("refused").to_string();
        assert!(fault.contains(":4: expected ratings of user 0, found user 4"), "{fault}");
        assert!(personal(Path::new("/nowhere")).expect_err("refused").to_string().contains("/nowhere"));
    }
}
