//! Tests of `train`.

use super::*;
use crate::als::node::UntimedNode;
use crate::als::rating::{Rating, Split};
use crate::als::reference;
use crate::als::route::owner_of;
use crate::als::source::Source;
use crate::exchange::mock::on_threads;
use std::collections::BTreeMap;

const SETTING: ModelSetting = ModelSetting { rank: 8, lambda: 0.1, iterations: 3 };

fn split() -> Split {
    let input = Source::Generated { scale: 0.1, seed: 3 }.open(None).expect("good");
    input.read_split().expect("reads")
}

/// A slave's users' ratings.
fn share(split: &Split, part: usize, parts: usize) -> Split {
    let mine = |ratings: &Vec<Rating>| {
        ratings.iter().copied().filter(|rating| owner_of(rating.user, parts) == part).collect()
    };
    Split { training: mine(&split.training), validation: mine(&split.validation), test: mine(&split.test) }
}

type ById = BTreeMap<u32, Vec<f32>>;

/// All users' and items' factors, and the validation's squared errors.
fn trained(parts: usize) -> (ById, ById, [u64; 3]) {
    let split = split();
    let slaves = on_threads(parts, |exchange| {
        let mut node = UntimedNode(exchange);
        let mine = share(&split, node.part(), parts);
        let shard = Shard::build(mine, &mut node).expect("builds");
        let model = train(&shard, &SETTING, 5, &mut node).expect("trains");
        let squares = shard.validation.squared_errors(&model, &mut node).expect("predicts");
        let by_id = |ids: &[u32], factors: &Factors| -> ById {
            ids.iter().enumerate().map(|(row, id)| (*id, factors.row(row).to_vec())).collect()
        };
        (by_id(&shard.users.rows.ids, &model.users), by_id(&shard.items.rows.ids, &model.items), squares)
    });
    let (mut users, mut items) = (ById::new(), ById::new());
    let mut squares = crate::als::squares::Squares::default();
    for (own_users, own_items, own_squares) in slaves {
        users.extend(own_users);
        items.extend(own_items);
        squares += own_squares;
    }
    (users, items, squares.to_words())
}

#[test]
fn a_model_is_the_same_bit_by_bit_however_many_slaves_train_it() {
    let alone = trained(1);
    for parts in [2, 3, 6] {
        assert_eq!(trained(parts), alone, "{parts} slaves");
    }
}

#[test]
fn a_model_is_what_the_plain_recurrence_gives() {
    let split = split();
    let mut of_user: BTreeMap<u32, (Vec<u32>, Vec<f32>)> = BTreeMap::new();
    let mut of_item = of_user.clone();
    for rating in &split.training {
        for (map, row, column) in
            [(&mut of_user, rating.user, rating.item), (&mut of_item, rating.item, rating.user)]
        {
            let (columns, ratings) = map.entry(row).or_default();
            columns.push(column);
            ratings.push(rating.stars);
        }
    }
    let step = |rows: &BTreeMap<u32, (Vec<u32>, Vec<f32>)>, from: &ById| -> ById {
        let solve = |(columns, ratings): &(Vec<u32>, Vec<f32>)| {
            let x = reference::solve_row((columns, ratings), |c| from[&c].clone(), SETTING.lambda);
            x.into_iter().map(|x| x as f32).collect()
        };
        rows.iter().map(|(id, row)| (*id, solve(row))).collect()
    };
    let ids: Vec<u32> = of_user.keys().copied().collect();
    let start = Factors::random(&ids, SETTING.rank, 5);
    let mut users: ById = ids.iter().enumerate().map(|(row, id)| (*id, start.row(row).to_vec())).collect();
    let mut items = ById::new();
    for _ in 0..SETTING.iterations {
        items = step(&of_item, &users);
        users = step(&of_user, &items);
    }
    let (found_users, found_items, _) = trained(3);
    for (found, expected) in [(found_users, users), (found_items, items)] {
        assert!(found.keys().eq(expected.keys()));
        for (found, expected) in found.values().flatten().zip(expected.values().flatten()) {
            assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
        }
    }
}
