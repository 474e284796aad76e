//! What is drawn and tabulated, beside what was published.

mod mock;
mod synthetic;

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{FigureKind, Scale, TableCell};
use synthetic::graph::graph;
use synthetic::{is, number};

#[test]
fn figures_stand_beside_what_was_published() {
    let (made, run) = graph(12);
    let findings = made.findings(&run);
    let names: Vec<&str> = findings.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["split", "relative", "times"], "in the order asked for");

    let split = &findings.figures[0];
    assert_eq!((split.kind, split.y.unit.as_str(), split.series.len()), (FigureKind::Stacked, "s", 4));
    let wait = split.series.iter().find(|s| s.group == "kosmos-srio" && s.name == "wait").expect("is drawn");
    assert!((wait.points[0].y.value - 0.2).abs() < 0.1, "at the busy node, not the idle one: {wait:?}");

    let relative = &findings.figures[1];
    assert_eq!((relative.kind, relative.y.unit.as_str()), (FigureKind::Bars, "ratio"));
    let published: Vec<_> = relative.series.iter().filter(|s| s.origin == Origin::Published).collect();
    assert_eq!((published.len(), published[0].name.as_str()), (1, "microblade"));
    let values: Vec<f64> = published[0].points.iter().map(|p| (p.y.value * 1000.0).round()).collect();
    assert_eq!(values, [1187.0, 1258.0], "changes in percent are ratios");

    let times = &findings.figures[2];
    assert_eq!((times.x.scale, times.y.scale), (Scale::Log, Scale::Log));
    let own = times
        .series
        .iter()
        .find(|s| s.name == "microblade" && s.origin == Origin::Emulated)
        .expect("is drawn");
    assert!((own.points[1].y.value - 2.0 / 1.2).abs() < 0.05 && own.points[1].x == Some(2.0), "{own:?}");
    let printed = times.series.iter().find(|s| s.name == "microblade" && s.origin == Origin::Published);
    assert!(
        (printed.expect("is drawn").points[1].y.value - 731.0 / 581.0).abs() < 1e-9,
        "over that of KOSMOS"
    );
}

#[test]
fn tables_say_what_was_not_run() {
    let (mut made, run) = graph(12);
    let cells = &mut made.plan.experiments[0].cells;
    cells
        .retain(|cell| !(is(&cell.levels, "system", "kosmos-srio") && number(&cell.levels, "slaves") == 2.0));
    let findings = made.findings(&run);
    let table = &findings.tables[0];
    assert_eq!(
        table.columns,
        ["system", "slaves 1", "slaves 1, published", "slaves 2", "slaves 2, published"]
    );
    let row = table.rows.iter().find(|r| r[0] == TableCell::Text("kosmos-srio".into())).expect("has a row");
    assert!(matches!(&row[1], TableCell::Number { unit, origin: Origin::Emulated, .. } if unit == "s"));
    assert_eq!(row[3], TableCell::Text("not run".into()));
    assert!(
        findings.warnings.iter().any(|w| w.starts_with("12 attempts of cells that the plan does not have"))
    );
}
