//! Whatever a journal holds, its analysis ends in time with findings that can be written and read. Equal cells are hardly
//! ever called different.

use crate::mock;
use crate::synthetic;

use crate::synthetic::{PlannedStudy, number, planned_study};
use crosstalk_core::record::{Observation, Origin, Reading, Status};
use crosstalk_study::decide;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use proptest::prelude::*;

fn study(sizes: usize, blocks: usize) -> PlannedStudy {
    let sizes: Vec<String> = (1..=sizes).map(|n| n.to_string()).collect();
    planned_study(&format!(
        r#"
        schema = "crosstalk.study/1"
        name = "robust"
        title = "Robust"
        looks = [{blocks}]
        [experiment.job]
        work.job = {{ kind = "pagerank", slaves = 2, iterations = "$size" }}
        conditions = {{ system = "$system", boards = "many" }}
        factors = {{ system = ["microblade", "kosmos-srio"], size = [{}] }}
        compare = {{ factor = "system", base = "microblade" }}
        [claim.ratio]
        statement = "Faster"
        experiment = "job"
        ratio = {{ metric = "completion_time", of = {{ system = "microblade" }}, to = {{ system = "kosmos-srio" }} }}
        published = 1.2
        margin = "5 %"
        [claim.trend]
        statement = "Scales"
        experiment = "job"
        trend = {{ metric = "completion_time", along = "size" }}
        expect = "< 0"
        [claim.peak]
        statement = "Peaks"
        experiment = "job"
        peak = {{ metric = "completion_time", along = "size", among = [1, 2] }}
        [claim.threshold]
        statement = "Takes long"
        experiment = "job"
        threshold = {{ metric = "completion_time" }}
        expect = "> 0.5"
        [claim.correlation]
        statement = "Go together"
        experiment = "job"
        correlation = {{ x = "time_wait", y = "completion_time" }}
        expect = "> 0"
        [figure.split]
        title = "Split"
        experiment = "job"
        kind = "split"
        metric = "time"
        x = "size"
        series = "system"
        [table.times]
        title = "Times"
        experiment = "job"
        metric = "completion_time"
        rows = "system"
        columns = "size"
        "#,
        sizes.join(", ")
    ))
}

/// The seconds that this thread has run: waiting for a processor that others have is not in them
/// (Documentation/scheduler/sched-stats.rst).
fn thread_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    stat.split_whitespace().next().and_then(|run| run.parse::<f64>().ok()).expect("a number") * 1e-9
}

/// A run of 48 blocks of two systems at so many sizes, with ten readings an attempt, and how long its analysis takes.
fn analysis(sizes: usize) -> impl Fn() -> f64 {
    let planned = study(sizes, 48);
    let mut run = planned.run(48, 0.02, 1, &|_, levels, _| 1.0 / number(levels, "size"));
    for attempt in &mut run.attempts {
        for node in 0..3 {
            attempt.readings.push(Reading::value("time_wait", 0.1, Origin::Measured).label("node", node));
            attempt.readings.push(Reading::value("time_compute", 0.1, Origin::Measured).label("node", node));
        }
    }
    assert_eq!((run.attempts.len(), run.attempts[0].readings.len()), (sizes * 2 * 48, 10));
    move || {
        let began = thread_seconds();
        let findings = planned.findings(&run);
        assert_eq!((findings.cells.len(), findings.comparisons.len()), (2 * sizes, sizes));
        thread_seconds() - began
    }
}

/// A quiet machine needs less than a second for the 200 cells, and a slow one is given five. Whatever the machine, the
/// time must not grow with the square of the cells, which would make the many 16 times as long.
#[test]
fn two_hundred_cells_take_seconds_and_less_than_eight_times_as_long_as_fifty() {
    let (few, many) = (analysis(25), analysis(100));
    let (few, many) =
        (0..3).fold((f64::INFINITY, f64::INFINITY), |least, _| (least.0.min(few()), least.1.min(many())));
    println!("50 cells analysed in {few:.2} s, 200 in {many:.2} s");
    assert!(many < 5.0 && many / few < 8.0, "{few} s and {many} s");
}

#[test]
fn equal_cells_are_hardly_ever_called_different() {
    let planned = study(4, 12);
    let wrong = (0..300)
        .filter(|seed| {
            let findings = planned.findings(&planned.run(12, 0.03, 1000 + seed, &|_, _, _| 1.0));
            let different =
                |v: ComparisonVerdict| matches!(v, ComparisonVerdict::Better | ComparisonVerdict::Worse);
            let reproduced =
                |name: &str| synthetic::claim(&findings, name).verdict == ClaimVerdict::Reproduced;
            findings.comparisons.iter().any(|c| different(c.verdict))
                || ["ratio", "trend", "peak", "correlation"].iter().any(|n| reproduced(n))
        })
        .count();
    // 5 % of 300 are 15; 25 is beyond it by 2.6 standard deviations.
    assert!(wrong <= 25, "{wrong} of 300 studies");
}

/// Something that may happen to an attempt on its way into the journal.
#[derive(Debug, Clone)]
enum Mishap {
    Drop,
    Twice,
    Fail,
    CutShort,
    Unlabelled(f64),
    Series(Vec<f64>),
    Silent,
    Elsewhere,
    Block(usize),
}

fn mishap() -> impl Strategy<Value = Mishap> {
    let odd = prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(0.0),
        Just(-1.0),
        Just(1e308),
        Just(1e-320),
        0.1f64..9.0
    ];
    prop_oneof![
        Just(Mishap::Drop),
        Just(Mishap::Twice),
        Just(Mishap::Fail),
        Just(Mishap::CutShort),
        odd.clone().prop_map(Mishap::Unlabelled),
        prop::collection::vec(odd, 0..120).prop_map(Mishap::Series),
        Just(Mishap::Silent),
        Just(Mishap::Elsewhere),
        (0usize..40).prop_map(Mishap::Block),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_run_panics_and_every_finding_can_be_written_and_read(
        blocks in 0usize..16,
        mishaps in prop::collection::vec((any::<prop::sample::Index>(), mishap()), 0..60),
    ) {
        let planned = study(3, 12);
        let mut run = planned.run(blocks, 0.02, 5, &|_, levels, _| 1.0 / number(levels, "size"));
        for (place, mishap) in mishaps {
            if run.attempts.is_empty() {
                break;
            }
            let place = place.index(run.attempts.len());
            let attempt = &mut run.attempts[place];
            match mishap {
                Mishap::Drop => { run.attempts.remove(place); }
                Mishap::Twice => { let again = attempt.clone(); run.attempts.push(again); }
                Mishap::Fail => attempt.status = Status::Failed,
                Mishap::CutShort => attempt.status = Status::Started,
                Mishap::Unlabelled(value) => attempt.readings.iter_mut().for_each(|r| r.observation = Observation::Value(value)),
                Mishap::Series(series) => attempt.readings.iter_mut().take(1).for_each(|r| r.observation = Observation::Series(series.clone())),
                Mishap::Silent => attempt.readings.clear(),
                Mishap::Elsewhere => attempt.cell.experiment = "another".into(),
                Mishap::Block(block) => attempt.block = block,
            }
        }
        let findings = planned.findings(&run);
        let text = serde_json::to_string(&findings).expect("writes");
        let read: Findings = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?;
        prop_assert_eq!(read.headline.text, findings.headline.text);
        let decision = decide(&planned.study, &mock::catalogues(), &planned.plan, &run, 0);
        prop_assert!(!decision.why.is_empty());
    }
}
