//! The runner's logic, on nodes that are threads: order, failures, hangs,
//! interruptions, resuming.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::Stage;
use crosstalk_core::record::{Line, Observation, Status};
use crosstalk_core::value::Value;
use crosstalk_lab::progress::{Event, Progress};
use crosstalk_lab::rundir::RunDir;

const TWO_CELLS: &str = r#"
    schema = "crosstalk.study/1"
    title = "Two actors"
    looks = [6]
    [experiment.e]
    work.actor = { kind = "actor", time = "$time" }
    factors = { time = [1.0, 1.5] }
    compare = { factor = "time", base = 1.0 }
"#;

/// `does` on one of the two cells.
fn troubled(does: &str) -> Stage {
    Stage::new(&format!(
        r#"
        schema = "crosstalk.study/1"
        title = "One actor in trouble"
        looks = [3]
        [experiment.e]
        work.actor = {{ kind = "actor", does = "$does", on = 1 }}
        factors = {{ does = ["well", "{does}"] }}
        "#
    ))
}

/// Moves the journal away at the first attempt: whoever reads it by its name then finds none.
struct Hiding {
    journal: PathBuf,
    looks: usize,
}

impl Progress for Hiding {
    fn event(&mut self, event: Event) {
        match event {
            Event::Attempt { .. } if self.journal.exists() => {
                std::fs::rename(&self.journal, self.journal.with_extension("hidden")).expect("moves");
            }
            Event::Look { .. } => self.looks += 1,
            _ => {}
        }
    }
}

#[test]
fn an_interim_analysis_does_not_read_the_journal_again() {
    let stage = Stage::new(&TWO_CELLS.replace("looks = [6]", "looks = [2, 4, 6]"));
    let journal = stage.dir().join("run/journal.ndjson");
    let mut hiding = Hiding { journal: journal.clone(), looks: 0 };
    let ending = stage.run_watched(0, &mut hiding).expect("runs without the file's name");
    assert_eq!((ending.status, hiding.looks), (Status::Finished, 3));
    // What was decided is what a reader of the file concludes.
    std::fs::rename(journal.with_extension("hidden"), &journal).expect("moves back");
    let attempts = RunDir::open(&stage.dir().join("run")).and_then(|dir| dir.read()).expect("reads").attempts;
    assert_eq!(attempts.len(), 2 * 6);
}

/// (status, turn, reason) of every ended attempt whose level of `factor` is `level`.
fn ended(stage: &Stage, factor: &str, level: &str) -> Vec<(Status, u32, String)> {
    stage
        .journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Attempt { levels, status, turn, reason, .. }
                if status != Status::Started && levels.get(factor) == Some(&Value::from(level)) =>
            {
                Some((status, turn, reason.unwrap_or_default()))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_takes_every_cell_once_a_block_in_changing_order() {
    let stage = Stage::new(TWO_CELLS);
    let ending = stage.run(0).expect("runs");
    assert_eq!(ending.status, Status::Finished);
    let mut orders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for line in stage.journal() {
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
    let stage = Stage::new(TWO_CELLS);
    stage.run(0).expect("runs");
    let journal = stage.journal();
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
        let stage = troubled(does);
        stage.run(0).expect("goes on");
        let failures = ended(&stage, "does", does);
        assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
        for (status, _, reason) in failures {
            assert_eq!(status, Status::Failed);
            assert!(reason.contains(said), "{does}: {reason}");
        }
        let good = ended(&stage, "does", "well");
        assert!(good.len() == 3 && good.iter().all(|(s, _, _)| *s == Status::Finished));
        let warned = stage.events.lock().expect("not poisoned");
        assert!(warned.iter().any(|e| matches!(e, Event::Warning { text } if text.contains("given up"))));
    }
}

#[test]
fn a_hang_ends_at_the_deadline() {
    let stage = troubled("hang");
    stage.run(0).expect("goes on");
    let failures = ended(&stage, "does", "hang");
    assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
    assert!(failures.iter().all(|(s, _, r)| *s == Status::Failed && r.contains("not finished after")));
    assert_eq!(ended(&stage, "does", "well").len(), 3);
}

#[test]
fn a_number_that_is_none_fails_its_attempt() {
    let stage = Stage::new(
        r#"
        schema = "crosstalk.study/1"
        title = "Not a number"
        looks = [3]
        [experiment.e]
        work.actor = { kind = "actor", does = "$does" }
        factors = { does = ["nan"] }
        "#,
    );
    stage.run(0).expect("goes on");
    let failures = ended(&stage, "does", "nan");
    assert_eq!(failures.len(), 6, "tried twice in each of 3 blocks");
    assert!(failures.iter().all(|(s, _, r)| *s == Status::Failed && r.contains("not a finite number")));
}

#[test]
fn a_doubtful_attempt_is_tried_again_and_stays_on_record() {
    let stage = troubled("doubtful");
    stage.run(0).expect("runs");
    let attempts = ended(&stage, "does", "doubtful");
    assert_eq!(attempts.iter().map(|a| a.1).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    assert!(attempts.iter().all(|a| a.0 == Status::Finished));
    let cells: Vec<_> = stage
        .journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Attempt { block: 0, cell, turn, status: Status::Finished, .. } => Some((turn, cell)),
            _ => None,
        })
        .collect();
    assert!(cells.is_sorted_by_key(|(turn, _)| *turn), "after all others of its block: {cells:?}");
    assert!(cells.iter().filter(|(turn, _)| *turn == 1).count() > 1, "{cells:?}");
}

#[test]
fn an_interrupted_run_resumes_and_loses_no_sample() {
    for at in [1, 2, 5, 9, 12] {
        let stage = Stage::new(TWO_CELLS);
        let ending = stage.run(at).expect("closes in order");
        assert_eq!(ending.status, Status::Interrupted);
        let before: Vec<Line> = samples(&stage);
        assert_eq!(before.len(), at - 1);
        let ending = stage.run(0).expect("resumes");
        assert_eq!(ending.status, Status::Finished);
        let after = samples(&stage);
        assert_eq!(after[..before.len()], before[..], "the earlier samples stay");
        let mut finished: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for line in stage.journal() {
            if let Line::Attempt { block, cell, status: Status::Finished, turn, .. } = line {
                let best = finished.entry((block, cell)).or_default();
                assert!(turn > *best, "turns of a cell in a block count up");
                *best = turn;
            }
        }
        assert_eq!(finished.len(), 12, "every cell of every block");
    }
}

#[test]
fn a_run_that_gave_a_cell_up_resumes_where_it_was_cut_short() {
    let stage = Stage::new(
        r#"
        schema = "crosstalk.study/1"
        title = "One actor fails"
        looks = [6]
        [experiment.e]
        work.actor = { kind = "actor", does = "$does", on = 1 }
        factors = { does = ["well", "fail"] }
        "#,
    );
    // Three attempts in each of three blocks, then one: the 11th is the fifth block's.
    assert_eq!(stage.run(11).expect("closes in order").status, Status::Interrupted);
    assert_eq!(stage.run(0).expect("resumes").status, Status::Finished);
    let well = ended(&stage, "does", "well");
    assert_eq!(well.iter().filter(|a| a.0 == Status::Finished).count(), 6, "once a block");
}

#[test]
fn a_journal_cut_at_any_byte_resumes() {
    let whole = Stage::new(TWO_CELLS);
    whole.run(0).expect("runs");
    let text = std::fs::read(whole.dir().join("run/journal.ndjson")).expect("reads");
    let header = text.iter().position(|b| *b == b'\n').expect("a line") + 1;
    for cut in (header..text.len()).step_by(text.len() / 23) {
        let stage = Stage::new(TWO_CELLS);
        std::fs::create_dir_all(stage.dir().join("run")).expect("made");
        std::fs::write(stage.dir().join("run/journal.ndjson"), &text[..cut]).expect("cut");
        let kept = samples(&stage);
        let ending = stage.run(0).unwrap_or_else(|f| panic!("cut at {cut}: {f}"));
        assert_eq!(ending.status, Status::Finished, "cut at {cut}");
        assert_eq!(samples(&stage)[..kept.len()], kept[..], "cut at {cut}");
    }
}

#[test]
fn a_run_killed_after_its_last_look_measures_no_further() {
    let asks_nothing = TWO_CELLS.replace("looks = [6]", "looks = [6, 12]").replace("compare = ", "#");
    let stage = Stage::new(&asks_nothing);
    stage.run(0).expect("runs");
    let before = samples(&stage);
    assert_eq!(before.len(), 12, "nothing is asked, so the first look is enough");
    let path = stage.dir().join("run/journal.ndjson");
    let text = std::fs::read_to_string(&path).expect("reads");
    let end = text.trim_end().rfind('\n').expect("lines") + 1;
    assert!(text[end..].contains("\"end\""), "the last line closes the journal");
    std::fs::write(&path, &text[..end]).expect("cuts");
    assert_eq!(stage.run(0).expect("resumes").status, Status::Finished);
    assert_eq!(samples(&stage), before, "the look is repeated, not the measuring");
}

fn samples(stage: &Stage) -> Vec<Line> {
    stage.journal().into_iter().filter(|line| matches!(line, Line::Sample { .. })).collect()
}
