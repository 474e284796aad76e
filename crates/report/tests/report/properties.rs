//! Whatever is found, it is rendered: no panic, well-formed, in bounds.

use crosstalk_core::record::{Better, Origin};
use crosstalk_report::{html, markdown, terminal};
use crosstalk_study::findings::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use roxmltree::Document;
use unicode_width::UnicodeWidthStr;

use crate::fixture;

fn number() -> impl Strategy<Value = f64> {
    let odd = [
        0.0,
        -0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    prop_oneof![4 => 0.001f64..1e9, 1 => any::<f64>(), 2 => proptest::sample::select(odd.to_vec())]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{0,8}",
        2 => "\\PC{0,16}",
        1 => any::<Vec<char>>().prop_map(|chars| chars.into_iter().take(20).collect()),
        1 => Just("x".repeat(400)),
        1 => Just("日本語のとても長い名前 ".repeat(9)),
        1 => Just("</script><script>alert(1)</script>|`*_\u{1b}[31m".to_string()),
    ]
}

fn unit() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec!["s", "B", "bit/s", "ratio", "%", "Hz", ""]).prop_map(String::from),
        text()
    ]
}

fn estimate() -> impl Strategy<Value = Estimate> {
    (number(), proptest::option::of((number(), number())), 0usize..100)
        .prop_map(|(value, interval, n)| Estimate { value, interval, n })
}

fn origin() -> impl Strategy<Value = Origin> {
    use Origin::*;
    proptest::sample::select(vec![Measured, Emulated, Simulated, Predicted, Computed, Published])
}

fn axis() -> impl Strategy<Value = Axis> {
    let scale = proptest::sample::select(vec![Scale::Category, Scale::Linear, Scale::Log]);
    (text(), unit(), scale).prop_map(|(label, unit, scale)| Axis { label, unit, scale })
}

fn figure() -> impl Strategy<Value = Figure> {
    let point =
        (proptest::option::of(number()), proptest::option::of((number(), number())), text(), estimate())
            .prop_map(|(x, x_interval, label, y)| Point { x, x_interval, label, y });
    let series = (text(), text(), origin(), vec(point, 0..5))
        .prop_map(|(name, group, origin, points)| Series { name, group, origin, points });
    let kind = proptest::sample::select(vec![
        FigureKind::Lines,
        FigureKind::Bars,
        FigureKind::Stacked,
        FigureKind::Waterfall,
        FigureKind::Heat,
        FigureKind::Frontier,
        FigureKind::Fit,
    ]);
    let mark = (text(), number()).prop_map(|(name, x)| Mark { name, x });
    (text(), text(), kind, axis(), axis(), text(), vec(series, 0..5), vec(mark, 0..4)).prop_map(
        |(title, caption, kind, x, y, by, series, marks)| Figure {
            name: title.clone(),
            title,
            caption,
            kind,
            x,
            y,
            by,
            series,
            marks,
        },
    )
}

fn table() -> impl Strategy<Value = Table> {
    let cell = prop_oneof![
        (estimate(), unit(), origin()).prop_map(|(estimate, unit, origin)| TableCell::Number {
            estimate,
            unit,
            origin
        }),
        text().prop_map(TableCell::Text),
    ];
    (text(), vec(text(), 0..4), vec(vec(cell, 0..5), 0..4)).prop_map(|(title, columns, rows)| Table {
        name: title.clone(),
        caption: title.clone(),
        title,
        columns,
        rows,
    })
}

fn claim() -> impl Strategy<Value = ClaimFinding> {
    use ClaimVerdict::*;
    let verdicts =
        vec![Reproduced, DirectionOnly, NotReproduced, Inconclusive, NotComparable, Calibration, NotRun];
    let optional = || proptest::option::of(number());
    (
        text(),
        text(),
        proptest::sample::select(verdicts),
        proptest::option::of(estimate()),
        optional(),
        optional(),
        unit(),
        attribution(),
    )
        .prop_map(|(statement, why, verdict, found, published, margin, unit, attribution)| {
            ClaimFinding {
                name: why.clone(),
                statement,
                verdict,
                why,
                found,
                published,
                margin,
                size_agrees: margin.map(|margin| margin > 0.0),
                over_ranges: None,
                origins: Vec::new(),
                unit,
                quantity: String::new(),
                attribution,
            }
        })
}

fn attribution() -> impl Strategy<Value = Option<Attribution>> {
    let known = (text(), text(), number(), btree_map(text(), number(), 0..3)).prop_map(
        |(slower, text, extra, points)| Attribution {
            faster: slower.clone(),
            slower,
            extra,
            percents: points.clone(),
            points,
            shares: text.clone(),
            text,
        },
    );
    proptest::option::of(known)
}

fn comparison() -> impl Strategy<Value = Comparison> {
    (text(), text(), estimate(), attribution(), origin()).prop_map(
        |(base, other, ratio, attribution, origin)| Comparison {
            experiment: base.clone(),
            metric: other.clone(),
            better: Better::Lower,
            factor: String::new(),
            base,
            other,
            at: Default::default(),
            ratio,
            gain: ratio,
            verdict: ComparisonVerdict::Inconclusive,
            change: String::new(),
            margin: ratio.value,
            largest: None,
            over_ranges: None,
            values: Sides { base: None, other: None, unit: String::new() },
            detectable: Some(ratio.value),
            causes: Default::default(),
            attribution,
            origin,
        },
    )
}

prop_compose! {
    fn findings()(
        words in vec(text(), 6),
        numbers in (number(), number(), number(), number()),
        flags in any::<(bool, bool)>(),
        figures in vec(figure(), 0..4),
        tables in vec(table(), 0..3),
        claims in vec(claim(), 0..4),
        comparisons in vec(comparison(), 0..3),
    ) -> Findings {
        let mut findings = fixture::empty();
        findings.study = words[0].clone();
        findings.title = words[1].clone();
        findings.headline = Headline {
            text: words[2].clone(),
            context: words[1].clone(),
            bars: [(&words[4], numbers.0), (&words[5], numbers.1)]
                .map(|(label, value)| HeadlineBar {
                    label: label.clone(),
                    value: Estimate { value, interval: None, n: 3 },
                })
                .to_vec(),
            unit: words[0].clone(),
            decided: flags.0,
            command: words[3].clone(),
        };
        findings.run.quick = flags.1;
        findings.run.began = numbers.0;
        findings.run.seconds = numbers.1;
        findings.run.noise = vec![NoiseFloor {
            metric: words[0].clone(),
            cells: words[..2].to_vec(),
            blocks: 12,
            floor: Some(numbers.2),
            margin: numbers.2,
            comparisons: 2,
            detectable: Some((numbers.2, numbers.3)),
        }];
        findings.run.ended = words[4].clone();
        findings.warnings = words[4..].to_vec();
        Findings { figures, tables, claims, comparisons, ..findings }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_page_is_well_formed_and_draws_within_its_pictures(findings in findings()) {
        let page = html(&findings);
        let start = page.find("<style>").expect("a style");
        let end = page.find("</style>").expect("a style") + 8;
        let script = page.rfind("<script>").expect("a script");
        let after = page.rfind("</script>").expect("a script") + 9;
        let page = [&page[16..start], &page[end..script], &page[after..]].concat();
        let page = match Document::parse(&page) {
            Ok(page) => page,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        for svg in page.descendants().filter(|n| n.has_tag_name("svg")) {
            let view = svg.attribute("viewBox").expect("a view box");
            let view: Vec<f64> = view.split(' ').map(|v| v.parse().expect("a number")).collect();
            for node in svg.descendants() {
                for (name, limit) in [("x", 2), ("x1", 2), ("x2", 2), ("cx", 2), ("y", 3), ("y1", 3), ("y2", 3), ("cy", 3)] {
                    if let Some(value) = node.attribute(name) {
                        let value: f64 = value.parse().expect("a number");
                        prop_assert!(value >= -6.0 && value <= view[limit] + 6.0, "{name}={value} in {view:?}");
                    }
                }
                let path = node.attribute("d").unwrap_or("");
                prop_assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
            }
        }
        for (index, figure) in findings.figures.iter().enumerate() {
            let points: usize = figure.series.iter().map(|s| s.points.len()).sum();
            let id = format!("figure-{index}-wide");
            let svg = page.descendants().find(|n| n.attribute("id") == Some(&id));
            let drawn = svg.map_or(0, |svg| svg.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("mark "))).count());
            let figure = page.descendants().find(|n| n.attribute("id") == Some(&format!("figure-{index}"))).expect("the figure");
            let omitted = figure.descendants().find(|n| n.attribute("class") == Some("omitted")).and_then(|n| n.text());
            let omitted: usize = omitted.map_or(0, |t| if t.starts_with("One") { 1 } else { t.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0) });
            prop_assert!(svg.is_none() || drawn + omitted == points, "{drawn} drawn, {omitted} omitted of {points}");
        }
    }

    #[test]
    fn markdown_stays_ascii_and_the_terminal_in_its_width(findings in findings(), width in 0usize..220, colour: bool) {
        prop_assert!(markdown(&findings).is_ascii());
        terminal(&findings, width, colour);
        for line in terminal(&findings, width, false).lines() {
            prop_assert!(line.width() <= width.max(20), "{} > {width}: {line:?}", line.width());
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}
