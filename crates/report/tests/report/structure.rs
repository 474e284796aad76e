//! The structure of every rendering: the sentence first, every value, every origin in words, and no markup from names.

use crosstalk_core::record::Origin;
use crosstalk_report::{html, markdown, terminal};
use crosstalk_study::findings::{Estimate, FigureKind, Findings, Point, Scale};
use roxmltree::{Document, Node};
use unicode_width::UnicodeWidthStr;

use crate::fixture;
use crate::hostile::hostile;

/// The page as XML: without its doctype, script and style.
pub fn page(findings: &Findings) -> String {
    let page = html(findings);
    let page = page.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
    without(&without(page, "script"), "style")
}

fn without(page: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let (start, end) = (page.find(&open).expect("begins"), page.rfind(&close).expect("ends"));
    format!("{}{}", &page[..start], &page[end + close.len()..])
}

pub fn class<'a>(node: &Node<'a, '_>) -> &'a str {
    node.attribute("class").unwrap_or("")
}

pub fn words(node: Node) -> String {
    node.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect()
}

/// Without the markup that keeps numbers and units on one line.
fn plain(page: &str) -> String {
    let (mut out, mut rest) = (String::new(), page);
    while let Some((before, after)) = rest.split_once(r#"<span class="whole">"#) {
        let (piece, after) = after.split_once("</span>").expect("closed");
        out += before;
        out += piece;
        rest = after;
    }
    out + rest
}

#[test]
fn the_sentence_stands_first_and_then_the_command_that_repeats_it() {
    let findings = fixture::example();
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let body = page.descendants().find(|n| n.has_tag_name("body")).expect("a body");
    let first = body.descendants().find(|n| n.is_text() && !n.text().unwrap_or("").trim().is_empty());
    let first = first.expect("text");
    let heading = first.ancestors().find(|n| n.has_tag_name("h1")).expect("within the heading");
    assert_eq!(words(heading), findings.headline.text);
    let code = body.descendants().find(|n| n.has_tag_name("code")).expect("a command");
    assert_eq!(words(code), findings.headline.command);

    let sections: Vec<_> =
        page.descendants().filter(|n| n.has_tag_name("section")).filter_map(|n| n.attribute("id")).collect();
    let order = [
        "compared",
        "claims",
        "figures",
        "tables",
        "warnings",
        "caveats",
        "rests",
        "fidelity",
        "sources",
        "provenance",
        "run",
    ];
    assert_eq!(sections, order);

    assert!(markdown(&findings).starts_with("# kosmos-srio: 1.26 x faster than microblade"));
    let shown = terminal(&findings, 200, false);
    assert_eq!(shown.lines().next(), Some(findings.headline.text.as_str()));
    assert!(shown.contains(&findings.headline.command));
}

#[test]
fn every_point_of_every_figure_is_drawn_twice_and_tabulated() {
    let findings = fixture::example();
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let figures: Vec<_> = page.descendants().filter(|n| n.has_tag_name("figure")).collect();
    assert_eq!(figures.len(), findings.figures.len());
    for (drawn, figure) in figures.iter().zip(&findings.figures) {
        let points: usize = figure.series.iter().map(|s| s.points.len()).sum();
        for layout in ["plot wide", "plot narrow"] {
            let svg = drawn.descendants().find(|n| class(n) == layout).expect("drawn");
            assert_eq!(svg.attribute("role"), Some("img"));
            let tips: Vec<String> =
                svg.descendants().filter(|n| class(n).starts_with("mark ")).map(words).collect();
            assert_eq!(tips.len(), points, "{} {layout}", figure.name);
            for series in &figure.series {
                for point in &series.points {
                    let shown = |tip: &&String| tip.contains(&series.name) && tip.contains(&point.label);
                    assert!(tips.iter().any(|tip| shown(&tip)), "{} {} {layout}", series.name, point.label);
                }
            }
            let whiskers = svg.descendants().filter(|n| class(n) == "whisker").count();
            let intervals =
                figure.series.iter().flat_map(|s| &s.points).filter(|p| p.y.interval.is_some()).count();
            // A field of a heat map has no length to whose end an interval could belong.
            let drawn = if figure.kind == FigureKind::Heat { 0 } else { intervals };
            let across = figure.series.iter().flat_map(|s| &s.points).filter(|p| p.x_interval.is_some());
            let drawn = drawn + across.count();
            assert_eq!(whiskers, drawn, "{} {layout}", figure.name);
        }
        let rows = drawn.descendants().filter(|n| n.has_tag_name("tr")).count();
        assert_eq!(rows, points + 1, "{}", figure.name);
    }
}

#[test]
fn heat_maps_of_the_same_quantity_have_one_scale() {
    let mut findings = fixture::example();
    findings.figures.retain(|figure| figure.kind == FigureKind::Heat);
    let mut darker = findings.figures[0].clone();
    darker.series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.y.value *= 3.0);
    findings.figures.push(darker);
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let darkest = |svg: Node| -> f64 {
        let shades = svg.descendants().filter_map(|n| n.attribute("fill-opacity")?.parse::<f64>().ok());
        shades.fold(0.0, f64::max)
    };
    let maps: Vec<f64> = page
        .descendants()
        .filter(|n| class(n) == "plot wide")
        .map(darkest)
        .filter(|shade| *shade > 0.0)
        .collect();
    assert_eq!(maps.len(), 2);
    assert!(maps[0] < 0.7 * maps[1], "what is darker is more: {maps:?}");
}

#[test]
fn a_ratio_of_one_has_no_colour_and_equal_ratios_have_the_same_in_every_map() {
    let mut findings = fixture::example();
    findings.figures.retain(|figure| figure.kind == FigureKind::Heat);
    let mut figure = findings.figures.remove(0);
    figure.series.truncate(1);
    (figure.y.unit, figure.y.scale) = ("ratio".into(), Scale::Log);
    let map = |label: &str, found: &[(f64, (f64, f64))]| {
        let mut figure = figure.clone();
        figure.y.label = label.into();
        let point = |(place, (value, interval)): (usize, &(f64, (f64, f64)))| {
            let y = Estimate { value: *value, interval: Some(*interval), n: 9 };
            Point { label: place.to_string(), y, ..figure.series[0].points[0].clone() }
        };
        figure.series[0].points = found.iter().enumerate().map(point).collect();
        figure
    };
    let alone = [(1.9, (1.7, 2.1)), (1.27, (0.91, 1.7)), (0.53, (0.5, 0.6)), (4.0, (3.0, 5.0))];
    let guarded = [(0.98, (0.79, 1.1)), (1.9, (1.7, 2.1)), (30.0, (20.0, 40.0)), (0.25, (0.2, 0.3))];
    findings.figures = vec![map("over that alone", &alone), map("over that unguarded", &guarded)];
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    let looks = |svg: Node| -> Vec<(bool, f64)> {
        let marks = svg.descendants().filter(|n| class(n).starts_with("mark "));
        let shade = |mark: &Node| -> f64 {
            let shades = mark.descendants().filter_map(|n| n.attribute("fill-opacity")?.parse::<f64>().ok());
            shades.sum()
        };
        marks.map(|mark| (class(&mark).contains(" s0 "), shade(&mark))).collect()
    };
    let maps: Vec<_> = page.descendants().filter(|n| class(n) == "plot wide").map(looks).collect();
    let [slower, open, faster, most] = maps[0][..] else { panic!("{maps:?}") };
    assert_eq!(maps[1], [(true, 0.0), slower, most, (false, most.1)], "{maps:?}");
    assert_eq!((open.1, slower.0, faster.0), (0.0, true, false), "{maps:?}");
    assert!(
        (slower.1 - faster.1).abs() < 0.02 && slower.1 < most.1,
        "half is as far from 1 as twice: {maps:?}"
    );
    let legend = words(page.descendants().find(|n| class(n) == "legend").expect("has a legend"));
    assert!(legend.contains("4 × and more") && legend.contains("0.25 × and less"), "{legend}");
    let edges = page
        .descendants()
        .filter(|n| class(n) == "plot wide")
        .map(|svg| svg.descendants().filter(|n| class(n) == "bar open").count());
    assert_eq!(edges.collect::<Vec<_>>(), [1, 1], "what may be 1 is not drawn as what is");
}

#[test]
fn a_share_has_no_ratio_scale_and_a_ratio_without_interval_may_be_one() {
    let mut findings = fixture::example();
    findings.figures.retain(|figure| figure.kind == FigureKind::Heat);
    findings.figures.truncate(1);
    let mut page = |scale, origin| {
        let figure = &mut findings.figures[0];
        (figure.y.unit, figure.y.scale) = ("ratio".into(), scale);
        figure.series.truncate(1);
        figure.series[0].origin = origin;
        figure.series[0].points.iter_mut().for_each(|point| point.y.interval = None);
        let page = page(&findings);
        let page = Document::parse(&page).expect("well-formed");
        let open = page.descendants().filter(|n| n.ancestors().any(|a| class(&a) == "plot wide"));
        (
            open.filter(|n| class(n) == "bar open").count() > 0,
            words(page.root_element()).contains("0.25 × and less"),
        )
    };
    assert_eq!(page(Scale::Linear, Origin::Measured), (false, false));
    assert_eq!(page(Scale::Log, Origin::Measured), (true, true));
    assert_eq!(page(Scale::Log, Origin::Computed), (false, true));
}

#[test]
fn published_values_are_drawn_apart_and_every_origin_is_a_word() {
    let findings = fixture::example();
    let page = page(&findings);
    let page = Document::parse(&page).expect("well-formed");
    for (index, figure) in findings.figures.iter().enumerate() {
        let id = format!("figure-{index}-wide");
        let svg = page.descendants().find(|n| n.attribute("id") == Some(&id)).expect("drawn");
        let published = figure.series.iter().filter(|s| s.origin == Origin::Published);
        let points: usize = published.map(|s| s.points.len()).sum();
        let apart: Vec<_> = svg
            .descendants()
            .filter(|n| class(n).starts_with("mark ") && class(n).ends_with(" published"))
            .collect();
        assert_eq!(apart.len(), points, "{}", figure.name);
        assert!(apart.iter().all(|mark| words(*mark).contains("published")));
        if figure.kind == FigureKind::Bars {
            let hatched = |n: &Node| n.attribute("fill").is_some_and(|f| f.starts_with("url(#figure-"));
            assert_eq!(svg.descendants().filter(hatched).count(), points);
        }
    }
    let tables = page.descendants().filter(|n| class(n) == "table");
    for table in tables {
        let heads: Vec<String> =
            table.descendants().filter(|n| n.attribute("scope") == Some("col")).map(words).collect();
        for row in table.descendants().filter(|n| n.has_tag_name("tr")).skip(1) {
            for (cell, head) in row.children().zip(&heads).filter(|(cell, _)| class(cell) == "n") {
                let text = words(cell) + head;
                assert!(["emulated", "published", "computed"].iter().any(|o| text.contains(o)), "{text}");
            }
        }
    }
}

#[test]
fn every_claim_shows_its_verdict_why_and_what_the_verdict_means() {
    let findings = fixture::example();
    let (page, text, shown) = (plain(&page(&findings)), markdown(&findings), terminal(&findings, 160, false));
    let verdicts = [
        "reproduced",
        "direction only",
        "not reproduced",
        "inconclusive",
        "not comparable",
        "calibration",
        "not run",
    ];
    for (claim, verdict) in findings.claims.iter().zip(verdicts) {
        assert!(page.contains(&claim.why.replace('\'', "&#39;")), "{}", claim.name);
        assert!(page.contains(&format!("</span> {verdict}</p>")), "{verdict}");
        assert!(page.contains(&format!("</span> {verdict}</dt>")), "legend of {verdict}");
        // What was not run is a number there.
        if verdict != "not run" {
            assert!(text.contains(&format!("| **{verdict}** |")), "{verdict}");
            assert!(text.contains(&format!("- **{verdict}**: ")), "legend of {verdict}");
        }
        assert!(shown.contains(&format!(" {verdict}: ")), "legend of {verdict}");
    }
    assert!(page.contains("2 of 4 were fitted to published results"));
    assert_eq!(page.matches(r#"<span class="badge aside">calibration</span>"#).count(), 2);
    assert_eq!(text.matches("**(calibration)**").count(), 2);
}

#[test]
fn what_is_missing_is_left_out_or_named() {
    let findings = fixture::empty();
    let page = page(&findings);
    assert!(page.contains(r#"<p class="badge open">undecided</p>"#));
    assert!(page.contains("not measured: no equal cells were compared"));
    for absent in ["id=\"claims\"", "id=\"figures\"", "id=\"warnings\"", "class=\"command\""] {
        assert!(!page.contains(absent), "{absent}");
    }
    assert!(markdown(&findings).contains("**Undecided.**"));
    assert!(terminal(&findings, 80, false).starts_with("undecided\n"));

    let mut findings = fixture::example();
    findings.figures.truncate(1);
    findings.figures[0].series.truncate(1);
    findings.figures[0].series[0].points.truncate(2);
    findings.figures[0].series[0].points[1].y.value = 0.0;
    let one = html(&findings);
    assert!(one.contains("One value has no place on these axes"), "zero has no logarithm");
    findings.figures[0].series[0].points[0].y.value = f64::NAN;
    assert!(html(&findings).contains("There is no value to draw."));
}

#[test]
fn a_noise_floor_has_its_metric_and_cells_and_the_detectable_effects() {
    let findings = fixture::example();
    let floor = "run time: equal cells differ by 1.2 % at most (95 % bound after 24 blocks; measured on: Graph analytics on microblade, 6 slaves, twice)";
    let detectable = "run time: effects of 3.1 % and more to 4.4 % and more, depending on the comparison, in 8 of 10 such runs";
    let none =
        "bandwidth: not measured, since no equal cells were compared (A/A); a direction counts beyond 0.5 %";
    let page = page(&findings);
    let page = words(Document::parse(&page).expect("well-formed").root());
    let shown = terminal(&findings, 200, false);
    for expected in [floor, detectable, none, "bandwidth: effects of 0.6 % and more, in 8 of 10 such runs"] {
        assert!(page.contains(expected), "{expected}");
        assert!(shown.contains(expected), "{expected}: {shown}");
        assert!(markdown(&findings).contains(expected), "{expected}");
    }
    assert_eq!(page.matches("detectable from 3.1 %").count(), findings.comparisons.len());
}

#[test]
fn names_cannot_bring_markup() {
    let evil = r#"</style></script><script>alert(1)</script><img src=x onerror='alert(1)'>"#;
    let findings = hostile(evil);
    let page = page(&findings);
    let parsed = Document::parse(&page).expect("well-formed");
    for node in parsed.descendants().filter(Node::is_element) {
        assert!(!["script", "img", "iframe", "style", "object", "form"].contains(&node.tag_name().name()));
        assert!(node.attributes().all(|a| !a.name().starts_with("on")));
    }
    assert!(words(parsed.root()).contains(evil));
    let mut ids: Vec<&str> = parsed.descendants().filter_map(|n| n.attribute("id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "ids are unique");
    let text = markdown(&findings);
    let bare = text.lines().filter(|line| !line.starts_with("crosstalk") && !line.contains("crosstalk run"));
    assert!(
        bare.clone().count() > 50
            && bare.clone().all(|line| !line.contains("<script") && !line.contains("<img"))
    );
    assert!(!terminal(&hostile("\u{1b}[2J\u{7}"), 80, false).contains('\u{1b}'));
}

#[test]
fn nothing_on_the_page_points_anywhere_else() {
    let page = html(&fixture::example()).replace("xmlns='http://www.w3.org/2000/svg'", "");
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none';"));
    assert!(page.contains("script-src 'sha256-") && !page.contains("script-src 'unsafe"));
    for foreign in ["http:", "https:", "//www", "src=", "@import", "@font-face"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let addresses = page.match_indices("url(").map(|(at, _)| &page[at + 4..at + 5]);
    assert!(addresses.clone().count() > 0 && addresses.clone().all(|first| first == "#"));
    let links = page.match_indices("href=\"").map(|(at, _)| &page[at + 6..at + 10]);
    assert!(links.clone().all(|start| start.starts_with('#') || start == "data"));
}

#[test]
fn markdown_is_ascii_and_its_tables_are_square() {
    let text = markdown(&fixture::example());
    assert!(text.is_ascii());
    let mut columns = 0;
    let mut tables = 0;
    for line in text.lines() {
        let now = if line.starts_with('|') { line.replace("\\|", "").matches('|').count() } else { 0 };
        if now > 0 && columns > 0 {
            assert_eq!(now, columns, "{line}");
        }
        tables += usize::from(now > 0 && columns == 0);
        columns = now;
    }
    assert_eq!(tables, 14, "comparisons, claims, nine figures, two tables, cells");
    assert!(text.contains("| 2 | 1.66 s (1.61-1.71) |"), "the scaling figure's values");
    assert!(text.contains("| 2 slaves, microblade |"), "a bar of the stacked figure");
    let point = text.lines().find(|line| line.starts_with("| quota 25% |")).expect("a point has a row");
    assert!(point.contains("0.49 cores (0.") && point.ends_with("| dominated |"), "{point}");
}

#[test]
fn the_terminal_report_fits_any_terminal() {
    let findings = fixture::example();
    for width in 40..=200 {
        let shown = terminal(&findings, width, false);
        for line in shown.lines() {
            assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
        for verdict in ["✓ reproduced", "≠ not comparable", "calibration"] {
            assert!(shown.contains(verdict) || width < 60, "{verdict} at {width}");
        }
        assert!(!shown.contains("\n\n\n"), "no double blank lines");
    }
    let coloured = terminal(&findings, 100, true);
    assert!(coloured.contains("\u{1b}[32m✓ reproduced\u{1b}[0m"));
    assert_eq!(uncoloured(&coloured), terminal(&findings, 100, false));
}

fn uncoloured(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_string();
    first + &pieces.map(|piece| piece.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

#[test]
fn a_broken_command_joins_again_in_a_shell() {
    let findings = fixture::example();
    let shown = terminal(&findings, 40, false);
    assert!(shown.contains("crosstalk run kosmos --quick --seed 7 \\\n--set graph.scale=18\n"), "{shown}");
}
