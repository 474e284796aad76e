//! Generated ratings, of the shape of GroupLens's ml-latest-small of October
//! 2016 (F. M. Harper, J. A. Konstan: "The MovieLens Datasets", ACM TiiS 5(4),
//! 2015), which has 100,004 ratings of 9,066 movies by 671 users.
//!
//! - *Activity* is 18 ratings and a log-normal number more, a user; *popularity*
//!   is log-normal, an item. Fitted to the quartiles of that data set (users: 37,
//!   71, 161 ratings; items: 1, 3, 9). Each item is rated at least once, and no
//!   user rates an item twice or more than a quarter of all items.
//! - *Stars* are the mean 3.54, a user's and an item's bias, a planted product of
//!   two vectors of length [`PLANTED_RANK`], and noise, rounded to 0.5, 1, … 5. The
//!   shares of the variance are chosen so that stars spread by 1.06, as there,
//!   and so that a model can explain a part of it.
//! - *Time stamps* are uniform over the years that the data set spans.

use std::io::Write;

use super::alias::Alias;
use super::csv::CSV_HEADING;
use super::factors::{normal, uniform};
use crate::random::{mix, random_at};

/// Users, items and ratings at scale 1.
const SHAPE: [f64; 3] = [671.0, 9066.0, 100_004.0];
/// The rank of what a model can find.
pub const PLANTED_RANK: usize = 6;
/// Mean of all stars.
const MEAN: f64 = 3.54;
/// Standard deviations of a user's bias, an item's, the planted product and noise.
const SPREAD: [f64; 4] = [0.45, 0.45, 0.45, 0.70];
/// The first and the last second.
const TIME: [u64; 2] = [789_652_009, 1_476_640_644];

/// Streams of random numbers, each for one thing.
#[derive(Clone, Copy)]
enum Stream {
    Activity,
    Popularity,
    First,
    Draw,
    UserBias,
    ItemBias,
    UserTaste,
    ItemTaste,
    Noise,
    Time,
}

/// The text of a ratings.csv of `scale` times the users, items and ratings.
pub fn generate(scale: f64, seed: u64) -> Vec<u8> {
    let [users, items, ratings] = SHAPE.map(|count| (count * scale).round() as usize);
    let stream = |stream: Stream| random_at(mix(seed), stream as u64);
    let activity = activity(users, items, ratings, stream(Stream::Activity));
    let rated = choose(&activity, items, &stream);
    let mut text = Vec::with_capacity(ratings * 26 + 64);
    writeln!(text, "{CSV_HEADING}").expect("memory can be written to");
    let stars = Stars::new(users, items, &stream);
    let (noise, time) = (stream(Stream::Noise), stream(Stream::Time));
    let mut index = 0;
    for (user, items) in rated.iter().enumerate() {
        for item in items {
            let stars = stars.of(user, *item as usize, normal(noise, index));
            let timestamp = TIME[0] + random_at(time, index) % (TIME[1] - TIME[0]);
            writeln!(text, "{},{},{stars:.1},{timestamp}", user + 1, item + 1)
                .expect("memory can be written to");
            index += 1;
        }
    }
    text
}

/// How many items each user rates: `ratings` in all.
fn activity(users: usize, items: usize, ratings: usize, stream: u64) -> Vec<usize> {
    let most = items as f64 / 4.0;
    let wish: Vec<f64> = (0..users as u64).map(|u| 18.0 + (3.97 + 1.35 * normal(stream, u)).exp()).collect();
    // The factor that makes the sum right, by bisection: the sum grows with it.
    let sum = |factor: f64| wish.iter().map(|w| (w * factor).clamp(1.0, most).floor()).sum::<f64>();
    let (mut low, mut high) = (0.0, most);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if sum(middle) <= ratings as f64 { low = middle } else { high = middle }
    }
    let mut activity: Vec<usize> = wish.iter().map(|w| (w * low).clamp(1.0, most).floor() as usize).collect();
    let mut missing = ratings - activity.iter().sum::<usize>();
    // Fewer than one each; the busiest may have no room.
    for user in (0..users).cycle() {
        if missing == 0 {
            break;
        }
        if activity[user] < most as usize {
            activity[user] += 1;
            missing -= 1;
        }
    }
    activity
}

/// The items that each user rates, ascending.
fn choose(activity: &[usize], items: usize, stream: &dyn Fn(Stream) -> u64) -> Vec<Vec<u32>> {
    let mut rated: Vec<Vec<u32>> = activity.iter().map(|count| Vec::with_capacity(*count)).collect();
    // Every item once, by a user drawn by activity.
    let weights: Vec<f64> = activity.iter().map(|count| *count as f64).collect();
    let (users, mut draws) = (Alias::new(&weights), Draws::new(stream(Stream::First)));
    for item in 0..items as u32 {
        let user = loop {
            let user = users.sample(draws.next());
            if rated[user].len() < activity[user] {
                break user;
            }
        };
        rated[user].push(item);
    }
    // The others by popularity.
    let taste = stream(Stream::Popularity);
    let weights: Vec<f64> = (0..items as u64).map(|item| (1.6 * normal(taste, item)).exp()).collect();
    let (popular, mut draws) = (Alias::new(&weights), Draws::new(stream(Stream::Draw)));
    let mut by = vec![usize::MAX; items];
    for (user, (mine, count)) in rated.iter_mut().zip(activity).enumerate() {
        mine.iter().for_each(|item| by[*item as usize] = user);
        while mine.len() < *count {
            let item = popular.sample(draws.next());
            if by[item] != user {
                by[item] = user;
                mine.push(item as u32);
            }
        }
        mine.sort_unstable();
    }
    rated
}

/// A stream's numbers in turn.
struct Draws {
    stream: u64,
    next: u64,
}

impl Draws {
    fn new(stream: u64) -> Self {
        Draws { stream, next: 0 }
    }

    fn next(&mut self) -> u64 {
        self.next += 1;
        random_at(self.stream, self.next)
    }
}

/// The users' opinions of items.
struct Stars {
    user_bias: Vec<f64>,
    item_bias: Vec<f64>,
    user_taste: Vec<[f64; PLANTED_RANK]>,
    item_taste: Vec<[f64; PLANTED_RANK]>,
}

impl Stars {
    fn new(users: usize, items: usize, stream: &dyn Fn(Stream) -> u64) -> Self {
        let biases = |which, count: usize, spread: f64| {
            (0..count as u64).map(|index| spread * normal(stream(which), index)).collect()
        };
        // Uniform numbers of variance 1: their products spread as wanted.
        let tastes = |which, count: usize| {
            let taste = |row: u64| {
                std::array::from_fn(|k| {
                    12_f64.sqrt() * (uniform(stream(which), row * PLANTED_RANK as u64 + k as u64) - 0.5)
                })
            };
            (0..count as u64).map(taste).collect()
        };
        Stars {
            user_bias: biases(Stream::UserBias, users, SPREAD[0]),
            item_bias: biases(Stream::ItemBias, items, SPREAD[1]),
            user_taste: tastes(Stream::UserTaste, users),
            item_taste: tastes(Stream::ItemTaste, items),
        }
    }

    fn of(&self, user: usize, item: usize, noise: f64) -> f64 {
        let product: f64 = self.user_taste[user].iter().zip(&self.item_taste[item]).map(|(p, q)| p * q).sum();
        let planted = SPREAD[2] * product / (PLANTED_RANK as f64).sqrt();
        let stars = MEAN + self.user_bias[user] + self.item_bias[item] + planted + SPREAD[3] * noise;
        ((stars * 2.0).round() / 2.0).clamp(0.5, 5.0)
    }
}

#[cfg(test)]
mod tests;
