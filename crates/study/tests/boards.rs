//! Nodes on full boards, and the link that a board's nodes share: conditions that make the place of a cell.

use crate::mock;
use crate::synthetic::{claim, is, planned_study};
use crosstalk_core::units::BitRate;
use crosstalk_study::findings::ClaimVerdict;
use crosstalk_study::{PlanOptions, emulation, parse, plan};

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "What a shared link costs"
    looks = [12]
    [experiment.e]
    work.s = { kind = "stream", size = 64 }
    conditions = { system = "$system", boards = "full", uplink = "$uplink" }
    factors = { system = ["kosmos-srio", "kosmos-ethernet"], uplink = ["none", "10 Gbit/s", "4:1"] }
    [claim.costs]
    statement = "The shared link costs something"
    experiment = "e"
    where = { system = "kosmos-srio" }
    ratio = { metric = "bandwidth", of = { uplink = "10 Gbit/s" }, to = { uplink = "none" } }
    expect = "< 1"
    [claim.costs-much]
    statement = "The shared link costs a tenth"
    experiment = "e"
    where = { system = "kosmos-srio" }
    ratio = { metric = "bandwidth", of = { uplink = "10 Gbit/s" }, to = { uplink = "none" } }
    expect = "< 0.9"
"#;

#[test]
fn the_shared_link_takes_levels_of_a_factor() {
    let planned = planned_study(STUDY);
    for cell in planned.plan.cells() {
        let emulated = emulation(&mock::catalogues(), &cell.scene.place).expect("fits").expect("virtual");
        let rate = match () {
            () if is(&cell.id.levels, "uplink", "none") => None,
            () if is(&cell.id.levels, "uplink", "10 Gbit/s") => Some(BitRate(1e10)),
            // What one node's link carries: a byte takes G there.
            () => Some(BitRate(8.0 / emulated.across.costs_for(1 << 20).gap_per_byte.0)),
        };
        assert_eq!(emulated.uplink.map(|rate| rate.0.round()), rate.map(|rate| rate.0.round()));
        assert_eq!(emulated.board, [0, 0], "both nodes fit on the first board");
        assert!(cell.scene.conditions.is_empty(), "the place has them: {:?}", cell.scene.conditions);
    }
    let without = STUDY
        .replace(", uplink = \"$uplink\"", "")
        .replace(", uplink = [\"none\", \"10 Gbit/s\", \"4:1\"]", "");
    let without = planned_study(without.split("[claim").next().expect("has a beginning"));
    let own = |cell: &plan::Cell| emulation(&mock::catalogues(), &cell.scene.place);
    assert!(
        without
            .plan
            .cells()
            .all(|cell| own(cell).is_ok_and(|cluster| cluster.is_some_and(|it| it.uplink.is_none())))
    );
}

#[test]
fn that_a_slower_link_costs_something_is_implied_and_how_much_is_not() {
    let planned = planned_study(STUDY);
    let run =
        planned.run(12, 0.001, 1, &|_, levels, _| if is(levels, "uplink", "10 Gbit/s") { 0.8 } else { 1.0 });
    let findings = planned.findings(&run);
    assert_eq!(claim(&findings, "costs").verdict, ClaimVerdict::Implied);
    assert_eq!(claim(&findings, "costs-much").verdict, ClaimVerdict::Reproduced);
    let assumed = |text: &&String| text.contains("`uplink`") && text.contains("assumed");
    assert_eq!(findings.warnings.iter().filter(assumed).count(), 1);
}

#[test]
fn a_rate_that_is_none_and_boards_that_are_none_are_refused() {
    for (from, to, why) in [
        ("\"4:1\"", "\"0 bit/s\"", "more than zero"),
        ("\"4:1\"", "\"4:0\"", "such as `4:1`"),
        ("\"4:1\"", "\"4:x\"", "such as `4:1`"),
        ("\"4:1\"", "\"fast\"", "fast"),
        ("boards = \"full\"", "boards = \"packed\"", "placement on boards"),
    ] {
        let study = parse(&STUDY.replace(from, to), "s.toml").expect("reads");
        let planned = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default());
        let fault = planned.expect_err(why).to_string();
        assert!(fault.contains(why) && fault.contains("s.toml:"), "{fault}");
    }
}
