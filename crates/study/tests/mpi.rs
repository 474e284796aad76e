//! A message-passing library and ranks of a node: conditions that make the place of a cell.

use crate::mock;
use crate::synthetic::{PlannedStudy, claim, is, planned_study};
use crosstalk_study::emulation;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict};
use crosstalk_study::plan::Place;

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "What a library costs"
    looks = [12]
    [experiment.e]
    work.s = { kind = "stream", size = 64 }
    conditions = { system = "kisti-2006-infiniband", boards = "one", mpi = "$mpi", ranks = "$ranks" }
    factors = { mpi = ["none", "mvapich-0.9.4"], ranks = [1, 2] }
    compare = { factor = "mpi", base = "none" }
    [claim.costs]
    statement = "The library costs something"
    experiment = "e"
    where = { ranks = 2 }
    ratio = { metric = "bandwidth", of = { mpi = "mvapich-0.9.4" }, to = { mpi = "none" } }
    expect = "< 1"
"#;

fn places(planned: &PlannedStudy) -> Vec<(Option<&str>, u32)> {
    let part = |place| match place {
        &Place::Virtual { ref mpi, ranks, .. } => (mpi.as_deref(), ranks),
        other => panic!("not in virtual time: {other:?}"),
    };
    let mut parts: Vec<_> = planned.plan.cells().map(|cell| part(&cell.scene.place)).collect();
    parts.sort();
    parts
}

#[test]
fn both_take_levels_of_factors() {
    let planned = planned_study(STUDY);
    let mvapich = Some("mvapich-0.9.4");
    assert_eq!(places(&planned), [(None, 1), (None, 2), (mvapich, 1), (mvapich, 2)]);
    for cell in planned.plan.cells() {
        assert!(cell.scene.conditions.is_empty(), "the place has them: {:?}", cell.scene.conditions);
        let emulated = emulation(&mock::catalogues(), &cell.scene.place).expect("fits").expect("virtual");
        assert_eq!(emulated.mpi.is_some(), is(&cell.id.levels, "mpi", "mvapich-0.9.4"));
    }
    let without = STUDY.replace(", mpi = \"$mpi\", ranks = \"$ranks\"", "").replace("compare =", "#");
    let without = without.split("[claim").next().expect("has a beginning").to_string();
    assert_eq!(places(&planned_study(&without)), [(mvapich, 1); 4], "by default that of the network");
}

#[test]
fn libraries_are_compared_and_claimed_about() {
    let planned = planned_study(STUDY);
    let slower = |levels: &_| if is(levels, "mpi", "mvapich-0.9.4") { 0.9 } else { 1.0 };
    let findings = planned.findings(&planned.run(12, 0.001, 1, &|_, levels, _| slower(levels)));
    assert_eq!(findings.comparisons.len(), 2, "at each number of ranks");
    assert!(findings.comparisons.iter().all(|of| of.verdict == ComparisonVerdict::Worse));
    assert_eq!(claim(&findings, "costs").verdict, ClaimVerdict::Reproduced);
    assert!(findings.sources.iter().any(|of| of.what == "MPI profile mvapich-0.9.4: eager_limit"));
    assert!(findings.sources.iter().any(|of| of.what == "fabric shared-memory-2005: L"));
    assert!(findings.caveats.iter().any(|text| text.starts_with("MPI profile mvapich-0.9.4: ")));
}

#[test]
fn only_what_is_used_is_named() {
    let one = STUDY.replace("ranks = [1, 2]", "ranks = [1]").replace("where = { ranks = 2 }", "");
    let planned = planned_study(&one);
    let sources = planned.findings(&planned.run(12, 0.001, 1, &|_, _, _| 1.0)).sources;
    assert!(sources.iter().all(|of| !of.what.contains("shared-memory-2005")));
    assert!(sources.iter().all(|of| !of.what.contains("mpich")));
}

#[test]
fn a_run_keeps_what_it_was_planned_with() {
    let catalogues = mock::catalogues();
    let kept = catalogues.files_used_by(&planned_study(STUDY).plan);
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fabrics/infiniband-4x-sdr.toml",
            "fabrics/shared-memory-2005.toml",
            "mpi/mvapich-0.9.4.toml",
            "systems/kisti-2006.toml"
        ]
    );
}
