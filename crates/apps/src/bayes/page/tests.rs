//! Tests of `page`.

use super::*;

fn read(page: &str) -> (String, String) {
    let article = parse_article(page).expect("a page").expect("an article");
    (article.title, article.text)
}

fn text(text: &str) -> String {
    read(&format!("<page><title>x</title><revision>{text}</revision></page>")).1
}

#[test]
fn title_and_text_are_found() {
    let page = "<page>\n <title>A &amp; b</title><revision><textual/><text bytes=\"3\" xml:space=\"preserve\">\
                some &lt;text&gt;</text></revision></page>";
    assert_eq!(read(page), ("A & b".into(), "some <text>".into()));
    // As the text of a suppressed revision is.
    assert_eq!(text("<text xml:space=\"preserve\" deleted=\"deleted\" />"), "");
    assert_eq!(text("<text></text>"), "");
}

#[test]
fn tags_are_read_as_xml_has_them() {
    let page = "<page xml:lang=\"en\"\n><title >A</title\t><revision\n><text\nnote=\"a > b\">b</text ></revision></page >";
    assert_eq!(read(page), ("A".into(), "b".into()));
    assert_eq!(text("<!-- <text>no</text> --><text>a<!-- no -->b<?no?>c</text>"), "abc");
    assert_eq!(text("<contributor><text>no</text></contributor><text>yes</text>"), "yes");
    assert_eq!(read("<w:page xmlns:w=\"u\"><w:title>A</w:title><w:text>b</w:text></w:page>").1, "b");
}

#[test]
fn a_cdata_section_is_text_and_holds_no_escapes() {
    assert_eq!(
        text("<text>a <![CDATA[<redirect/> </text> &amp; ]]>&amp; b</text>"),
        "a <redirect/> </text> &amp; & b"
    );
}

#[test]
fn of_several_revisions_the_last_counts() {
    assert_eq!(text("<text>one</text></revision><revision><text>two</text>"), "two");
    assert_eq!(text("<text>one</text></revision><revision><text/>"), "");
}

#[test]
fn redirects_are_no_articles() {
    for redirect in ["<redirect />", "<redirect title=\"y\" />", "<redirect\n></redirect>"] {
        assert_eq!(
            parse_article(&format!("<page><title>x</title>{redirect}<text>y</text></page>")),
            Ok(None)
        );
    }
}

#[test]
fn what_is_missing_is_said() {
    assert_eq!(parse_article("<page><text>y</text></page>"), Err("a page has no <title>".into()));
    assert_eq!(parse_article("<page><title>y</title></page>"), Err("a page has no <text>".into()));
    assert_eq!(parse_article("<page/>"), Err("a page has no <title>".into()));
    assert_eq!(parse_article("<page><title>y</title>"), Err("a page does not end".into()));
    let mismatch = parse_article("<page><title>y</page>").expect_err("refused");
    assert!(mismatch.starts_with("a page is no well-formed XML: "), "{mismatch}");
    assert!(parse_article("<page><title>y</title><text</page").is_err());
}

#[test]
fn escapes_are_resolved_once() {
    assert_eq!(text("<text>a &amp;lt; b &#233;&#xE9; &quot;&apos;</text>"), "a &lt; b éé \"'");
    let odd = "AT&T &unknown; &#xFFFFFFF; &é; &#0; &";
    assert_eq!(text(&format!("<text>{odd}</text>")), odd);
}
