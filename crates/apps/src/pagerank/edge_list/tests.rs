use super::*;
use field::LARGEST_ID;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::io::Write;
use tempfile::NamedTempFile;

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("compressed");
    encoder.finish().expect("finished")
}

type Edges = Vec<(String, String)>;

fn read(path: &Path, first: u64, step: u64) -> Result<Vec<Edges>, Fault> {
    let mut list = EdgeList::open(path, first, step)?;
    let (mut blocks, mut block) = (Vec::new(), Vec::new());
    while list.next_block(|source, target| block.push((source.to_string(), target.to_string())))? {
        blocks.push(std::mem::take(&mut block));
    }
    Ok(blocks)
}

/// A small text's edges, as `source-target`, if every line is good.
fn edges(text: impl AsRef<[u8]>) -> Result<Vec<String>, Fault> {
    let file = file(text.as_ref());
    inspect(file.path())?;
    let blocks = read(file.path(), 0, 1)?;
    Ok(blocks.iter().flatten().map(|(source, target)| format!("{source}-{target}")).collect())
}

#[track_caller]
fn reads(text: impl AsRef<[u8]>, expected: &[&str]) {
    assert_eq!(edges(text).expect("reads"), expected);
}

/// The fault without the file's folder.
fn refusal(text: impl AsRef<[u8]>) -> String {
    let file = file(text.as_ref());
    let fault = inspect(file.path()).expect_err("refused").to_string();
    fault.replace(&file.path().display().to_string(), "FILE")
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, with: &str) {
    let found = refusal(text);
    assert!(found.starts_with(with), "{found}");
}

#[test]
fn comments_blanks_tabs_and_weights_read_as_graphx_reads_them() {
    let text = "# a comment\n\n1 2\n  3\t4\r\n5   6 \n 2 2";
    reads(text, &["1-2", "3-4", "5-6", "2-2"]);
    reads(gzip(text.as_bytes()), &["1-2", "3-4", "5-6", "2-2"]);
    reads("1 2 0.25\n2\t3\t1e9\n3 1   7\n", &["1-2", "2-3", "3-1"]);
    reads("007 8\n007 8", &["7-8", "7-8"]);
    let contents = inspect(file(text.as_bytes()).path()).expect("reads");
    assert_eq!(contents, Contents { blocks: 1, edges: 4, labels: Some(7) });
}

#[test]
fn comments_may_begin_with_a_percent_sign() {
    reads("% sym unweighted\n%\t3 2 2\n1 2\n % inside\n2 1\n", &["1-2", "2-1"]);
}

#[test]
fn lines_end_in_cr_alone_and_files_in_a_mark() {
    reads("1 2\r2 3\r3 1\r1 3\r4 1\r", &["1-2", "2-3", "3-1", "1-3", "4-1"]);
    reads("\u{feff}1 2\r\n3 4", &["1-2", "3-4"]);
    refused("1 2\r2 x\r", "FILE:2: expected a vertex id, found `x`");
}

#[test]
fn columns_may_be_separated_by_commas_or_semicolons() {
    reads("1,2\n3 , 4\n", &["1-2", "3-4"]);
    reads("1;2;0,5\n3;4;\n", &["1-2", "3-4"]);
    reads("\"1\",\"2\"\n", &["1-2"]);
    refused("1,2\n3 4\n", "FILE:2: expected a source and a target, found `3 4`");
    refused("1,2\n3,\n", "FILE:2: expected a vertex id, found ``");
}

#[test]
fn a_third_column_that_is_no_weight_is_refused() {
    for (text, bad) in [
        ("1 2 1\n2 3 x\n", "x"),
        ("1,2,3\n2,3,nan\n", "nan"),
        ("1;2;0,5\n2;3;inf", "inf"),
        ("1\t2\t0\n2\t3\t-1\n", "-1"),
    ] {
        let found = refusal(text);
        let expected =
            format!("FILE:2: expected a weight, a number from 0, in the third column, found `{bad}`");
        assert!(found.starts_with(&expected) && found.contains("leave the third column out"), "{found}");
    }
    reads("1 2 1\n2 3 .5\n3 4 1e-3\n4 5 +2\n", &["1-2", "2-3", "3-4", "4-5"]);
    let real = "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2";
    refused(format!("{real} nan\n"), "FILE:3: expected a number in the third column, found `nan`");
}

#[test]
fn a_symmetric_matrix_has_entries_on_one_side() {
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n";
    reads(format!("{banner}1 2\n2 2\n1 3\n"), &["1-2", "2-1", "2-2", "1-3", "3-1"]);
    let both = refusal(format!("{banner}2 1\n3 3\n1 2\n"));
    assert!(both.starts_with("FILE:5: this entry of a symmetric matrix is on the other side"), "{both}");
}

#[test]
fn a_heading_is_written_as_the_columns_below_it_and_is_remarked() {
    for text in ["source;target\n1,2\n", "a,b c\n1 2\n", "source target\n1,2\n"] {
        refused(text, "FILE:1: expected an edge, or a heading of 2 columns between ");
    }
    let remark = |text: &str| {
        let file = file(text.as_bytes());
        heading_remark(file.path())
            .expect("reads")
            .map(|remark| remark.replace(&file.path().display().to_string(), "FILE"))
    };
    let expected = |line| Some(format!("FILE:{line} is taken for a heading, not for an edge"));
    assert_eq!(remark("# c\nsource\ttarget\n1 2\n"), expected(2));
    assert_eq!(remark("from,to\nGraz,Wien\n"), expected(1));
    assert_eq!([remark("1 2\n"), remark("# from,to\n1,2\n"), remark("")], [None, None, None]);
}

#[test]
fn a_heading_is_passed_over() {
    reads("source,target\n1,2\n", &["1-2"]);
    reads("# c\n\"Citing\";\"Cited\";\"When\"\n1;2;1999\n", &["1-2"]);
    reads("from to\nGraz Wien\n", &["Graz-Wien"]);
    // No heading has a number in its first columns.
    reads("Graz 2\n2 3\n", &["Graz-2", "2-3"]);
    refused("a graph of mine\n1 2\n", "FILE:1: expected an edge, or a heading of 2 columns");
}

#[test]
fn vertices_may_have_large_numbers_and_names() {
    reads("4000000000 1\n9223372036854775808 0\n", &["4000000000-1", "9223372036854775808-0"]);
    reads("a b\nb 3\n3 a 0.5\n".replace(" 0.5", ""), &["a-b", "b-3", "3-a"]);
    reads("New York\tSão Paulo\t2\nSão Paulo\tNew York\t3", &["New York-São Paulo", "São Paulo-New York"]);
    reads("\"van Gogh\",Theo\n", &["van Gogh-Theo"]);
    refused("1 18446744073709551617\n", "FILE:1: the vertex id 18446744073709551617 is too large");
    refused("1 9223372036854775809\n", "FILE:1: the vertex id 9223372036854775809 is too large");
    refused(
        "a b\nc \u{7}d\n",
        "FILE:2: expected a vertex's name, found `\\u{7}d`: it has control characters",
    );
    refused(b"a b\nc \xff\n", "FILE:2: expected a vertex's name, found `\\xff`: it is no UTF-8");
    refused("a,b\nc,\n", "FILE:2: expected a vertex's name, found ``: there is nothing");
    refused("a,b\n\"c,d\",e\n", "FILE:2: expected 2 columns, as in the lines before, found 3");
    refused("Anna met Ben\n", "FILE:1: expected a weight, found `Ben`");
}

#[test]
fn a_matrix_is_read_by_its_heading() {
    let banner = "%%MatrixMarket matrix coordinate";
    reads(format!("{banner} pattern general\n% c\n4 4 3\n1 2\n\n4 4\n2 1\n"), &["1-2", "4-4", "2-1"]);
    reads(format!("{banner} real general\n3 3 2\n1 2 0.5\n3 1 -1e3\n"), &["1-2", "3-1"]);
    reads(format!("{banner} integer symmetric\n3 3 2\n2 1 7\n3 3 1\n"), &["2-1", "1-2", "3-3"]);
    reads("%%matrixmarket MATRIX Coordinate Pattern General\n2 2 1\n1 2", &["1-2"]);
    let body = "3 3 1\n1 2\n";
    for other in ["array real general", "coordinate complex general", "coordinate pattern skew-symmetric"] {
        let text = format!("%%MatrixMarket matrix {other}\n{body}");
        refused(text, "FILE:1: expected `%%MatrixMarket matrix coordinate`");
    }
    refused(
        format!("{banner} pattern general\n3 4 1\n1 2\n"),
        "FILE:2: expected a square matrix, found 3 × 4",
    );
    refused(
        format!("{banner} pattern general\nx\n"),
        "FILE:2: expected a matrix's rows, columns and entries",
    );
    let pattern = |body: &str| format!("{banner} pattern general\n{body}");
    refused(pattern("3 3 1\n0 2\n"), "FILE:3: expected a row and a column from 1 to 3, found `0 2`");
    refused(pattern("3 3 1\n1 4\n"), "FILE:3: expected a row and a column from 1 to 3, found `1 4`");
    refused(pattern("3 3 1\n1 2 9\n"), "FILE:3: expected 2 columns, as the heading says, found 3");
    refused(pattern("3 3 2\n1 2\n"), "FILE: the heading says 2 entries, there are 1");
    refused(pattern("3 3 0\n"), "FILE: there are no edges in it");
    refused(pattern(""), "FILE: there are no edges in it");
}

#[test]
fn what_would_be_misread_is_refused_with_what_to_do() {
    let remedy = "write one edge a line: a source, a blank, a target, and perhaps a weight";
    let four = refusal("1 2 3 4\n");
    assert!(
        four.starts_with(
            "FILE:1: expected a source, a target and perhaps a weight, found 4 columns: `1 2 3 4`"
        )
    );
    assert!(four.contains(remedy), "{four}");
    // A matrix without its first line; an adjacency list.
    refused("4 4 5\n1 2\n2 1\n", "FILE:2: expected 3 columns, as in the lines before, found 2: `1 2`");
    refused("1 2\n2 3 4\n", "FILE:2: expected 2 columns, as in the lines before, found 3: `2 3 4`");
    refused("1: 2\n2: 1\n", "FILE:1: expected a source and a target, found `1: 2`");
    refused("1,2\n2,3,4,5\n", "FILE:2: expected 2 columns");
}

#[test]
fn bad_lines_are_named() {
    refused("1 2\n3 x\n", "FILE:2: expected a vertex id, found `x`");
    refused("1 2\n\n# c\n17\n", "FILE:4: expected a source and a target, found `17`");
    refused("1 -2\n", "FILE:1: expected a vertex id, found `-2`");
    refused("1.5 2\n", "FILE:1: expected a vertex id, found `1.5`");
    refused("17\n", "FILE:1: expected a source and a target, found `17`");
}

#[test]
fn what_is_quoted_is_cut_and_steers_no_terminal() {
    let fault = refusal(format!("1 2\n1 \u{1b}]0;PWNED\u{7}{}\n", "x".repeat(1000)));
    assert!(fault.starts_with("FILE:2: expected a vertex id, found `\\u{1b}]0;PWNED\\u{7}xxx"), "{fault}");
    assert!(fault.contains("xxx…`") && fault.len() < 300, "{fault}");
}

#[test]
fn every_block_is_read_once_however_many_read() {
    let heading = "source;target\n".to_string();
    let text: String = (0..300_000).map(|i| format!("{i};{}\n", i * 7 % 300_000)).collect();
    let file = file(&gzip((heading + &text).as_bytes()));
    let whole = read(file.path(), 0, 1).expect("reads");
    assert!(whole.len() >= 3, "{} blocks", whole.len());
    for step in [2, 3, 7] {
        let mut shares: Vec<_> =
            (0..step).map(|first| read(file.path(), first, step).expect("reads").into_iter()).collect();
        let dealt: Vec<_> = (0..whole.len()).filter_map(|k| shares[k % step as usize].next()).collect();
        assert_eq!(dealt, whole);
        assert!(shares.iter_mut().all(|share| share.next().is_none()));
    }
}

#[test]
fn a_bad_line_far_down_is_named_by_the_node_that_reads_it() {
    let mut text: String = (0..400_000).map(|i| format!("{i} {i}\n")).collect();
    text.push_str("oops\n");
    let file = file(text.as_bytes());
    let blocks = text.len().div_ceil(BLOCK) as u64;
    let fault = read(file.path(), blocks - 1, blocks).expect_err("refused");
    assert_eq!(fault.place, Some(format!("{}:400001", file.path().display())));
}

#[test]
fn a_matrix_may_begin_with_a_megabyte_of_comments() {
    let comments = "% nothing to see here\n".repeat(2 * BLOCK / 22);
    let text = format!("%%MatrixMarket matrix coordinate pattern general\n{comments}2 2 1\n2 1\n");
    reads(&text, &["2-1"]);
    let file = file(text.as_bytes());
    assert_eq!(read(file.path(), 2, 3).expect("reads").concat(), [("2".to_string(), "1".to_string())]);
}

#[test]
fn what_is_no_edge_list_is_refused() {
    assert!(refusal("").contains("no edges"));
    assert!(refusal("# only\n# comments\n").contains("no edges"));
    refused("1".repeat(BLOCK + 1), "FILE:1: a line of more than");
    let missing = inspect(Path::new("/nonexistent/graph.txt")).expect_err("refused");
    assert!(missing.to_string().starts_with("/nonexistent/graph.txt: no such file"));
    let directory = tempfile::tempdir().expect("a directory");
    assert!(inspect(directory.path()).expect_err("refused").message.contains("cannot be read"));
}

#[test]
fn ids_are_labels_unless_they_have_large_gaps() {
    let labels = |text: &str| inspect(file(text.as_bytes()).path()).expect("reads").labels;
    assert_eq!(labels("0 1\n5 65535\n"), Some(65536));
    assert_eq!(labels("0 268435455\n"), None);
    assert_eq!(labels("0 268435456\n"), None);
    assert_eq!(labels("a b\n"), None);
    let every = |gap: u32| (0..50_000).map(|i| format!("{} 0\n", i * gap)).collect::<String>();
    assert_eq!(labels(&every(4)), Some(199_997));
    assert_eq!(labels(&every(5)), None);
}

/// Ways to write an edge list.
fn written(edges: &[(u64, u64)], way: usize) -> Vec<u8> {
    let separator = [" ", "\t", ",", ";", " , ", "  "][way % 6];
    let weight = [String::new(), format!("{separator}0.5")][way / 6 % 2].clone();
    let end = ["\n", "\r\n", "\r"][way / 12 % 3];
    let heading = ["", "# comment", "% comment"][way / 36 % 3];
    let mut text: String = edges.iter().map(|(s, t)| format!("{s}{separator}{t}{weight}{end}")).collect();
    text.insert_str(0, &format!("{heading}{end}"));
    if way / 108 % 2 == 1 { gzip(text.as_bytes()) } else { text.into_bytes() }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = edges(&bytes);
    }

    #[test]
    fn no_nearly_good_text_panics(
        text in "(%%MatrixMarket matrix coordinate (pattern|real) (general|symmetric)\n)?([0-9ab,; \t#%\"-]{0,12}[\r\n]){0,12}"
    ) {
        match edges(&text) {
            Ok(edges) => prop_assert!(!edges.is_empty()),
            Err(fault) => prop_assert!(fault.place.is_some(), "{fault}"),
        }
    }

    #[test]
    fn edges_read_as_written(
        pairs in proptest::collection::vec((0..=LARGEST_ID, 0..=LARGEST_ID), 1..9),
        way in 0_usize..216,
    ) {
        let expected: Vec<String> = pairs.iter().map(|(s, t)| format!("{s}-{t}")).collect();
        prop_assert_eq!(edges(written(&pairs, way)), Ok(expected));
    }

    #[test]
    fn a_matrix_reads_as_written(pairs in proptest::collection::vec((1_u64..9, 1_u64..9), 1..9), weights: bool) {
        let (field, weight) = if weights { ("real", " 1.5") } else { ("pattern", "") };
        let mut text = format!("%%MatrixMarket matrix coordinate {field} general\n8 8 {}\n", pairs.len());
        pairs.iter().for_each(|(s, t)| text.push_str(&format!("{s} {t}{weight}\n")));
        let expected: Vec<String> = pairs.iter().map(|(s, t)| format!("{s}-{t}")).collect();
        prop_assert_eq!(edges(text), Ok(expected));
    }

    #[test]
    fn names_read_as_written(pairs in proptest::collection::vec(("[a-zA-Zäß_][a-zA-Z0-9äß_ .]{0,8}[a-z]", "[a-z][0-9a-z ]{0,8}[a-z]"), 1..9)) {
        let text: String = pairs.iter().map(|(s, t)| format!("{s}\t{t}\n")).collect();
        let expected: Vec<String> = pairs.iter().map(|(s, t)| format!("{s}-{t}")).collect();
        prop_assert_eq!(edges(text), Ok(expected));
    }
}
