//! A slave: has a share of users and items, and trains models when the master says so.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::config::Config;
use super::factors::Factors;
use super::model::Model;
use super::node::{Node, TimedNode};
use super::rating::NEW_USER;
use super::route::owner_of;
use super::shard::Shard;
use super::train::train;
use super::wire::{WholeModel, pack_predictions, unpack_ratings};
use crate::coordination::{MASTER, broadcast_words, send_to_master};

/// Runs a slave; returns where its time went.
pub fn run(config: &Config, rank: &mut Rank) -> Result<TimeAccount, Fault> {
    rank.restart_clock()?;
    let buffer = rank.world().scatterv(MASTER, Vec::new())?;
    let split = rank.serialise(|| unpack_ratings(&buffer))?;
    drop(buffer);
    let mut node = TimedNode { rank, sent: 0 };
    let shard = Shard::build(split, &mut node)?;
    send_to_master(node.rank, &counts(&shard))?;

    let best = choose(config, &shard, &mut node)?;
    let squares = shard.test.squared_errors(&best, &mut node)?;
    send_to_master(node.rank, &squares.to_words())?;
    recommend(&shard, &best, &mut node)?;
    let (account, sent) = (node.rank.account()?, node.sent);

    send_to_master(rank, &[sent])?;
    rank.world().gatherv(MASTER, &WholeModel::pack_part(&shard, &best))?;
    if let Some(directory) = &config.output {
        let (part, users, items) = (rank.id() - 1, &shard.users.rows.ids, &shard.items.rows.ids);
        write(&directory.join(format!("users-{part:05}")), users, &best.users)?;
        write(&directory.join(format!("items-{part:05}")), items, &best.items)?;
    }
    Ok(account)
}

/// A slave's data: ratings by user and by item, for validation and the test.
fn counts(shard: &Shard) -> [u64; 4] {
    let [users, items] = [&shard.users, &shard.items].map(|side| side.rows.ratings.len() as u64);
    [users, items, shard.validation.count as u64, shard.test.count as u64]
}

/// Trains all models; the master says after each whether it is the best so far.
fn choose(config: &Config, shard: &Shard, node: &mut TimedNode) -> Result<Model, Fault> {
    let (mut best, mut last) = (None, None);
    for setting in &config.grid {
        if broadcast_words(node.rank, [0])? == [1] {
            best = last.take();
        }
        let model = train(shard, setting, config.seed, node)?;
        let squares = shard.validation.squared_errors(&model, node)?;
        send_to_master(node.rank, &squares.to_words())?;
        last = Some(model);
    }
    if broadcast_words(node.rank, [0])? == [1] {
        best = last;
    }
    best.ok_or_else(|| Fault::attempt("the master chose no model"))
}

/// Predicts all items here for the new user; the user's owner sends the vector to all slaves.
fn recommend(shard: &Shard, model: &Model, node: &mut TimedNode) -> Result<(), Fault> {
    let row = shard.users.rows.find(NEW_USER);
    let mut vector = node.serialise(|| {
        let own = row.map_or(&[][..], |row| model.users.row(row));
        own.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()
    });
    let owner = owner_of(NEW_USER, node.parts()) + 1;
    node.rank.world().bcast_vec(owner, &mut vector)?;
    let vector: Vec<f32> = vector.as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    let predictions = node.compute(|| pack_predictions(&shard.items.rows.ids, &model.items, &vector));
    node.rank.world().gatherv(MASTER, &predictions).map(drop)
}

/// Writes an id and its vector on each line.
fn write(path: &Path, ids: &[u32], factors: &Factors) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut file = BufWriter::new(File::create(path)?);
        for (row, id) in ids.iter().enumerate() {
            write!(file, "{id}")?;
            factors.row(row).iter().try_for_each(|x| write!(file, "\t{x}"))?;
            writeln!(file)?;
        }
        file.flush()
    };
    write().map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))
}
