//! The messages from the master to the slaves, and the results that it collects to check and write.

use crosstalk_core::Fault;
use std::collections::BTreeMap;

use super::factors::Factors;
use super::model::Model;
use super::rating::{Rating, Split};
use super::route::owner_of;
use super::shard::Shard;
use crate::exchange::{append_pair, read_numbers};

/// The sizes of the three parts of the split stand before a slave's ratings.
const SIZES: usize = 3;

/// The messages with each slave's users' ratings.
pub fn pack_ratings(split: &Split, slaves: usize) -> Vec<Vec<u8>> {
    let parts = [&split.training, &split.validation, &split.test];
    let mut sizes = vec![[0_u32; SIZES]; slaves];
    for (index, ratings) in parts.iter().enumerate() {
        ratings.iter().for_each(|rating| sizes[owner_of(rating.user, slaves)][index] += 1);
    }
    let mut dealt: Vec<Vec<u8>> = sizes
        .iter()
        .map(|sizes| {
            let ratings: u32 = sizes.iter().sum();
            let mut buffer = Vec::with_capacity(4 * SIZES + 12 * ratings as usize);
            buffer.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
            buffer
        })
        .collect();
    for rating in parts.into_iter().flatten() {
        let buffer = &mut dealt[owner_of(rating.user, slaves)];
        buffer.extend_from_slice(&rating.user.to_le_bytes());
        buffer.extend_from_slice(&rating.item.to_le_bytes());
        buffer.extend_from_slice(&rating.stars.to_le_bytes());
    }
    dealt
}

/// Reads the message of [`pack_ratings`] to this slave.
pub fn unpack_ratings(buffer: &[u8]) -> Result<Split, Fault> {
    let short = || Fault::attempt("the master's ratings came incomplete");
    let (sizes, ratings) = buffer.split_at_checked(4 * SIZES).ok_or_else(short)?;
    let sizes: Vec<usize> = read_numbers(sizes).map(|size| size as usize).collect();
    let triples = ratings.as_chunks::<4>().0.as_chunks::<3>().0;
    if triples.len() != sizes.iter().sum::<usize>() {
        return Err(short());
    }
    let mut rest = triples.iter().map(|[user, item, stars]| Rating {
        user: u32::from_le_bytes(*user),
        item: u32::from_le_bytes(*item),
        stars: f32::from_le_bytes(*stars),
    });
    let mut next = |count: usize| rest.by_ref().take(count).collect();
    Ok(Split { training: next(sizes[0]), validation: next(sizes[1]), test: next(sizes[2]) })
}

/// The factor vectors of rows, by the rows' ids.
pub type VectorsById = BTreeMap<u32, Vec<f32>>;

/// A whole model, collected from all slaves: the factor vectors of users and items, by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WholeModel {
    /// The users' vectors.
    pub users: VectorsById,
    /// The items'.
    pub items: VectorsById,
    /// The users' before the last half of the last iteration.
    pub earlier: VectorsById,
}

impl WholeModel {
    /// One slave's part of a model, as a message.
    pub fn pack_part(shard: &Shard, model: &Model) -> Vec<u8> {
        let (users, items) = (&shard.users.rows.ids, &shard.items.rows.ids);
        let mut buffer: Vec<u8> =
            [users.len() as u32, items.len() as u32].iter().flat_map(|n| n.to_le_bytes()).collect();
        for (ids, factors) in [(users, &model.users), (items, &model.items), (users, &model.earlier)] {
            for (row, id) in ids.iter().enumerate() {
                buffer.extend(id.to_le_bytes());
                buffer.extend(factors.row(row).iter().flat_map(|x| x.to_le_bytes()));
            }
        }
        buffer
    }

    /// Adds the part that [`WholeModel::pack_part`] wrote, for a model of this rank.
    pub fn add_part(&mut self, buffer: &[u8], rank: usize) -> Result<(), Fault> {
        let words = buffer.as_chunks::<4>().0;
        let short = || Fault::attempt("a slave's part of the model came incomplete");
        let [users, items, vectors @ ..] = words else { return Err(short()) };
        let (users, items) = (u32::from_le_bytes(*users) as usize, u32::from_le_bytes(*items) as usize);
        if vectors.len() != (2 * users + items) * (rank + 1) {
            return Err(short());
        }
        for (index, entry) in vectors.chunks_exact(rank + 1).enumerate() {
            let vector = entry[1..].iter().map(|x| f32::from_le_bytes(*x)).collect();
            let by_id = match index {
                index if index < users => &mut self.users,
                index if index < users + items => &mut self.items,
                _ => &mut self.earlier,
            };
            by_id.insert(u32::from_le_bytes(entry[0]), vector);
        }
        Ok(())
    }

    /// A checksum: equal for equal models, bit by bit.
    pub fn checksum(&self) -> u64 {
        let numbers = self
            .users
            .iter()
            .chain(&self.items)
            .flat_map(|(id, vector)| std::iter::once(*id).chain(vector.iter().map(|x| x.to_bits())));
        // FNV-1a over words (G. Fowler, L. C. Noll, K.-P. Vo, 1991).
        numbers.fold(0xCBF2_9CE4_8422_2325, |sum, number| {
            (sum ^ u64::from(number)).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
        })
    }
}

/// The predictions for a user, as bytes: item and prediction.
pub fn pack_predictions(ids: &[u32], items: &Factors, user: &[f32]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(ids.len() * 12);
    for (row, id) in ids.iter().enumerate() {
        append_pair(*id, super::factors::predict(user, items.row(row)), &mut buffer);
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rating(user: u32) -> Rating {
        Rating { user, item: user + 100, stars: 2.5 }
    }

    #[test]
    fn every_slave_is_dealt_its_users_ratings() {
        let split = Split {
            training: vec![rating(0), rating(3), rating(4)],
            validation: vec![rating(6)],
            test: vec![rating(1)],
        };
        let shares: Vec<Split> =
            pack_ratings(&split, 3).iter().map(|buffer| unpack_ratings(buffer).expect("complete")).collect();
        assert_eq!(shares[0].training, [rating(0), rating(3)]);
        assert_eq!(shares[0].validation, [rating(6)]);
        assert_eq!((&shares[1].training[..], &shares[1].test[..]), (&[rating(4)][..], &[rating(1)][..]));
        assert_eq!(shares[2], Split::default());
    }

    #[test]
    fn what_comes_incomplete_is_a_fault() {
        let split = Split { training: vec![rating(0)], ..Split::default() };
        let buffer = &pack_ratings(&split, 1)[0];
        assert!(unpack_ratings(&buffer[..buffer.len() - 12]).is_err());
        assert!(unpack_ratings(&[]).is_err());
        assert!(WholeModel::default().add_part(&[1, 0, 0, 0, 0, 0, 0, 0, 9], 3).is_err());
    }

    #[test]
    fn a_model_s_checksum_depends_on_its_vectors_and_ids() {
        let whole = |id: u32, x: f32| WholeModel {
            users: VectorsById::from([(id, vec![x])]),
            ..WholeModel::default()
        };
        assert_ne!(whole(1, 2.0).checksum(), whole(1, 2.000_000_2).checksum());
        assert_ne!(whole(1, 2.0).checksum(), whole(2, 2.0).checksum());
    }
}
