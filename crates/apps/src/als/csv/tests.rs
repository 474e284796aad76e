//! Tests of `csv`.

use super::*;
use proptest::prelude::*;
use std::io::Write;

fn all(text: &str) -> Result<Vec<(Rating, u64)>, Fault> {
    let mut found = Vec::new();
    ratings(text.as_bytes(), "r.csv", |rating, timestamp| found.push((rating, timestamp)))?;
    Ok(found)
}

fn refusal(line: &str) -> String {
    all(&format!("{CSV_HEADING}\n1,2,3.0,4\n{line}\n")).expect_err("refused").to_string()
}

#[test]
fn lines_are_read_as_movielens_writes_them() {
    let found = all(&format!("{CSV_HEADING}\r\n1,31,2.5,1260759144\r\n7,9,4,10\n\n")).expect("reads");
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
    assert!(bad.starts_with("r.csv:2: expected 4 columns") && bad.contains("between ::, found 3"), "{bad}");
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
        let (heading, separator) = [(CSV_HEADING, ","), ("", "::"), ("", "\t")][layout];
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
    let found = read_personal_ratings(file.path()).expect("reads");
    assert_eq!(found.iter().map(|rating| rating.item).collect::<Vec<_>>(), [253, 1407]);
    file.write_all(b"4,1407,5.0,900660871\n").expect("written");
    let fault = read_personal_ratings(file.path()).expect_err("refused").to_string();
    assert!(fault.contains(":4: expected ratings of user 0, found user 4"), "{fault}");
    assert!(
        read_personal_ratings(Path::new("/nowhere")).expect_err("refused").to_string().contains("/nowhere")
    );
}
