//! Figures and tables, with published values.

use crate::synthetic::graph::graph;
use crate::synthetic::{is, number, planned_study};
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::value::Levels;
use crosstalk_study::findings::{FigureKind, Scale, TableCell};

#[test]
fn figures_show_published_values_as_series_of_their_own() {
    let (planned, run) = graph(12);
    let findings = planned.findings(&run);
    let names: Vec<&str> = findings.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["split", "split-by-node", "relative", "times"], "in the order asked for");

    let split = &findings.figures[0];
    assert_eq!((split.kind, split.y.unit.as_str(), split.series.len()), (FigureKind::Stacked, "s", 4));
    let wait =
        split.series.iter().find(|s| s.group == "kosmos-srio" && s.name == "waiting").expect("is drawn");
    assert!((wait.points[0].y.value - 0.2).abs() < 0.1, "at the busy node, not the idle one: {wait:?}");

    let relative = &findings.figures[2];
    assert_eq!((relative.kind, relative.y.unit.as_str()), (FigureKind::Bars, "ratio"));
    let published: Vec<_> = relative.series.iter().filter(|s| s.origin == Origin::Published).collect();
    assert_eq!((published.len(), published[0].name.as_str()), (1, "microblade"));
    let values: Vec<f64> = published[0].points.iter().map(|p| (p.y.value * 1000.0).round()).collect();
    assert_eq!(values, [1187.0, 1258.0], "changes in percent are ratios");

    let times = &findings.figures[3];
    assert_eq!((times.x.scale, times.y.scale), (Scale::Log, Scale::Log));
    let own = times
        .series
        .iter()
        .find(|s| s.name == "microblade" && s.origin == Origin::Measured)
        .expect("is drawn");
    assert!((own.points[1].y.value - 2.0 / 1.2).abs() < 0.05 && own.points[1].x == Some(2.0), "{own:?}");
    let printed = times.series.iter().find(|s| s.name == "microblade" && s.origin == Origin::Published);
    assert!(
        (printed.expect("is drawn").points[1].y.value - 731.0 / 581.0).abs() < 1e-9,
        "over that of KOSMOS"
    );
}

#[test]
fn every_node_has_a_bar_with_all_parts() {
    let (planned, mut run) = graph(12);
    // One node spills, in one block only.
    let spilt = run.attempts.iter_mut().find(|a| is(&a.cell.levels, "system", "microblade")).expect("is run");
    assert_eq!(number(&spilt.cell.levels, "slaves"), 1.0);
    spilt.readings.push(Reading::value("time_spill", 12.0, Origin::Measured).label("node", 1));
    let findings = planned.findings(&run);
    let figure = &findings.figures[1];
    assert_eq!((figure.kind, figure.x.label.as_str()), (FigureKind::Stacked, "system"));
    let bars: Vec<(&str, &str)> = figure.series.iter().map(|s| (s.group.as_str(), s.name.as_str())).collect();
    let expected = [
        ("master", "computing"),
        ("master", "waiting"),
        ("slave 1", "computing"),
        ("slave 1", "spilling"),
        ("slave 1", "waiting"),
    ];
    assert_eq!(bars, expected);
    let at = |bar: usize, place: usize| &figure.series[bar].points[place];
    assert_eq!((at(0, 0).label.as_str(), at(0, 1).label.as_str()), ("microblade", "kosmos-srio"));
    assert!((at(0, 0).y.value - 0.1).abs() < 0.05, "the master computes a tenth: {:?}", at(0, 0));
    assert!((at(2, 0).y.value - 1.0).abs() < 0.4, "as the slave does: {:?}", at(2, 0));
    assert!((at(4, 1).y.value - 0.2).abs() < 0.1, "{:?}", at(4, 1));
    let spilling = &figure.series[3].points;
    assert_eq!((spilling.len(), spilling[0].y.n), (1, 12), "where none is reported, none was spilt");
    assert!(spilling[0].y.value < 1e-9, "in eleven of twelve blocks: {spilling:?}");
}

#[test]
fn nodes_of_work_without_a_master_go_by_number() {
    let text = r#"
        schema = "crosstalk.study/1"
        name = "job"
        title = "Job"
        looks = [12]
        [experiment.command]
        work.command = { kind = "command", argv = ["job"], nodes = 2 }
        factors = { fabric = ["ethernet-1g", "ethernet-10g"] }
        conditions.fabric = "$fabric"
        [figure.nodes]
        title = "Nodes"
        experiment = "command"
        kind = "nodes"
        metric = "time"
        x = "fabric"
    "#;
    let planned = planned_study(text);
    let mut run = planned.run(1, 0.01, 5, &|_, _, _| 1.0);
    for attempt in &mut run.attempts {
        let reported =
            [10, 9, 2].map(|node| Reading::value("time_compute", 1.0, Origin::Measured).label("node", node));
        attempt.readings.retain(|reading| !reading.metric.starts_with("time_"));
        attempt.readings.extend(reported);
    }
    let findings = planned.findings(&run);
    let bars: Vec<&str> = findings.figures[0].series.iter().map(|s| s.group.as_str()).collect();
    assert_eq!(bars, ["node 2", "node 9", "node 10"], "in the order of their numbers");
}

#[test]
fn tables_name_what_was_not_run() {
    let (mut planned, run) = graph(12);
    let cells = &mut planned.plan.experiments[0].cells;
    cells.retain(|cell| {
        !(is(&cell.id.levels, "system", "kosmos-srio") && number(&cell.id.levels, "slaves") == 2.0)
    });
    let findings = planned.findings(&run);
    let table = &findings.tables[0];
    assert_eq!(
        table.columns,
        ["system", "slaves 1", "slaves 1, published", "slaves 2", "slaves 2, published"]
    );
    let row = table.rows.iter().find(|r| r[0] == TableCell::Text("kosmos-srio".into())).expect("has a row");
    assert!(matches!(&row[1], TableCell::Number { unit, origin: Origin::Measured, .. } if unit == "s"));
    assert_eq!(row[3], TableCell::Text("not run".into()));
    assert!(
        findings.warnings.iter().any(|w| w.starts_with("12 attempts of cells that the plan does not have"))
    );
}

/// A job on two fabrics with one, two or four nodes.
const JOBS: &str = r#"
    schema = "crosstalk.study/1"
    name = "jobs"
    title = "Jobs"
    looks = [12]
    [experiment.job]
    work.job = { kind = "command", argv = ["job"], nodes = "$nodes" }
    conditions.fabric = "$fabric"
    factors = { fabric = ["ethernet-1g", "ethernet-10g"], nodes = [1, 2, 4] }
    [figure.lines]
    title = "Lines"
    order = 1
    experiment = "job"
    kind = "lines"
    metric = "run_time"
    x = "fabric"
    series = "nodes"
    [figure.trade]
    title = "Trade"
    experiment = "job"
    kind = "frontier"
    metric = "run_time"
    x = "time_wait"
    series = "nodes"
    where = { fabric = "ethernet-1g" }
    relative_to = { nodes = 1 }
    [table.all]
    title = "All"
    experiment = "job"
    rows = ["fabric", "nodes"]
    column = [
        { title = "seconds", metric = "run_time" },
        { title = "over that of one", metric = "run_time", relative_to = { nodes = 1 } },
    ]
"#;

#[test]
fn a_frontier_is_what_no_other_level_beats_in_both() {
    // One node is short but waits long, four the other way; two are worse than four in both.
    let planned = planned_study(JOBS);
    let truth = |_: &str, levels: &Levels, metric: &str| match (number(levels, "nodes") as i64, metric) {
        (1, "run_time") => 1.0,
        (1, _) => 3.0,
        (2, "run_time") => 5.0,
        (2, _) => 2.5,
        (_, "run_time") => 4.0,
        _ => 1.0,
    };
    let findings = planned.findings(&planned.run(12, 0.01, 3, &truth));
    let figure = &findings.figures[0];
    assert_eq!((figure.kind, figure.by.as_str()), (FigureKind::Frontier, "nodes"));
    assert_eq!((figure.x.label.as_str(), figure.x.unit.as_str()), ("time wait", "s"));
    assert_eq!((figure.x.scale, figure.y.unit.as_str()), (Scale::Linear, "ratio"));
    let names = |place: usize| {
        let points = figure.series[place].points.iter();
        points.map(|point| point.label.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((figure.series[0].name.as_str(), names(0)), ("frontier", vec!["4", "1"]), "by what is across");
    assert_eq!((figure.series[1].name.as_str(), names(1)), ("dominated", vec!["2"]));
    let four = &figure.series[0].points[0];
    assert!((four.y.value - 4.0).abs() < 0.1 && (four.x.expect("is across") - 1.0).abs() < 0.3, "{four:?}");
    let lines: Vec<&str> = findings.figures[1].series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(lines, ["nodes 1", "nodes 2", "nodes 4"], "a number has its factor's name");
    assert!(four.x_interval.is_some_and(|(low, high)| low < 1.0 && high > 1.0), "{four:?}");
}

/// The jobs, with the gain over one node drawn against the waiting of one.
fn gains() -> String {
    JOBS.replace("kind = \"frontier\"", "kind = \"fit\"")
        .replace("series = \"nodes\"\n    where = { fabric = \"ethernet-1g\" }\n    relative_to = { nodes = 1 }",
            "series = [\"nodes\"]\n    where = { fabric = \"ethernet-10g\" }\n    relative_to = { fabric = \"ethernet-1g\" }")
}

#[test]
fn a_fit_is_the_line_of_a_gain_against_what_its_base_spends() {
    // Across, 1, 2 and 4 on the slower fabric; upward 1 + x/2, but two nodes lie above it.
    let planned = planned_study(&gains());
    let truth = |_: &str, levels: &Levels, metric: &str| {
        let nodes = number(levels, "nodes");
        let fast = is(levels, "fabric", "ethernet-10g");
        match metric {
            "run_time" if fast => 1.0 + nodes / 2.0 + if nodes == 2.0 { 1.0 } else { 0.0 },
            "run_time" => 1.0,
            _ if fast => 77.0,
            _ => nodes,
        }
    };
    let findings = planned.findings(&planned.run(12, 0.0, 3, &truth));
    let figure = &findings.figures[0];
    assert_eq!((figure.kind, figure.by.as_str()), (FigureKind::Fit, "nodes"));
    let names: Vec<_> = figure.series.iter().map(|series| (series.name.as_str(), series.origin)).collect();
    assert_eq!(names, [("fitted line", Origin::Computed), ("found", Origin::Measured)]);
    let across: Vec<_> = figure.series[1].points.iter().map(|point| point.x.expect("is across")).collect();
    assert!(
        across.iter().zip([1.0, 2.0, 4.0]).all(|(found, truth)| (found / truth - 1.0).abs() < 0.05),
        "{across:?}"
    );
    // Slopes between points: 1.5, 0.5 and 0. The middle one is of the outer points; so is the intercept.
    let fitted: Vec<_> = figure.series[0].points.iter().map(|point| point.y.value).collect();
    assert!(
        fitted.iter().zip([1.5, 2.0, 3.0]).all(|(found, truth)| (found / truth - 1.0).abs() < 0.05),
        "{fitted:?}"
    );
    assert!(figure.caption.contains("too few points for an interval"), "{}", figure.caption);
    let furthest = figure.caption.split("Above or below it: ").nth(1).expect("are told");
    assert!(furthest.starts_with("2 +1.0") || furthest.starts_with("2 +0.9"), "{furthest}");
}

#[test]
fn several_factors_make_the_points_of_a_frontier_and_of_nothing_else() {
    let both = |kind: &str| {
        JOBS.replacen("series = \"nodes\"\n    where", "SERIES\n    where", 1)
            .replace("SERIES", "series = [\"fabric\", \"nodes\"]")
            .replace("where = { fabric = \"ethernet-1g\" }", "")
            .replace("kind = \"frontier\"", &format!("kind = \"{kind}\""))
    };
    let findings = {
        let planned = planned_study(&both("frontier"));
        planned.findings(&planned.run(12, 0.01, 3, &|_, levels, _| number(levels, "nodes")))
    };
    let figure = &findings.figures[0];
    assert_eq!(figure.by, "fabric, nodes");
    let mut names: Vec<&str> =
        figure.series.iter().flat_map(|series| &series.points).map(|point| point.label.as_str()).collect();
    names.sort_unstable();
    let all = ["10g, 1", "10g, 2", "10g, 4", "1g, 1", "1g, 2", "1g, 4"];
    assert_eq!(names, all.map(|name| format!("ethernet-{name}")));
}

#[test]
fn rows_are_all_combinations_and_a_column_may_be_a_ratio() {
    let planned = planned_study(JOBS);
    let findings = planned.findings(&planned.run(12, 0.01, 3, &|_, levels, _| number(levels, "nodes")));
    let table = &findings.tables[0];
    assert_eq!(table.columns, ["fabric", "nodes", "seconds", "over that of one"]);
    let names: Vec<_> = table.rows.iter().map(|row| (&row[0], &row[1])).collect();
    let text = |words: &str| TableCell::Text(words.into());
    assert_eq!(names.len(), 6);
    assert_eq!(names[1], (&text("ethernet-1g"), &text("2")));
    assert_eq!(names[5], (&text("ethernet-10g"), &text("4")));
    assert!(matches!(&table.rows[5][2], TableCell::Number { unit, .. } if unit == "s"));
    let TableCell::Number { estimate, unit, .. } = &table.rows[5][3] else { panic!("{:?}", table.rows[5]) };
    assert!((estimate.value - 4.0).abs() < 0.1 && unit == "ratio", "{estimate:?}");
}

#[test]
fn lines_with_one_position_are_bars_and_an_axis_is_worded_by_its_title() {
    let text = |sizes: &str, title: &str| {
        format!(
            r#"
            schema = "crosstalk.study/1"
            title = "T"
            looks = [6]
            [experiment.e]
            work.s = {{ kind = "stream", size = "$size" }}
            conditions = {{ system = "$system", boards = "many" }}
            factors = {{ size = {sizes}, system = ["microblade", "kosmos-srio"] }}
            [figure.f]
            title = "{title}"
            experiment = "e"
            kind = "lines"
            metric = "bandwidth"
            x = "size"
            series = "system"
            log = ["x", "y"]
            relative_to = {{ system = "microblade" }}
            "#
        )
    };
    let drawn = |sizes: &str, title: &str| {
        let planned = planned_study(&text(sizes, title));
        let mut findings = planned.findings(&planned.run(6, 0.001, 1, &|_, _, _| 1e9));
        let figure = findings.figures.remove(0);
        (figure.kind, figure.x.scale, figure.y.scale, figure.y.label)
    };
    let (kind, x, y, label) = drawn("[64]", "Gain of the network");
    assert_eq!((kind, x, y), (FigureKind::Bars, Scale::Category, Scale::Linear), "one point is no line");
    assert_eq!(label, "gain over system microblade");
    let (kind, x, y, label) = drawn("[64, 128]", "Bandwidth");
    assert_eq!((kind, x, y), (FigureKind::Lines, Scale::Log, Scale::Log));
    assert_eq!(label, "bandwidth over that of system microblade");
}
