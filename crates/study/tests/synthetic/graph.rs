//! A small study of PageRank with figures and a table, and a run of it.

use crosstalk_core::record::{Observation, Origin, Reading};
use crosstalk_study::samples::Run;

use super::{PlannedStudy, is, planned_study};

/// PageRank on two systems; on KOSMOS it waits less and computes the same.
pub const GRAPH: &str = r#"
    schema = "crosstalk.study/1"
    name = "graph"
    title = "Graph"
    looks = [12, 24]
    remark = ["A contradiction."]
    [headline]
    experiment = "graph"
    level = "kosmos-srio"
    subject = "PageRank"
    [experiment.graph]
    remark = ["Not as printed."]
    work.rank = { kind = "pagerank", slaves = "$slaves" }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-srio"], slaves = [1, 2] }
    compare = { factor = "system", base = "microblade" }
    [figure.split]
    title = "Split"
    experiment = "graph"
    kind = "split"
    metric = "time"
    x = "slaves"
    series = "system"
    [figure.split-by-node]
    title = "Split by node"
    experiment = "graph"
    kind = "nodes"
    metric = "time"
    x = "system"
    where = { slaves = 1 }
    [figure.relative]
    title = "Relative"
    order = 1
    experiment = "graph"
    kind = "bars"
    metric = "completion_time"
    x = "slaves"
    series = "system"
    relative_to = { system = "kosmos-srio" }
    published = "kosmos/graph-analytics/over-kosmos/{system}/{slaves}"
    [figure.times]
    title = "Times"
    order = 2
    experiment = "graph"
    kind = "lines"
    metric = "completion_time"
    x = "slaves"
    series = "system"
    log = ["x", "y"]
    relative_to = { system = "kosmos-srio" }
    published = "kosmos/graph-analytics/completion-time/{system}/{slaves}"
    published_as = { kosmos-srio = "kosmos" }
    [table.times]
    title = "Times"
    experiment = "graph"
    metric = "completion_time"
    rows = "system"
    columns = "slaves"
    published = "kosmos/graph-analytics/completion-time/{system}/{slaves}"
"#;

/// Completion 2 s: 1 s computing, 1 s waiting at the busiest node, and on KOSMOS 0.2 s of waiting.
pub fn graph(blocks: usize) -> (PlannedStudy, Run) {
    graph_and("", blocks)
}

/// The same with more in the study.
pub fn graph_and(more: &str, blocks: usize) -> (PlannedStudy, Run) {
    let planned = planned_study(&format!("{GRAPH}{more}"));
    let mut run = planned
        .run(blocks, 0.01, 11, &|_, levels, _| if is(levels, "system", "kosmos-srio") { 1.2 } else { 2.0 });
    for attempt in &mut run.attempts {
        attempt.readings.retain(|r| r.metric == "completion_time");
        let whole = match attempt.readings[0].observation {
            Observation::Value(v) => v,
            _ => panic!("is a value"),
        };
        let waited = if is(&attempt.cell.levels, "system", "kosmos-srio") { 0.2 / 1.2 } else { 0.5 };
        for (node, busy) in [(0, 0.1), (1, 1.0)] {
            let parts = [("time_compute", whole * (1.0 - waited) * busy), ("time_wait", whole * waited)];
            attempt.readings.extend(
                parts.map(|(metric, v)| Reading::value(metric, v, Origin::Measured).label("node", node)),
            );
        }
    }
    (planned, run)
}
