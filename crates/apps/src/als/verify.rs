//! Checks of the answer. The master has all ratings as it read them, and gets the whole model; nothing here
//! depends on how either was divided among slaves.

use crosstalk_core::Fault;
use std::collections::{BTreeMap, BTreeSet};

use super::factors::predict;
use super::rating::{NEW_USER, Rating, Split};
use super::recommend::best_items;
use super::squares::Squares;
use super::wire::{VectorsById, WholeModel};
use crate::random::random_at;

/// The largest relative error of an equation that storing its solution in single
/// precision (2^-24) can explain.
const TOLERANCE: f64 = 1e-6;

/// Number of users, and of items, whose equations are checked.
const PICKS: u64 = 16;

/// Checks that the slaves hold all ratings: by user, by item, for validation, for the test.
pub fn check_counts(split: &Split, held: [u64; 4]) -> Result<(), Fault> {
    let training = split.training.len() as u64;
    let expected = [training, training, split.validation.len() as u64, split.test.len() as u64];
    if held == expected {
        return Ok(());
    }
    Err(wrong(format!("there are {expected:?} ratings, the slaves hold {held:?}")))
}

/// The squared errors of a model on these ratings.
pub fn squared_errors(ratings: &[Rating], whole: &WholeModel) -> Result<Squares, Fault> {
    let mut squares = Squares::default();
    for rating in ratings {
        if let (Some(user), Some(item)) = (whole.users.get(&rating.user), whole.items.get(&rating.item)) {
            squares.add(predict(user, item) - f64::from(rating.stars))?;
        }
    }
    Ok(squares)
}

/// Checks that the slaves found the same squared errors on these ratings, bit by bit.
pub fn check_squared_errors(ratings: &[Rating], whole: &WholeModel, found: &Squares) -> Result<(), Fault> {
    let squares = squared_errors(ratings, whole)?;
    if squares == *found {
        return Ok(());
    }
    let count = ratings.len();
    Err(wrong(format!("the slaves' error is {}, it is {}", found.root_mean(count), squares.root_mean(count))))
}

/// Checks that a sample of users and of items has the factors that its ratings give it, in the last
/// iteration.
pub fn check_factors(training: &[Rating], whole: &WholeModel, lambda: f64, seed: u64) -> Result<(), Fault> {
    check_user_factors(training, whole, lambda, seed)?;
    let picked = (PICKS..2 * PICKS).map(|pick| drawn(training, seed, pick).item);
    let rows = rows(training, picked, |rating| (rating.item, rating.user));
    equations("item", &rows, &whole.items, &whole.earlier, lambda)
}

/// Checks that a sample of users has the factors that their ratings and the items give them.
pub fn check_user_factors(
    training: &[Rating],
    whole: &WholeModel,
    lambda: f64,
    seed: u64,
) -> Result<(), Fault> {
    let picked = (0..PICKS).map(|pick| drawn(training, seed, pick).user).chain([NEW_USER]);
    let rows = rows(training, picked, |rating| (rating.user, rating.item));
    equations("user", &rows, &whole.users, &whole.items, lambda)
}

fn drawn(training: &[Rating], seed: u64, index: u64) -> Rating {
    training[(random_at(seed, index) % training.len() as u64) as usize]
}

/// The ratings of the `picked` ids, of which `sides` gives the id and the other's.
fn rows(training: &[Rating], picked: impl Iterator<Item = u32>, sides: fn(&Rating) -> (u32, u32)) -> Rows {
    let mut rows: Rows = picked.map(|id| (id, Vec::new())).collect();
    for rating in training {
        let (id, other) = sides(rating);
        if let Some(row) = rows.get_mut(&id) {
            row.push((other, rating.stars));
        }
    }
    rows
}

/// Id → its ratings of the other side's ids.
type Rows = BTreeMap<u32, Vec<(u32, f32)>>;

/// Σ f (f·x − r) + λ n x = 0 for every row's x.
fn equations(
    what: &str,
    rows: &Rows,
    solutions: &VectorsById,
    from: &VectorsById,
    lambda: f64,
) -> Result<(), Fault> {
    for (id, ratings) in rows {
        let x = solutions.get(id).ok_or_else(|| wrong(format!("{what} {id} has no factors")))?;
        let weight = lambda * ratings.len() as f64;
        let mut sums: Vec<(f64, f64)> =
            x.iter().map(|x| weight * f64::from(*x)).map(|term| (term, term.abs())).collect();
        for (other, stars) in ratings {
            let f =
                from.get(other).ok_or_else(|| wrong(format!("the other side's {other} has no factors")))?;
            let off = predict(x, f) - f64::from(*stars);
            let size: f64 =
                f.iter().zip(x).map(|(f, x)| f64::from(f * x).abs()).sum::<f64>() + f64::from(*stars);
            for (sum, f) in sums.iter_mut().zip(f) {
                sum.0 += f64::from(*f) * off;
                sum.1 += f64::from(f.abs()) * size;
            }
        }
        // Not a number is wrong too.
        if let Some((sum, size)) =
            sums.iter().find(|(sum, size)| sum.is_nan() || sum.abs() > TOLERANCE * size)
        {
            return Err(wrong(format!("{what} {id} does not solve its equations: {sum} of {size} is left")));
        }
    }
    Ok(())
}

/// Checks that the recommendations are the best there are.
pub fn check_recommendations(
    whole: &WholeModel,
    rated: &BTreeSet<u32>,
    found: &[(u32, f64)],
    count: usize,
) -> Result<(), Fault> {
    let user = whole.users.get(&NEW_USER).ok_or_else(|| wrong("the new user has no factors".into()))?;
    let predictions = whole.items.iter().map(|(id, item)| (*id, predict(user, item)));
    if best_items(predictions, rated, count) == found {
        return Ok(());
    }
    Err(wrong("the recommendations are not the items with the highest predictions".into()))
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer: {what}"))
}

#[cfg(test)]
mod tests;
