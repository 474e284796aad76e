//! The fast form of `examples/false_verdicts.rs`: a few hundred studies of each
//! kind in each situation.

use crosstalk_stats::looks::Looks;
use crosstalk_stats::proof::machine::Kind;
use crosstalk_stats::proof::simulate;
use crosstalk_stats::proof::study::{COMPARISONS, Situation};
use crosstalk_stats::proportion;

const STUDIES: u64 = 300;
const SPREAD: f64 = 0.04;
/// At which differences within 2 % are told from none.
const QUIET: f64 = 0.01;
/// At which intervals barely fit into 2 %, and so end at either side of it by chance.
const LOUD: f64 = 0.03;

fn looks() -> Looks {
    Looks::new(&[12, 24, 48], 0.05).expect("ascending")
}

#[test]
fn at_most_one_study_in_twenty_has_a_false_verdict() {
    for situation in Situation::ALL {
        let of_kind = |kind| simulate(kind, situation, STUDIES, SPREAD, &looks(), 1).false_studies;
        let wrong: u64 = Kind::ALL.into_iter().map(of_kind).sum();
        let studies = STUDIES * Kind::ALL.len() as u64;
        let share = proportion::estimate(wrong, studies, 0.05).expect("studies were run");
        assert!(share.point <= 0.05 && share.high <= 0.065, "{situation:?}: {share:?}");
    }
}

/// Two one-sided tests on a machine that is quiet enough for them: of what lies just outside the margin "equivalent"
/// is said in one study of twenty at most, and of what is equal nearly always, before the budget ends.
#[test]
fn what_lies_just_outside_the_margin_is_not_called_equivalent() {
    for kind in Kind::ALL {
        let outcome = simulate(kind, Situation::Apart, STUDIES, QUIET, &looks(), 4);
        let share = outcome.false_share().expect("studies were run");
        assert!(share.point <= 0.05 && share.high <= 0.085, "{outcome:?}");
        let open = outcome.inconclusive as f64 / (STUDIES * COMPARISONS as u64) as f64;
        assert!(open < 0.02 && outcome.blocks < 40.0, "{outcome:?}");
    }
    let careless = Looks::new(&[12, 24, 48], 0.5).expect("ascending");
    let outcome = simulate(Kind::Normal, Situation::Apart, STUDIES, LOUD, &careless, 5);
    assert!(outcome.false_share().expect("studies were run").low > 0.05, "the count notices: {outcome:?}");
}

#[test]
fn a_difference_of_five_percent_is_found() {
    for kind in Kind::ALL {
        let outcome = simulate(kind, Situation::User, STUDIES, SPREAD, &looks(), 2);
        let power = outcome.power().expect("there were differences");
        assert!(power.low >= 0.80, "{outcome:?}");
    }
}

#[test]
fn the_count_notices_a_procedure_that_errs() {
    let careless = Looks::new(&[12, 24, 48], 0.5).expect("ascending");
    for situation in [Situation::Equal, Situation::Edge, Situation::Size] {
        let outcome = simulate(Kind::Normal, situation, STUDIES, SPREAD, &careless, 3);
        let share = outcome.false_share().expect("studies were run");
        assert!(share.low > 0.10, "{outcome:?}");
    }
}
