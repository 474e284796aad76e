//! Tests of `markup`.

use super::*;
use proptest::prelude::*;

fn names(text: &str) -> Vec<&str> {
    elements(text).map(|element| element.name).collect()
}

#[test]
fn elements_come_in_order_whatever_is_between_them() {
    let text = "<?xml version=\"1.0\"?>\n1f4\r\n<a>1</a> & so on <b/><!-- <x>no</x> --><c d=\"e\">2 < 3</c>";
    assert_eq!(names(text), ["a", "b", "c"]);
    assert_eq!(first(text, "a").and_then(|a| a.value()), Some(1));
    assert_eq!(first(text, "c").map(|c| c.text()), Some("2 < 3".into()));
}

#[test]
fn an_element_may_hold_others_of_its_name() {
    let text = "<project><name>x</name><project><name>y</name></project></project><project/>";
    assert_eq!(names(text), ["project", "project"]);
    assert_eq!(elements(text).next().map(|e| names(e.body)), Some(vec!["name", "project"]));
}

#[test]
fn raw_text_closes_nothing() {
    let text = "<stderr_out>\n<v>7</v>\n<![CDATA[\n</stderr_out> <lies>\n]]>\n</stderr_out><state>5</state>";
    assert_eq!(names(text), ["stderr_out", "state"]);
    let raw = Element { name: "x", body: " <![CDATA[ a < b ]]> " };
    assert_eq!(raw.text(), "a < b");
}

#[test]
fn what_is_not_closed_is_the_end() {
    assert_eq!(names("<a>1</a><b>2<c>3</c>"), ["a"]);
    assert_eq!(names("<a>1</a><b"), ["a"]);
    assert_eq!(names("</a></b>"), [] as [&str; 0]);
}

#[test]
fn a_million_open_tags_take_no_longer_than_reading_them() {
    let hostile = "<a>".repeat(1_000_000);
    assert_eq!(elements(&hostile).count(), 0);
    let hostile = "<a/><b>".repeat(500_000);
    assert_eq!(elements(&hostile).count(), 1);
}

#[test]
fn numbers_that_are_none_are_nothing() {
    let number = |body| Element { name: "n", body }.number();
    assert_eq!(
        [number("2.5"), number("nan"), number("inf"), number("x"), number("")],
        [2.5, 0.0, 0.0, 0.0, 0.0]
    );
}

#[test]
fn entities_are_resolved_and_others_stay() {
    let text = |body| Element { name: "n", body }.text();
    assert_eq!(text("&lt;a&gt; &amp;amp; &#65; &nbsp; &; & &#xx;"), "<a> &amp; A &nbsp; &; & &#xx;");
}

proptest! {
    #[test]
    fn text_survives_escaping(text in "[ -~äß]{0,60}") {
        let element = format!("<t>{}</t>", escape(&text));
        prop_assert_eq!(first(&element, "t").map(|t| t.text()), Some(text.trim().to_string()));
    }

    #[test]
    fn no_text_panics_or_hangs(text in "[<>/a!\\[\\]CDAT&;#?\\- \n\u{3}ß]{0,200}") {
        for element in elements(&text) {
            element.text();
            element.elements().for_each(|inner| drop(inner.text()));
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        elements(&text).for_each(|element| drop(element.text()));
    }
}
