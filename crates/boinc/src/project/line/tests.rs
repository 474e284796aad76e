//! Tests of `line`.

use super::*;
use proptest::prelude::*;

#[test]
fn a_line_reads_as_it_was_written() {
    let result = ResultId { unit: 7, instance: 1 };
    let line = Line::Reported { result, outcome: Outcome::Valid { answer: "00".into() }, cpu: 1.5, at: 2.25 };
    let text = serde_json::to_string(&line).expect("writes");
    assert_eq!(
        text,
        r#"{"line":"reported","unit":7,"instance":1,"outcome":"valid","answer":"00","cpu":1.5,"at":2.25}"#
    );
    assert_eq!(serde_json::from_str::<Line>(&text).expect("reads"), line);
}

#[test]
fn lines_of_earlier_versions_are_read() {
    for text in [
        r#"{"line":"address","listen":"127.0.0.1:1","url":"u"}"#,
        r#"{"line":"version","number":1,"file":"f","bytes":3,"md5":"m","signature":"s"}"#,
        r#"{"line":"host","host":1,"name":"n"}"#,
        r#"{"line":"sent","unit":7,"instance":1,"host":1,"at":1.0,"deadline":2.0}"#,
        r#"{"line":"uploaded","unit":7,"instance":1,"outcome":"failed","why":"w"}"#,
        r#"{"line":"lost","unit":7,"instance":1,"at":2.25}"#,
    ] {
        let line: Line = serde_json::from_str(text).expect("reads");
        assert_eq!(serde_json::to_string(&line).expect("writes"), text);
    }
}

#[test]
fn a_name_has_one_spelling() {
    for bad in ["c_1", "c_1_", "c_01_0", "c_1_+0", "c_1_0_0", " c_1_0", "c_1_0/..", "../c_1_0", "c_-1_0", ""]
    {
        assert_eq!(bad.parse::<ResultId>(), Err(()), "{bad}");
    }
    assert_eq!(ResultId::from_output_name("c_1_0"), None);
    assert_eq!(ResultId::from_output_name("../c_1_0_out"), None);
}

proptest! {
    #[test]
    fn names_survive(unit in any::<u64>(), instance in any::<u32>()) {
        let result = ResultId { unit, instance };
        prop_assert_eq!(result.to_string().parse(), Ok(result));
        prop_assert_eq!(ResultId::from_output_name(&result.output_name()), Some(result));
    }

    #[test]
    fn no_name_panics(name in "\\PC{0,40}") {
        let _ = name.parse::<ResultId>();
        let _ = ResultId::from_output_name(&name);
    }
}
