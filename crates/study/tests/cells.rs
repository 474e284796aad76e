//! Studies that compare nothing: their cells have a table, and rows in exports.

use crate::synthetic::{is, planned_study};
use crosstalk_core::record::Origin;
use crosstalk_study::findings::TableCell;
use crosstalk_study::row::rows;

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    name = "unasked"
    title = "Round trips"
    looks = [6]
    [experiment.trips]
    work.s = { kind = "latency", transport = "$transport", size = "$size" }
    conditions.fabric = "none"
    factors = { size = ["64 B", "1 KiB"], transport = ["tcp", "udp"] }
"#;

#[test]
fn a_study_without_comparison_or_claim_has_a_table_of_its_cells() {
    let planned = planned_study(STUDY);
    let run =
        planned.run(6, 0.001, 1, &|_, levels, _| if is(levels, "transport", "udp") { 2e-5 } else { 1e-5 });
    let findings = planned.findings(&run);
    assert_eq!(findings.headline.text, "unasked: 4 of 4 cells measured; nothing was compared");
    let [table] = &findings.tables[..] else { panic!("one table, found {:?}", findings.tables) };
    assert_eq!(table.columns, ["size", "transport", "round trip"]);
    let row = |row: &Vec<TableCell>| match &row[..] {
        [TableCell::Text(size), TableCell::Text(transport), TableCell::Number { unit, estimate, .. }] => {
            assert!(unit == "s" && estimate.value > 0.0, "{row:?}");
            (size.clone(), transport.clone())
        }
        other => panic!("two levels and a number, found {other:?}"),
    };
    let levels: Vec<(String, String)> = table.rows.iter().map(row).collect();
    let each = [("64 B", "tcp"), ("64 B", "udp"), ("1 KiB", "tcp"), ("1 KiB", "udp")];
    assert_eq!(levels, each.map(|(size, transport)| (size.to_string(), transport.to_string())));
    let compared = planned_study(&format!("{STUDY}compare = {{ factor = \"transport\", base = \"tcp\" }}\n"));
    assert!(compared.findings(&run).tables.is_empty(), "a comparison shows its numbers");
}

#[test]
fn exports_have_every_metric_that_can_be_better_with_its_origin() {
    let planned = planned_study(STUDY);
    let run = planned.run(6, 0.001, 1, &|_, _, _| 1e-5);
    let rows = rows(&planned.study, &planned.plan, &run);
    let metrics: Vec<&str> = rows.iter().map(|row| row.metric.as_str()).collect();
    let each = ["round_trip", "one_way", "unexplained"].map(|metric| [metric; 4]).concat();
    assert_eq!(metrics, each, "the deciding metric comes first");
    assert!(rows.iter().all(|row| row.origin == Some(Origin::Measured)));
    let job = STUDY
        .replace("\"latency\", transport", "\"command\", argv")
        .replace(", size = \"$size\"", ", nodes = 1");
    let job = planned_study(&job.replace("size = [\"64 B\", \"1 KiB\"], ", "").replace("transport", "argv"));
    let run = job.run(6, 0.001, 1, &|_, _, _| 1.0);
    let rows = crosstalk_study::row::rows(&job.study, &job.plan, &run);
    assert!(rows.len() == 2 && rows.iter().all(|row| row.metric == "run_time"), "as hyperfine: {rows:?}");
}
