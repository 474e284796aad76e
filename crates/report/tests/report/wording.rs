//! The wording around the numbers: confidence, the better direction, what the nodes were; and nothing twice.

use crosstalk_core::record::Origin;
use crosstalk_report::{html, markdown, terminal};
use crosstalk_study::findings::{ClaimVerdict, Estimate, FigureKind, Findings, TableCell};
use roxmltree::Document;

use crate::fixture;
use crate::structure::{class, page, words};

#[test]
fn intervals_have_a_confidence_and_ratios_a_better_direction() {
    let findings = fixture::example();
    let page = page(&findings);
    let page = words(Document::parse(&page).expect("well-formed").root());
    for shown in [page, markdown(&findings), terminal(&findings, 200, false)] {
        assert!(shown.contains("95 %; in the sentence, the comparisons and the claims"));
        assert!(shown.contains(": run time (s), lower is better; slaves 6"));
        assert!(!shown.contains("run_time"));
        assert!(!shown.contains("serialise "), "parts are named in words: {shown}");
    }
}

#[test]
fn attributions_are_shown_and_shares_are_explained_once() {
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
        assert_eq!(shown.matches("of the difference in time, at the busiest node").count(), 1);
    }
    let shown = terminal(&findings, 400, false);
    assert!(comparisons.iter().all(|known| shown.contains(&known.text)), "{shown}");

    findings.claims.iter_mut().for_each(|claim| claim.attribution = None);
    findings.comparisons.iter_mut().for_each(|c| c.attribution = None);
    for shown in [page(&findings), markdown(&findings), terminal(&findings, 400, false)] {
        assert!(
            !shown.contains(" takes longer: ") && !shown.contains("of the difference in time"),
            "{shown}"
        );
    }
}

#[test]
fn virtual_nodes_are_named_once_and_not_called_real_machines() {
    let mut findings = fixture::example();
    for series in findings.figures.iter_mut().flat_map(|f| &mut f.series) {
        series.origin = Origin::Measured;
    }
    findings.run.absences = vec!["no network interface hardware".into()];
    for shown in [html(&findings), markdown(&findings)] {
        assert_eq!(shown.matches("no network interface hardware").count(), 1);
        assert!(shown.contains("real programs and real packets"));
        assert!(!shown.contains("taken on real machines"));
    }
    assert_eq!(terminal(&findings, 200, false).matches("no network interface hardware").count(), 1);
    findings.run.absences.clear();
    assert!(html(&findings).contains("taken on real machines"));
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
    let shown = terminal(&findings, 100, false);
    assert!(shown.contains("12 not run: Left out by --quick"), "the same reason is said once: {shown}");
    let last = findings.claims.last_mut().expect("a claim");
    last.why = "this run has no cell at slaves 3".into();
    let shown = terminal(&findings, 100, false);
    assert!(shown.contains("12 not run: this run leaves out cells that they need"), "{shown}");
}

#[test]
fn the_terminal_names_what_a_verdict_depends_on() {
    let mut findings = fixture::example();
    let over = findings.comparisons.iter().find_map(|one| one.over_ranges.clone()).expect("one with ranges");
    let claim = &mut findings.claims[0];
    let why = "whether it holds depends on system kosmos: speed (it changes from about 0.18 up)";
    claim.verdict = ClaimVerdict::DependsOn;
    claim.why = format!("found 1.2; 0.9 to 1.4 over the ranges: {why}");
    let shown =
        |findings: &Findings| terminal(findings, 100, false).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        !shown(&findings).contains("depends on system kosmos"),
        "nothing is said of ranges where there are none"
    );
    findings.claims[0].over_ranges = Some(over);
    assert!(shown(&findings).contains(why), "{}", shown(&findings));
}

#[test]
fn a_bar_with_the_name_of_its_position_is_named_once() {
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
fn the_terminal_names_the_origin_once_a_table_and_at_each_number_where_there_are_two() {
    let cell = |value: f64, origin: Origin| TableCell::Number {
        estimate: Estimate { value, interval: None, n: 9 },
        unit: "s".into(),
        origin,
    };
    let table = |second: Origin| {
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
        let end = shown.find("Before you believe it").expect("is shown");
        shown[at..end].to_string()
    };
    let same = table(Origin::Measured);
    assert_eq!(same.matches("measured").count(), 1, "{same}");
    let mixed = table(Origin::Published);
    assert!(mixed.contains("1.00 s measured") && mixed.contains("2.00 s published"), "{mixed}");
}

/// The first screen has the comparison and its result; the methods come below.
#[test]
fn the_first_screen_is_the_answer_and_the_bars() {
    let findings = fixture::example();
    let shown = terminal(&findings, 100, false);
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    let (context, bar, method) = (at("In 24 paired runs on 7 virtual"), at("█"), at("Noise floor: "));
    assert!(context < bar && bar < at("Compared") && at("Compared") < method, "{shown}");
    let bar = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name) && line.contains('█')).expect("a bar");
        line.matches('█').count()
    };
    assert_eq!(bar("microblade"), 40, "the longest: {shown}");
    assert_eq!(bar("kosmos-srio"), 31, "as long as it is: {shown}");
    let narrow = terminal(&findings, 30, false);
    assert!(!narrow.contains('█') && narrow.contains("microblade: 3.84 s"), "{narrow}");
    for shown in [words(Document::parse(&page(&findings)).expect("well-formed").root()), markdown(&findings)]
    {
        let order = ["In 24 paired runs", "3.84 s", "What was compared", "Noise floor"];
        let places: Vec<_> = order.iter().map(|text| shown.find(text).expect("is shown")).collect();
        assert!(places.is_sorted(), "{places:?}: {shown}");
    }
}

#[test]
fn a_factor_is_one_or_more_in_every_rendering() {
    let findings = fixture::example();
    let page = words(Document::parse(&page(&findings)).expect("well-formed").root());
    for shown in [page, markdown(&findings).replace(" x ", " × "), terminal(&findings, 300, false)] {
        assert!(shown.contains("1.39 × faster than microblade"), "{shown}");
        assert!(!shown.contains("0.72 ×"), "the same ratio the other way round: {shown}");
    }
}

#[test]
fn the_same_text_of_several_metrics_is_one_line() {
    let mut findings = fixture::example();
    let unmeasured = findings.run.noise.pop().expect("two floors");
    findings.run.noise = ["run_time", "time_wait", "bandwidth"]
        .map(|metric| crosstalk_study::findings::NoiseFloor { metric: metric.into(), ..unmeasured.clone() })
        .to_vec();
    let shown = terminal(&findings, 300, false);
    assert_eq!(shown.matches("not measured").count(), 1, "{shown}");
    assert!(shown.contains("Noise floor: run time, time wait, bandwidth: not measured"), "{shown}");
    assert_eq!(shown.matches("Detectable: ").count(), 1, "{shown}");
}

#[test]
fn a_claim_that_was_not_run_is_no_row_of_any_rendering() {
    let findings = fixture::example();
    let absent = findings.claims.iter().find(|c| c.verdict == ClaimVerdict::NotRun).expect("one");
    assert!(!markdown(&findings).contains(&absent.name), "counted, not listed");
    assert!(markdown(&findings).contains("1 not run: Left out by --quick."));
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let tally = page.descendants().find(|n| class(n) == "tally").expect("a tally");
    assert!(!words(tally).contains("not run"), "{}", words(tally));
}

#[test]
fn a_refuted_size_is_shown_even_where_the_direction_is_undecided() {
    let mut findings = fixture::example();
    let open = findings.claims.iter_mut().find(|c| c.verdict == ClaimVerdict::Inconclusive).expect("one");
    (open.published, open.size_agrees) = (Some(1.19), Some(false));
    let page = words(Document::parse(&page(&findings)).expect("well-formed").root());
    for shown in [page, markdown(&findings), terminal(&findings, 200, false)] {
        assert!(shown.contains("size refuted"), "{shown}");
    }
}

#[test]
fn without_a_fidelity_monitor_no_cell_is_called_faithful() {
    let mut findings = fixture::example();
    findings.cells.truncate(1);
    (findings.cells[0].unfaithful, findings.cells[0].failed) = (None, 0);
    let page = words(Document::parse(&page(&findings)).expect("well-formed").root());
    assert!(page.contains("no fidelity monitor watched them") && !page.contains("faithful: every"), "{page}");
}

#[test]
fn only_what_was_published_is_reproduced() {
    let mut findings = fixture::example();
    let of = |findings: &Findings| {
        [html(findings), markdown(findings), terminal(findings, 160, false)].map(|text| {
            let has = |words: &str| text.contains(words);
            let holds = ["</span> holds</p>", "**holds**", "✓ holds"].into_iter().any(has);
            (has("not reproduced"), has("does not hold"), holds)
        })
    };
    assert_eq!(of(&findings), [(true, false, false); 3]);
    for claim in &mut findings.claims {
        claim.published = None;
        claim.why = String::new();
        claim.statement = "It is so".into();
    }
    assert_eq!(of(&findings), [(false, true, true); 3]);
}

#[test]
fn where_nothing_was_measured_there_is_no_verdict_and_no_method() {
    let mut findings = fixture::example();
    findings.headline.decided = false;
    let shown = |findings: &Findings| {
        let page = words(Document::parse(&page(findings)).expect("well-formed").root());
        [page, markdown(findings), terminal(findings, 200, false)].map(|text| {
            let has = |words: &str| text.to_lowercase().contains(words);
            (has("undecided"), has("noise floor") || has("detectable:") || has("estimates"))
        })
    };
    findings.run.attempts = [("failed".to_string(), 5), ("finished".into(), 1)].into();
    assert_eq!(shown(&findings), [(true, true); 3]);
    findings.run.attempts.remove("finished");
    assert_eq!(shown(&findings), [(false, false); 3]);
}

#[test]
fn code_in_a_sentence_is_code_in_markdown() {
    let mut findings = fixture::example();
    findings.headline.text = "`job` takes longer".into();
    findings.run.noise.clear();
    let shown = markdown(&findings);
    assert!(shown.contains("# <code>job</code> takes longer"), "{shown}");
    assert!(shown.contains("<code>aa = &#91;1, 2&#93;</code>") && !shown.contains("\\`"), "{shown}");
}
