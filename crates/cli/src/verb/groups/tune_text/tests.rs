//! The sentences about a result.

use crosstalk_users::tune::{Pair, RunCounts, Verdict};

use super::*;

fn counts(grouping: &str, words: &str) -> TimeParts {
    let counts = RunCounts { time: 2.0, ..RunCounts::default() };
    TimeParts { grouping: grouping.into(), words: words.into(), counts }
}

/// Two groups of three users, with pairs of these ratios of plain's time.
fn result(ratios: Option<[f64; 12]>) -> TuneResult {
    let words = "2 groups, mixed, limits by need";
    let neighbour = Neighbour {
        grouping: "3-dealt-need".into(),
        words: "3 groups, one user each, limits by need".into(),
        ratio: Some(1.5),
        cut: false,
        killed: None,
        why: None,
    };
    let group = |name: &str, users: &[usize]| GroupRecord {
        name: name.into(),
        users: users.into(),
        memory_limit: Some(8 << 20),
    };
    let pairs = |ratios: [f64; 12]| ratios.map(|plain| Pair { plain, grouped: 1.0 });
    TuneResult {
        schema: String::new(),
        users: 3,
        activities: ["stream 200%", "run ./a", "run ./b"].map(String::from).into(),
        memory: 16 << 20,
        read_rate: None,
        drop_caches: false,
        seed: 1,
        needs: vec![1 << 20; 3],
        needs_gap: None,
        streamers: vec![0],
        runs: Vec::new(),
        groupings: Vec::new(),
        chosen: if ratios.is_some() { "2-dealt-need".into() } else { "plain".into() },
        words: words.into(),
        estimate: None,
        cached: None,
        verdict: ratios.and_then(|ratios| Verdict::of(pairs(ratios).into(), None)),
        killed: None,
        cut: None,
        why: Some("a reason".into()),
        neighbours: vec![neighbour],
        cliff: Some("3-dealt-need".into()),
        parts: vec![counts("plain", "plain"), counts("2-dealt-need", words)],
        locks_unavailable: None,
        groups: vec![group("tuned/g0", &[0, 2]), group("tuned/g1", &[1])],
        commands: vec!["crosstalk groups create tuned".into()],
    }
}

fn said(tuned: &TuneResult) -> String {
    text(tuned).join("\n")
}

#[test]
fn a_difference_is_explained_and_its_groups_are_named() {
    let said = said(&result(Some([1.5; 12])));
    assert!(said.contains("limits by need: 1.50 (1.50–1.50) × as fast as plain"), "{said}");
    assert!(said.contains("Why: a reason.") && said.contains("The cliff, in the search: 3 groups"), "{said}");
    assert!(said.contains("tuned/g0: user 1 (stream 200%), user 3 (run ./b), 8 MiB"), "{said}");
}

#[test]
fn without_a_difference_nothing_is_explained_or_recommended() {
    let mut wide = [1.05; 12];
    wide[..6].fill(0.97);
    let equal = said(&result(Some([1.0; 12])));
    assert!(equal.contains("and plain: equivalent within 2 %; 1.00 (1.00–1.00)"), "{equal}");
    assert!(equal.contains("No groups are recommended."), "{equal}");
    let open = said(&result(Some(wide)));
    assert!(open.contains("Not decided: 2 groups, mixed, limits by need is between"), "{open}");
    assert!(open.contains("% slower and") && open.contains("--pairs 30 decides more"), "{open}");
    for text in [equal, open, said(&result(None))] {
        assert!(!text.contains("Why:") && !text.contains("cliff"), "{text}");
        assert!(!text.contains("To make them"), "{text}");
    }
}

#[test]
fn a_neighbour_that_took_less_time_is_explained() {
    let mut faster = result(Some([1.5; 12]));
    faster.neighbours[0].ratio = Some(0.92);
    faster.cliff = None;
    let said = said(&faster);
    assert!(
        said.contains("limits by need took 0.92 × the time of the chosen grouping, in single runs"),
        "{said}"
    );
    assert!(said.contains("No cliff"), "{said}");
}

#[test]
fn files_that_were_cached_leave_it_open() {
    let cached = Some(CachedReads { read: 1.1e9, from_devices: 38.0 * 1024.0 });
    for ratios in [None, Some([1.0; 12]), Some([0.9; 12])] {
        let said = said(&TuneResult { cached, ..result(ratios) });
        assert!(said.contains("read 1.02 GiB, of which 38 KiB came from the disk"), "{said}");
        assert!(said.contains("--drop-caches") && !said.contains("No groups are recommended"), "{said}");
    }
}

#[test]
fn the_table_has_the_names_of_the_sentence_and_says_what_they_mean() {
    let said = said(&result(Some([1.5; 12])));
    assert_eq!(said.matches("2 groups, mixed, limits by need").count(), 2, "{said}");
    for name in ["`mixed`: each group", "`limits by need`: a group's limit"] {
        assert_eq!(said.matches(name).count(), 1, "{said}");
    }
    assert!(!said.contains("dealt") && !said.contains("`alike together`"), "{said}");
}
