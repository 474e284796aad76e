//! What a reader is told beside the numbers: how sure they are, which way is
//! better, what the nodes were; and nothing of it twice.

use crosstalk_core::record::Origin;
use crosstalk_report::{html, markdown, terminal};
use crosstalk_study::findings::{ClaimVerdict, Estimate, FigureKind, Findings, TableCell};
use roxmltree::Document;

use crate::fixture;
use crate::structure::{class, page, words};

#[test]
fn intervals_say_how_sure_they_are_and_ratios_which_way_is_better() {
    let findings = fixture::example();
    let page = page(&findings);
    let page = words(Document::parse(&page).expect("well-formed").root());
    for shown in [page, markdown(&findings), terminal(&findings, 200, false)] {
        assert!(shown.contains("95 %; in the sentence, the comparisons and the claims"));
        assert!(shown.contains(": run time (s), lower is better; slaves 6"));
        assert!(!shown.contains("run_time"));
        assert!(!shown.contains("serialise "), "parts are said in words: {shown}");
    }
}

#[test]
fn where_the_extra_time_goes_is_said_where_it_is_known_and_what_points_are_once() {
    let mut findings = fixture::example();
    let page = |findings: &Findings| words(Document::parse(&page(findings)).expect("well-formed").root());
    let known = |findings: &Findings| {
        let claims = findings.claims.iter().filter_map(|claim| claim.attribution.clone());
        let comparisons = findings.comparisons.iter().filter_map(|c| c.attribution.clone());
        (claims.collect::<Vec<_>>(), comparisons.collect::<Vec<_>>())
    };
    let (claims, comparisons) = known(&findings);
    assert_eq!((claims.len(), comparisons.len()), (1, 3));
    for shown in [page(&findings), markdown(&findings)] {
        for known in claims.iter().chain(&comparisons) {
            assert!(shown.contains(&known.text), "{}: {shown}", known.text);
        }
        assert_eq!(shown.matches("hundredths of the faster one's time").count(), 1);
    }
    let shown = terminal(&findings, 400, false);
    assert!(comparisons.iter().all(|known| shown.contains(&known.text)), "{shown}");

    findings.claims.iter_mut().for_each(|claim| claim.attribution = None);
    findings.comparisons.iter_mut().for_each(|c| c.attribution = None);
    for shown in [page(&findings), markdown(&findings), terminal(&findings, 400, false)] {
        assert!(!shown.contains(" % longer: ") && !shown.contains("hundredths"), "{shown}");
    }
}

#[test]
fn what_stands_in_for_machines_is_said_once_and_not_called_the_real_thing() {
    let mut findings = fixture::example();
    for series in findings.figures.iter_mut().flat_map(|f| &mut f.series) {
        series.origin = Origin::Measured;
    }
    findings.run.absences = vec!["no network interface hardware".into()];
    for shown in [html(&findings), markdown(&findings)] {
        assert_eq!(shown.matches("no network interface hardware").count(), 1);
        assert!(shown.contains("real programs and real packets"));
        assert!(!shown.contains("taken on the real thing"));
    }
    assert_eq!(terminal(&findings, 200, false).matches("no network interface hardware").count(), 1);
    findings.run.absences.clear();
    assert!(html(&findings).contains("taken on the real thing"));
}

#[test]
fn claims_that_were_not_run_take_one_line_of_the_terminal() {
    let mut findings = fixture::example();
    let of = |findings: &Findings| terminal(findings, 100, false).lines().count();
    let claim = findings.claims.pop().expect("a claim");
    assert_eq!(claim.verdict, ClaimVerdict::NotRun, "stands last");
    findings.claims.push(claim.clone());
    let before = of(&findings);
    findings.claims.extend(std::iter::repeat_n(claim, 11));
    assert_eq!(of(&findings), before);
    assert!(terminal(&findings, 100, false).contains("12 not run: "));
}

#[test]
fn a_bar_that_is_called_after_its_place_is_named_once() {
    let mut findings = fixture::example();
    let figure = findings.figures.iter_mut().find(|f| f.kind == FigureKind::Bars).expect("bars");
    figure.series.truncate(2);
    for (series, name) in figure.series.iter_mut().zip(["ethernet-1g", "ethernet-10g"]) {
        series.name = name.into();
        series.points.truncate(1);
        series.points[0].label = name.into();
    }
    findings.figures = vec![figure.clone()];
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let svg = page.descendants().find(|n| class(n) == "plot wide").expect("drawn");
    let named = svg.descendants().filter(|n| n.has_tag_name("text") && words(*n) == "ethernet-1g").count();
    assert_eq!(named, 1);
}

#[test]
fn a_terminal_says_the_origin_once_a_table_and_beside_each_number_where_there_are_two() {
    let cell = |value: f64, origin: Origin| TableCell::Number {
        estimate: Estimate { value, interval: None, n: 9 },
        unit: "s".into(),
        origin,
    };
    let told = |second: Origin| {
        let mut findings = fixture::example();
        findings.figures.clear();
        findings.claims.clear();
        findings.comparisons.clear();
        findings.tables.truncate(1);
        let table = &mut findings.tables[0];
        table.columns = ["own", "time"].map(String::from).to_vec();
        let row = |value, origin| vec![TableCell::Text("all".into()), cell(value, origin)];
        table.rows = vec![row(1.0, Origin::Measured), row(2.0, second)];
        let shown = terminal(&findings, 80, false);
        let at = shown.find(&findings.tables[0].title).expect("is shown");
        shown[at..].to_string()
    };
    let same = told(Origin::Measured);
    assert_eq!(same.matches("measured").count(), 1, "{same}");
    let mixed = told(Origin::Published);
    assert!(mixed.contains("1.00 s measured") && mixed.contains("2.00 s published"), "{mixed}");
}
