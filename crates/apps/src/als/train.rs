//! Trains a model: from random user factors, in each iteration first all items'
//! factors from the users', then all users' from the items'.

use crosstalk_core::Fault;

use super::config::ModelSetting;
use super::factors::Factors;
use super::half_step::half_step;
use super::model::Model;
use super::node::Node;
use super::shard::Shard;

/// Exchanges that a model's training makes.
pub fn exchanges(setting: &ModelSetting) -> usize {
    2 * setting.iterations
}

/// Trains this slave's part, while all others train theirs.
pub fn train(shard: &Shard, setting: &ModelSetting, seed: u64, node: &mut impl Node) -> Result<Model, Fault> {
    let users = node.compute(|| Factors::random(&shard.users.rows.ids, setting.rank, seed));
    let none = Factors::zeros(0, setting.rank);
    let mut model = Model { users, items: none.clone(), earlier: none };
    for _ in 0..setting.iterations {
        let users = shard.items.route.fetch_vectors(&model.users, node)?;
        model.items = node.compute(move || half_step(&shard.items.rows, users, setting.lambda))?;
        let items = shard.users.route.fetch_vectors(&model.items, node)?;
        let users = node.compute(move || half_step(&shard.users.rows, items, setting.lambda))?;
        model.earlier = std::mem::replace(&mut model.users, users);
    }
    Ok(model)
}

#[cfg(test)]
mod tests;
