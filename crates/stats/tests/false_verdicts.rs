//! A short version of `examples/false_verdicts.rs`: a few hundred studies of each
//! kind of noise in each situation.

use crosstalk_stats::looks::Looks;
use crosstalk_stats::proportion;
use crosstalk_stats::simulation::machine::NoiseKind;
use crosstalk_stats::simulation::simulate;
use crosstalk_stats::simulation::study::{COMPARISONS, Situation};

const STUDIES: u64 = 300;
const SPREAD: f64 = 0.04;
/// A spread that is small enough to show equivalence within 2 %.
const SMALL_SPREAD: f64 = 0.01;
/// A spread with intervals about as wide as 2 %, so that chance decides about equivalence.
const LARGE_SPREAD: f64 = 0.03;

fn looks() -> Looks {
    Looks::new(&[12, 24, 48], 0.05).expect("ascending")
}

#[test]
fn at_most_one_study_in_twenty_has_a_false_verdict() {
    for situation in Situation::ALL {
        let of_kind = |kind| simulate(kind, situation, STUDIES, SPREAD, &looks(), 1).false_studies;
        let wrong: u64 = NoiseKind::ALL.into_iter().map(of_kind).sum();
        let studies = STUDIES * NoiseKind::ALL.len() as u64;
        let share = proportion::estimate(wrong, studies, 0.05).expect("studies were run");
        assert!(share.point <= 0.05 && share.high <= 0.065, "{situation:?}: {share:?}");
    }
}

/// Two one-sided tests with a spread that is small enough for them. Differences just
/// outside the margin are found equivalent in one study of twenty at most. Equal cells
/// are found equivalent nearly always, before the budget ends.
#[test]
fn a_difference_just_outside_the_margin_is_not_found_equivalent() {
    for kind in NoiseKind::ALL {
        let outcome = simulate(kind, Situation::Apart, STUDIES, SMALL_SPREAD, &looks(), 4);
        let share = outcome.false_share().expect("studies were run");
        assert!(share.point <= 0.05 && share.high <= 0.085, "{outcome:?}");
        let open = outcome.inconclusive as f64 / (STUDIES * COMPARISONS as u64) as f64;
        assert!(open < 0.02 && outcome.blocks < 40.0, "{outcome:?}");
    }
    let careless = Looks::new(&[12, 24, 48], 0.5).expect("ascending");
    let outcome = simulate(NoiseKind::Normal, Situation::Apart, STUDIES, LARGE_SPREAD, &careless, 5);
    assert!(outcome.false_share().expect("studies were run").low > 0.05, "the count notices: {outcome:?}");
}

#[test]
fn a_difference_of_five_percent_is_found() {
    for kind in NoiseKind::ALL {
        let outcome = simulate(kind, Situation::User, STUDIES, SPREAD, &looks(), 2);
        let power = outcome.power().expect("there were differences");
        assert!(power.low >= 0.80, "{outcome:?}");
    }
}

#[test]
fn the_count_notices_a_procedure_that_errs() {
    let careless = Looks::new(&[12, 24, 48], 0.5).expect("ascending");
    for situation in [Situation::Equal, Situation::Edge, Situation::Size] {
        let outcome = simulate(NoiseKind::Normal, situation, STUDIES, SPREAD, &careless, 3);
        let share = outcome.false_share().expect("studies were run");
        assert!(share.low > 0.10, "{outcome:?}");
    }
}
