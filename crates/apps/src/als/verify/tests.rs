//! Tests of `verify`.

use super::*;
use crate::als::config::ModelSetting;
use crate::als::node::UntimedNode;
use crate::als::shard::Shard;
use crate::als::source::Source;
use crate::als::train::train;
use crate::exchange::Alone;

struct Done {
    split: Split,
    whole: WholeModel,
    squares: Squares,
}

fn done() -> Done {
    let input = Source::Generated { scale: 0.1, seed: 4 }.open(None).expect("good");
    let (split, mut alone) = (input.read_split().expect("reads"), Alone);
    let mut node = UntimedNode(&mut alone);
    let shard = Shard::build(split.clone(), &mut node).expect("builds");
    let setting = ModelSetting { rank: 6, lambda: 0.1, iterations: 2 };
    let model = train(&shard, &setting, 1, &mut node).expect("trains");
    let squares = shard.validation.squared_errors(&model, &mut node).expect("predicts");
    let mut whole = WholeModel::default();
    whole.add_part(&WholeModel::pack_part(&shard, &model), 6).expect("complete");
    Done { split, whole, squares }
}

#[test]
fn a_right_answer_is_found_right() {
    let Done { split, whole, squares } = done();
    let training = split.training.len() as u64;
    let held = [training, training, split.validation.len() as u64, split.test.len() as u64];
    assert_eq!(check_counts(&split, held), Ok(()));
    assert_eq!(check_squared_errors(&split.validation, &whole, &squares), Ok(()));
    (0..20).for_each(|seed| assert_eq!(check_factors(&split.training, &whole, 0.1, seed), Ok(())));
    let best = best_items(
        whole.items.iter().map(|(id, item)| (*id, predict(&whole.users[&NEW_USER], item))),
        &BTreeSet::new(),
        9,
    );
    assert_eq!(check_recommendations(&whole, &BTreeSet::new(), &best, 9), Ok(()));
}

#[test]
fn a_lost_rating_is_found() {
    let Done { split, .. } = done();
    let training = split.training.len() as u64;
    let held = [training, training - 1, split.validation.len() as u64, split.test.len() as u64];
    assert!(check_counts(&split, held).expect_err("refused").message.contains("the slaves hold"));
}

#[test]
fn another_error_than_the_models_is_found() {
    let Done { split, mut whole, squares } = done();
    let user = split.validation[0].user;
    whole.users.get_mut(&user).expect("a user")[0] += 0.01;
    let fault = check_squared_errors(&split.validation, &whole, &squares).expect_err("refused");
    assert!(fault.message.starts_with("wrong answer: the slaves' error is"), "{fault}");
}

#[test]
fn factors_that_do_not_solve_their_equations_are_found() {
    let Done { split, whole, .. } = done();
    let tampered = |change: fn(&mut WholeModel)| {
        let mut whole = whole.clone();
        change(&mut whole);
        check_factors(&split.training, &whole, 0.1, 3).expect_err("refused").message
    };
    let users = tampered(|whole| whole.users.values_mut().for_each(|vector| vector[2] *= 1.001));
    assert!(users.starts_with("wrong answer: user"), "{users}");
    // The items were computed from the users before.
    let items = tampered(|whole| whole.earlier = whole.users.clone());
    assert!(items.starts_with("wrong answer: item"), "{items}");
    assert!(check_factors(&split.training, &whole, 0.2, 3).is_err());
}

#[test]
fn worse_recommendations_are_found() {
    let Done { whole, .. } = done();
    let found: Vec<(u32, f64)> = vec![(1, 5.0)];
    assert!(check_recommendations(&whole, &BTreeSet::new(), &found, 1).is_err());
}
