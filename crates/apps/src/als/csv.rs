//! MovieLens's ratings, in its three formats: `ratings.csv`, with a heading and columns between
//! commas; `ratings.dat`, between `::`; and `u.data`, between tabs. A line has the numbers of a
//! user and of an item, a rating and a time stamp. Also CloudSuite's myratings.csv, which is the
//! new user's and has no heading.

use crosstalk_core::{Fault, quoted};
use std::path::Path;

use super::rating::{NEW_USER, Rating};
use crate::input::Text;

/// The heading of a ratings.csv.
pub const HEADING: &str = "userId,movieId,rating,timestamp";

/// The stars there are.
const STARS: std::ops::RangeInclusive<f32> = 0.5..=5.0;

/// The largest id: that of MLlib, which has 32-bit numbers with a sign.
pub const LARGEST_ID: u32 = i32::MAX as u32;

/// The largest time stamp, in the year 5138: milliseconds are above it since 1973.
const LATEST: u64 = 99_999_999_999;

const NO_TIME: &str = "give every rating a time stamp in seconds: its last digit says whether the rating trains, validates or tests";

/// How the columns of a text are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Under [`HEADING`], between commas.
    Heading,
    /// Between `::`.
    Colons,
    /// Between tabs.
    Tabs,
}

impl Layout {
    /// Of a text, as its first line shows.
    pub fn of(text: &[u8]) -> Result<Self, Fault> {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        if first == HEADING.as_bytes() {
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
        Err(Fault::usage(format!("expected the heading `{HEADING}`, found `{found}`")).remedy(remedy))
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
                "expected 4 columns ({HEADING}) between {between}, found {found}: `{}`",
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
pub fn line_of(text: &[u8], index: usize) -> usize {
    let layout = Layout::of(text).unwrap_or(Layout::Heading);
    lines(text, layout).nth(index).map_or(0, |(number, _)| number)
}

/// Refuses a text whose last line does not end and has the shortest time stamp: it is cut short there.
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

/// Reads all ratings in `text`, which came from `place`, and hands each with its
/// time stamp to `take`.
pub fn ratings(text: &[u8], place: &str, mut take: impl FnMut(Rating, u64)) -> Result<(), Fault> {
    let layout = Layout::of(text).map_err(|fault| fault.at(format!("{place}:1")))?;
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
    Text::open(path)?.whole()
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
mod tests {
    use super::*;
    use proptest::prelude::*;
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
        assert!(refusal("1,2,3.0").contains("try: give every rating a time stamp"));
        assert!(refusal("1,2,3.0,4,5").contains("found 5"));
        assert!(refusal("one,2,3.0,4").contains("expected a user's number of at most"));
        assert!(refusal("1,,3.0,4").contains("expected an item's number"));
        assert!(refusal("1,99999999999,3.0,4").contains("found `99999999999`"));
        for bad in ["0.0", "5.5", "-1", "x", "NaN", ""] {
            assert!(refusal(&format!("1,2,{bad},4")).contains("expected a rating from 0.5 to 5"), "{bad}");
        }
        assert!(refusal("1,2,3.0,-4").contains("expected a time stamp, found `-4`"));
        assert!(refusal("0,2,3.0,4").contains("the new user's id"));
        let fault = all("1,2,3.0,4\n").expect_err("refused").to_string();
        assert!(fault.starts_with("r.csv:1: expected the heading"), "{fault}");
    }

    #[test]
    fn movielens_three_formats_are_read() {
        let expected = vec![
            (Rating { user: 1, item: 2, stars: 3.5 }, 978_300_760),
            (Rating { user: 7, item: 31, stars: 4.0 }, 10),
        ];
        assert_eq!(all("1::2::3.5::978300760\n7::31::4::10\n"), Ok(expected.clone()));
        assert_eq!(all("1\t2\t3.5\t978300760\n\n7\t31\t4\t10\n"), Ok(expected));
        let refusal = |text: &str| all(text).expect_err("refused").to_string();
        let bad = refusal("1::2::3.5::9\n1::2:3.5::9\n");
        assert!(
            bad.starts_with("r.csv:2: expected 4 columns") && bad.contains("between ::, found 3"),
            "{bad}"
        );
        assert!(refusal("1\t2\t3\n").contains("try: give every rating a time stamp"));
        assert!(refusal("user\titem\t3\t4\n").starts_with("r.csv:1: expected a user's number"));
    }

    #[test]
    fn a_text_that_is_cut_within_its_last_time_stamp_is_refused() {
        let whole = "1::2::3::978300760\n1::3::3::978300761\n1::4::3::978300762";
        assert_eq!(all(whole).expect("reads").len(), 3);
        for cut in 1..9 {
            let fault = all(&whole[..whole.len() - cut]).expect_err("refused").to_string();
            assert!(fault.starts_with("r.csv:3: the last line does not end"), "{fault}");
        }
    }

    #[test]
    fn what_is_no_ratings_file_is_refused_with_what_to_do() {
        let remedy = |text: &str| all(text).expect_err("refused").remedy.expect("a remedy");
        assert_eq!(remedy("1,2,3.0,4\n"), "write the heading above the ratings");
        assert!(remedy("userId,movieId,rating\n1,2,3.0\n").starts_with("give every rating a time stamp"));
        assert_eq!(remedy("<html>"), "give MovieLens's ratings.csv, ratings.dat or u.data");
        let milliseconds = refusal("1,2,3.0,978300760000");
        assert!(
            milliseconds.starts_with("r.csv:3: expected a time stamp in seconds since 1970"),
            "{milliseconds}"
        );
        assert!(milliseconds.contains("divide time stamps in milliseconds by 1000"));
        let escaped = refusal("1,\u{1b}]0;PWNED\u{7},3.0,4");
        assert!(escaped.contains("found `\\u{1b}]0;PWNED\\u{7}`"), "{escaped}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(userId,movieId,rating,timestamp\n)?([0-9]{0,2}(,|::|\t|\n|[.a:])){0,40}") {
            let _ = all(&text);
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = ratings(&text, "r", |_, _| {});
        }

        #[test]
        fn ratings_read_as_written(
            written in proptest::collection::vec((1..=LARGEST_ID, 0..=LARGEST_ID, 1_u8..=10, 0..=LATEST), 1..9),
            layout in 0_usize..3,
        ) {
            let (heading, separator) = [(HEADING, ","), ("", "::"), ("", "\t")][layout];
            let mut text = if heading.is_empty() { String::new() } else { format!("{heading}\n") };
            let mut expected = Vec::new();
            for (user, item, halves, time) in written {
                let stars = f32::from(halves) / 2.0;
                text.push_str(&[user.to_string(), item.to_string(), stars.to_string(), time.to_string()].join(separator));
                text.push('\n');
                expected.push((Rating { user, item, stars }, time));
            }
            prop_assert_eq!(all(&text), Ok(expected));
        }
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
