//! Tests of `source`.

use super::*;
use std::io::Write as _;
use tempfile::NamedTempFile;

fn file(lines: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    write!(file, "{}\n{lines}", csv::CSV_HEADING).expect("written");
    file
}

fn open(lines: &str) -> Result<Split, Fault> {
    Source::File(file(lines).path().into()).open(None).map(|_| Split::default())
}

#[test]
fn a_file_is_split_and_the_new_user_trains() {
    let file = file("1,5,3.0,10\n2,5,4.0,11\n2,6,1.0,12\n1,6,2.0,16\n2,7,3.0,19\n");
    let input = Source::File(file.path().into()).open(None).expect("good");
    let split = input.read_split().expect("reads");
    assert_eq!([split.training.len(), split.validation.len(), split.test.len()], [5, 1, 1]);
    // Item 5 was rated most.
    assert_eq!(split.training[3], Rating { user: NEW_USER, item: 5, stars: 3.0 });
    assert_eq!(split.training[4], Rating { user: NEW_USER, item: 6, stars: 4.0 });
}

#[test]
fn a_pair_that_comes_twice_is_named_with_both_lines() {
    let fault = open("1,5,3.0,10\n\n2,5,4.0,16\n1,5,3.0,19\n").expect_err("refused");
    assert_eq!(fault.message, "user 1 has rated item 5 before, on line 2");
    assert!(fault.place.expect("a place").ends_with(":5"));
}

#[test]
fn other_formats_are_read_alike_and_are_a_ratings_csv_to_spark() {
    let lines = "1,5,3,10\n2,5,4.5,11\n2,6,1,12\n1,6,2,16\n2,7,3,19\n";
    let csv = file(lines);
    let input = Source::File(csv.path().into()).open(None).expect("good");
    let expected = input.read_split().expect("reads");
    for separator in ["::", "\t"] {
        let mut file = NamedTempFile::new().expect("a file");
        write!(file, "\u{feff}{}", lines.replace(',', separator).replace('\n', "\r\n")).expect("written");
        let input = Source::File(file.path().into()).open(None).expect("good");
        assert_eq!(input.read_split().expect("reads"), expected);
        let text = String::from_utf8(input.csv_text().expect("reads").into_owned()).expect("text");
        assert_eq!(text, format!("{}\n{lines}", csv::CSV_HEADING));
    }
}

#[test]
fn a_pair_that_comes_twice_in_a_file_without_heading_is_named_with_both_lines() {
    let mut file = NamedTempFile::new().expect("a file");
    write!(file, "1::5::3::10\n\n1::5::3::19\n").expect("written");
    let fault = Source::File(file.path().into()).open(None).map(|_| ()).expect_err("refused");
    assert_eq!(fault.message, "user 1 has rated item 5 before, on line 1");
    assert!(fault.place.expect("a place").ends_with(":3"));
}

#[test]
fn an_empty_part_is_refused() {
    let fault = open("1,5,3.0,10\n2,5,4.0,16\n").expect_err("refused");
    assert_eq!(fault.message, "no rating has a time stamp that ends in 8 or 9");
}

#[test]
fn a_generated_source_can_be_read_twice() {
    let input = Source::Generated { scale: 0.1, seed: 1 }.open(None).expect("good");
    let split = input.read_split().expect("reads");
    assert_eq!(split, input.read_split().expect("reads"));
    let ratings = split.training.len() + split.validation.len() + split.test.len();
    assert_eq!(ratings, 10_000 + PERSONAL);
}
