//! One slave's share of the data: user and item blocks for training, and pairs for validation and the test.

use crosstalk_core::Fault;

use super::factors::predict;
use super::model::Model;
use super::node::Node;
use super::rating::{Rating, Split};
use super::route::{self, VectorRoute, owner_of};
use super::rows::Rows;
use super::squares::Squares;

/// Exchanges that [`Shard::build`] makes: one of ratings, and four routes.
pub const EXCHANGES: usize = 1 + 4 * route::EXCHANGES;

/// The rows of one side (users or items), and the route of the other side's vectors to them.
pub struct ShardSide {
    /// The rows; their columns are slots.
    pub rows: Rows,
    /// That route.
    pub route: VectorRoute,
}

/// One slave's part of the ratings, by user and by item, with the routes of factor vectors to it.
pub struct Shard {
    /// Its users.
    pub users: ShardSide,
    /// Its items.
    pub items: ShardSide,
    /// Its users' ratings for validation.
    pub validation: RatedPairs,
    /// Its users' ratings for the test.
    pub test: RatedPairs,
}

impl Shard {
    /// Builds the shard of a slave from its users' ratings, while all others build theirs. As in MLlib every
    /// rating is stored twice: with its user, and at the owner of its item.
    pub fn build(split: Split, node: &mut impl Node) -> Result<Self, Fault> {
        let parts = node.parts();
        let outgoing = node.serialise(|| by_item(&split.training, parts));
        let arrived = node.exchange(outgoing)?;
        let mut items = node.compute(|| Rows::new(arrived.iter().flat_map(|bytes| triples(bytes)).collect()));
        drop(arrived);
        let training = split.training;
        let mut users =
            node.compute(|| Rows::new(training.iter().map(|r| (r.user, r.item, r.stars)).collect()));
        let (to_users, item_slots) = VectorRoute::agree(&users.columns, &items, node)?;
        let (to_items, user_slots) = VectorRoute::agree(&items.columns, &users, node)?;
        let validation = RatedPairs::build(&split.validation, &users, &items, node)?;
        let test = RatedPairs::build(&split.test, &users, &items, node)?;
        for (rows, slots) in [(&mut users, item_slots), (&mut items, user_slots)] {
            for column in &mut rows.columns {
                *column = slots.slot_of(*column).ok_or_else(|| {
                    Fault::attempt(format!("the owner of id {column} does not have its ratings"))
                })?;
            }
        }
        Ok(Shard {
            users: ShardSide { rows: users, route: to_users },
            items: ShardSide { rows: items, route: to_items },
            validation,
            test,
        })
    }
}

/// Pairs of user and item whose rating is known, to test a model with.
pub struct RatedPairs {
    /// Number of ratings, predictable or not.
    pub count: usize,
    route: VectorRoute,
    /// The user's row, the item's slot, and the rating, where both have factors.
    predictable: Vec<(u32, u32, f32)>,
}

impl RatedPairs {
    fn build(ratings: &[Rating], users: &Rows, items: &Rows, node: &mut impl Node) -> Result<Self, Fault> {
        let ids: Vec<u32> = ratings.iter().map(|rating| rating.item).collect();
        let (route, slots) = VectorRoute::agree(&ids, items, node)?;
        let predictable = node.compute(|| {
            let pair = |rating: &Rating| {
                let row = users.find(rating.user)?;
                Some((row as u32, slots.slot_of(rating.item)?, rating.stars))
            };
            ratings.iter().filter_map(pair).collect()
        });
        Ok(RatedPairs { count: ratings.len(), route, predictable })
    }

    /// A model's squared errors on these pairs.
    pub fn squared_errors(&self, model: &Model, node: &mut impl Node) -> Result<Squares, Fault> {
        let items = self.route.fetch_vectors(&model.items, node)?;
        node.compute(|| {
            let mut squares = Squares::default();
            for (row, slot, stars) in &self.predictable {
                let predicted = predict(model.users.row(*row as usize), items.row(*slot as usize));
                squares.add(predicted - f64::from(*stars))?;
            }
            Ok(squares)
        })
    }
}

/// Ratings as (item, user, stars) for the items' owners.
fn by_item(ratings: &[Rating], parts: usize) -> Vec<Vec<u8>> {
    let mut outgoing = vec![Vec::new(); parts];
    for rating in ratings {
        let buffer: &mut Vec<u8> = &mut outgoing[owner_of(rating.item, parts)];
        buffer.extend_from_slice(&rating.item.to_le_bytes());
        buffer.extend_from_slice(&rating.user.to_le_bytes());
        buffer.extend_from_slice(&rating.stars.to_le_bytes());
    }
    outgoing
}

fn triples(bytes: &[u8]) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
    bytes.as_chunks::<4>().0.as_chunks::<3>().0.iter().map(|[row, column, stars]| {
        (u32::from_le_bytes(*row), u32::from_le_bytes(*column), f32::from_le_bytes(*stars))
    })
}
