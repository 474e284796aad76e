//! The runner's logic, on nodes that are threads: order, failures, hangs,
//! interruptions, resuming.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::TestRun;
use crosstalk_core::record::{Line, Observation, Status};
use crosstalk_core::value::Value;
use crosstalk_lab::progress::{Event, Progress};
use crosstalk_lab::rundir::RunDir;

const TWO_CELLS: &str = r#"
    schema = "crosstalk.study/1"
    title = "Two cells"
    looks = [6]
    [experiment.e]
    work.scripted = { kind = "scripted", time = "$time" }
    factors = { time = [1.0, 1.5] }
    compare = { factor = "time", base = 1.0 }
"#;

/// Two cells, one of which does `does` on node 1.
fn troubled(does: &str) -> TestRun {
    TestRun::new(&format!(
        r#"
        schema = "crosstalk.study/1"
        title = "One cell in trouble"
        looks = [3]
        [experiment.e]
        work.scripted = {{ kind = "scripted", does = "$does", on = 1 }}
        factors = {{ does = ["well", "{does}"] }}
        "#
    ))
}

/// Renames the journal at the first attempt, so that it cannot be opened by its name again.
struct RenamingJournal {
    journal: PathBuf,
    analyses: usize,
}

impl Progress for RenamingJournal {
    fn event(&mut self, event: Event) {
        match event {
            Event::Attempt { .. } if self.journal.exists() => {
                std::fs::rename(&self.journal, self.journal.with_extension("hidden")).expect("moves");
            }
            Event::Look { .. } => self.analyses += 1,
            _ => {}
        }
    }
}

#[test]
fn an_interim_analysis_does_not_read_the_journal_again() {
    let run = TestRun::new(&TWO_CELLS.replace("looks = [6]", "looks = [2, 4, 6]"));
    let journal = run.dir().join("run/journal.ndjson");
    let mut progress = RenamingJournal { journal: journal.clone(), analyses: 0 };
    let ending = run.run_watched(0, &mut progress).expect("runs without the file's name");
    assert_eq!((ending.status, progress.analyses), (Status::Finished, 3));
    // The file has all attempts.
    std::fs::rename(journal.with_extension("hidden"), &journal).expect("moves back");
    let attempts =
        RunDir::open(&run.dir().join("run")).and_then(|dir| dir.read_run()).expect("reads").attempts;
    assert_eq!(attempts.len(), 2 * 6);
}

/// (status, try number, reason) of every ended attempt whose level of `factor` is `level`.
fn ended(run: &TestRun, factor: &str, level: &str) -> Vec<(Status, u32, String)> {
    run.journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Attempt { levels, status, try_number, reason, .. }
                if status != Status::Started && levels.get(factor) == Some(&Value::from(level)) =>
            {
                Some((status, try_number, reason.unwrap_or_default()))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_takes_every_cell_once_a_block_in_changing_order() {
    let run = TestRun::new(TWO_CELLS);
    let ending = run.run(0).expect("runs");
    assert_eq!(ending.status, Status::Finished);
    let mut orders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for line in run.journal() {
        if let Line::Attempt { block, cell, status: Status::Finished, .. } = line {
            orders.entry(block).or_default().push(cell);
        }
    }
    assert_eq!(orders.len(), 6);
    for order in orders.values() {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1]);
    }
    assert!(orders.values().any(|o| *o == [0, 1]) && orders.values().any(|o| *o == [1, 0]), "interleaved");
}

#[test]
fn the_journal_opens_with_the_run_and_closes_with_its_end() {
    let run = TestRun::new(TWO_CELLS);
    run.run(0).expect("runs");
    let journal = run.journal();
    assert!(matches!(&journal[0], Line::Run { schema, .. } if schema == "crosstalk.journal/3"));
    assert!(matches!(&journal[1], Line::Metric(m) if m.name == "run_time"));
    assert!(matches!(journal.last(), Some(Line::End { status: Status::Finished, .. })));
    let samples: Vec<f64> = journal
        .iter()
        .filter_map(|line| match line {
            Line::Sample { reading, .. } => match reading.observation {
                Observation::Value(v) => Some(v),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(samples.len(), 12);
    assert_eq!(samples.iter().filter(|v| **v == 1.5).count(), 6);
}

#[test]
fn a_failure_names_its_node_and_the_study_goes_on() {
    for (does, said) in [
        ("fail", "node 1: the disk is on fire"),
        ("panic", "a defect in crosstalk: a defect of the test"),
        ("refuse", "refused to get ready"),
    ] {
        let run = troubled(does);
        run.run(0).expect("continues");
        let failures = ended(&run, "does", does);
        assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
        for (status, _, reason) in failures {
            assert_eq!(status, Status::Failed);
            assert!(reason.contains(said), "{does}: {reason}");
        }
        let good = ended(&run, "does", "well");
        assert!(good.len() == 3 && good.iter().all(|(s, _, _)| *s == Status::Finished));
        let warned = run.events.lock().expect("not poisoned");
        assert!(warned.iter().any(|e| matches!(e, Event::Warning { text } if text.contains("given up"))));
    }
}

#[test]
fn a_hang_ends_at_the_deadline() {
    let run = troubled("hang");
    run.run(0).expect("continues");
    let failures = ended(&run, "does", "hang");
    assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
    assert!(failures.iter().all(|(s, _, r)| *s == Status::Failed && r.contains("not finished after")));
    assert_eq!(ended(&run, "does", "well").len(), 3);
}

#[test]
fn a_number_that_is_not_finite_fails_its_attempt() {
    let run = TestRun::new(
        r#"
        schema = "crosstalk.study/1"
        title = "Not a number"
        looks = [3]
        [experiment.e]
        work.scripted = { kind = "scripted", does = "$does" }
        factors = { does = ["nan"] }
        "#,
    );
    run.run(0).expect("continues");
    let failures = ended(&run, "does", "nan");
    assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
    assert!(failures.iter().all(|(s, _, r)| *s == Status::Failed && r.contains("not a finite number")));
}

#[test]
fn an_unfaithful_attempt_is_tried_again_and_stays_in_the_journal() {
    let run = troubled("unfaithful");
    run.run(0).expect("runs");
    let attempts = ended(&run, "does", "unfaithful");
    assert_eq!(attempts.iter().map(|a| a.1).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    assert!(attempts.iter().all(|a| a.0 == Status::Finished));
    let cells: Vec<_> = run
        .journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Attempt { block: 0, cell, try_number, status: Status::Finished, .. } => {
                Some((try_number, cell))
            }
            _ => None,
        })
        .collect();
    assert!(
        cells.is_sorted_by_key(|(try_number, _)| *try_number),
        "after all others of its block: {cells:?}"
    );
    assert!(cells.iter().filter(|(try_number, _)| *try_number == 1).count() > 1, "{cells:?}");
}

#[test]
fn an_interrupted_run_resumes_and_loses_no_sample() {
    for at in [1, 2, 5, 9, 12] {
        let run = TestRun::new(TWO_CELLS);
        let ending = run.run(at).expect("closes in order");
        assert_eq!(ending.status, Status::Interrupted);
        let before: Vec<Line> = samples(&run);
        assert_eq!(before.len(), at - 1);
        let ending = run.run(0).expect("continues");
        assert_eq!(ending.status, Status::Finished);
        let after = samples(&run);
        assert_eq!(after[..before.len()], before[..], "the earlier samples stay");
        let mut finished: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for line in run.journal() {
            if let Line::Attempt { block, cell, status: Status::Finished, try_number, .. } = line {
                let last = finished.entry((block, cell)).or_default();
                assert!(try_number > *last, "the tries of a cell in a block count up");
                *last = try_number;
            }
        }
        assert_eq!(finished.len(), 12, "every cell of every block");
    }
}

#[test]
fn a_run_that_gave_a_cell_up_resumes_where_it_was_interrupted() {
    let run = TestRun::new(
        r#"
        schema = "crosstalk.study/1"
        title = "One cell fails"
        looks = [6]
        [experiment.e]
        work.scripted = { kind = "scripted", does = "$does", on = 1 }
        factors = { does = ["well", "fail"] }
        "#,
    );
    // Three attempts in each of three blocks, then one: the 11th is the fifth block's.
    assert_eq!(run.run(11).expect("closes in order").status, Status::Interrupted);
    assert_eq!(run.run(0).expect("continues").status, Status::Finished);
    let well = ended(&run, "does", "well");
    assert_eq!(well.iter().filter(|a| a.0 == Status::Finished).count(), 6, "once a block");
}

#[test]
fn a_journal_cut_at_any_byte_resumes() {
    let whole = TestRun::new(TWO_CELLS);
    whole.run(0).expect("runs");
    let text = std::fs::read(whole.dir().join("run/journal.ndjson")).expect("reads");
    let header = text.iter().position(|b| *b == b'\n').expect("a line") + 1;
    for cut in (header..text.len()).step_by(text.len() / 23) {
        let run = TestRun::new(TWO_CELLS);
        std::fs::create_dir_all(run.dir().join("run")).expect("made");
        std::fs::write(run.dir().join("run/journal.ndjson"), &text[..cut]).expect("cut");
        let kept = samples(&run);
        let ending = run.run(0).unwrap_or_else(|f| panic!("cut at {cut}: {f}"));
        assert_eq!(ending.status, Status::Finished, "cut at {cut}");
        assert_eq!(samples(&run)[..kept.len()], kept[..], "cut at {cut}");
    }
}

#[test]
fn a_run_killed_after_its_last_interim_analysis_measures_no_further() {
    let without_claims = TWO_CELLS.replace("looks = [6]", "looks = [6, 12]").replace("compare = ", "#");
    let run = TestRun::new(&without_claims);
    run.run(0).expect("runs");
    let before = samples(&run);
    assert_eq!(before.len(), 12, "there are no claims, so the first interim analysis ends the run");
    let path = run.dir().join("run/journal.ndjson");
    let text = std::fs::read_to_string(&path).expect("reads");
    let end = text.trim_end().rfind('\n').expect("lines") + 1;
    assert!(text[end..].contains("\"end\""), "the last line closes the journal");
    std::fs::write(&path, &text[..end]).expect("cuts");
    assert_eq!(run.run(0).expect("continues").status, Status::Finished);
    assert_eq!(samples(&run), before, "the analysis is repeated, not the measuring");
}

fn samples(run: &TestRun) -> Vec<Line> {
    run.journal().into_iter().filter(|line| matches!(line, Line::Sample { .. })).collect()
}
