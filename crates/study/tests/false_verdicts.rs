//! Whole studies of equal cells through the whole analysis: comparisons, claims
//! of every kind, a factor that is optimised away. `stats` proves its procedure
//! by simulation; this holds what `analyse` makes of it to the same bound.

use crate::synthetic::{is, planned_study};
use crosstalk_core::value::Levels;
use crosstalk_stats::proportion;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "Nothing differs"
    looks = [12, 24]
    [experiment.graph]
    work.rank = { kind = "pagerank", slaves = "$slaves" }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-srio"], slaves = [1, 2, 4] }
    compare = { factor = "system", base = "microblade" }
    [claim.ratio]
    statement = "More slaves are faster"
    experiment = "graph"
    ratio = { metric = "completion_time", of = { slaves = 4 }, to = { slaves = 1 } }
    expect = "< 1"
    [claim.trend]
    statement = "Time grows with slaves"
    experiment = "graph"
    where = { system = "microblade" }
    trend = { metric = "completion_time", along = "slaves" }
    expect = "> 0"
    [claim.order]
    statement = "Each step takes longer"
    experiment = "graph"
    where = { system = "kosmos-srio" }
    order = { metric = "completion_time", factor = "slaves", ascending = [1, 2, 4] }
    [claim.peak]
    statement = "It peaks at two slaves"
    experiment = "graph"
    where = { system = "microblade" }
    peak = { metric = "completion_time", along = "slaves", among = [2] }
    [claim.correlation]
    statement = "Who takes longer gains less: both numbers have KOSMOS's time in them"
    experiment = "graph"
    correlation = { x = "completion_time", y = "completion_time", ratio = { of = { system = "microblade" }, to = { system = "kosmos-srio" } } }
    expect = "< 0"
"#;

const STUDIES: u64 = 400;

/// A direction was found, or a claim that is false called true.
fn errs(findings: &Findings) -> bool {
    let differs = |v| matches!(v, ComparisonVerdict::Better | ComparisonVerdict::Worse);
    findings.comparisons.iter().any(|c| differs(c.verdict))
        || findings.claims.iter().any(|c| c.verdict == ClaimVerdict::Reproduced)
}

#[test]
fn at_most_one_study_in_twenty_has_a_false_verdict() {
    let planned = planned_study(STUDY);
    let wrong = (0..STUDIES)
        .filter(|seed| errs(&planned.findings(&planned.run(24, 0.04, 1000 + seed, &|_, _, _| 1.0))))
        .count() as u64;
    let share = proportion::estimate(wrong, STUDIES, 0.05).expect("studies were run");
    eprintln!("false verdicts in {wrong} of {STUDIES} studies, at most {:.1} %", 100.0 * share.high);
    assert!(share.high <= 0.065, "{share:?}");
}

#[test]
fn the_count_notices_a_difference() {
    let planned = planned_study(STUDY);
    let slower = |levels: &Levels| if is(levels, "system", "kosmos-srio") { 1.1 } else { 1.0 };
    let found =
        (0..20).filter(|seed| errs(&planned.findings(&planned.run(24, 0.04, *seed, &|_, l, _| slower(l)))));
    assert!(found.count() >= 18);
}
