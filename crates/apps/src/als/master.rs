//! The master: reads the ratings and sends them to the slaves, lets them train models, chooses the best,
//! recommends, and checks the answer. Like Spark's driver it trains nothing.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_work::peer::replay::origin;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::config::{Config, ModelSetting};
use super::rating::NEW_USER;
use super::recommend::best_items;
use super::route::owner_of;
use super::shard;
use super::source::Input;
use super::squares::Squares;
use super::train;
use super::verify;
use super::wire::{WholeModel, pack_ratings};
use crate::account::{MasterAnswer, slave_cores};
use crate::coordination::{
    MASTER, broadcast_words, collect_exactly_from_slaves, collect_from_slaves, join_exchange_empty,
};
use crate::exchange::read_pairs;

/// A model with its validation error.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EvaluatedModel {
    setting: ModelSetting,
    squares: Squares,
    rmse: f64,
}

/// Runs the master's part: sends the ratings to the slaves, and collects and checks their results.
pub fn run(config: &Config, input: &Input, part: &Part, rank: &mut Rank) -> Result<MasterAnswer, Fault> {
    rank.restart_clock()?;
    let split = input.read_split()?;
    let mut dealt = rank.serialise(|| pack_ratings(&split, config.slaves));
    dealt.insert(MASTER, Vec::new());
    rank.world().scatterv(MASTER, dealt)?;
    (0..shard::EXCHANGES).try_for_each(|_| join_exchange_empty(rank))?;
    let held = total(collect_exactly_from_slaves(rank)?);
    let loading = rank.now()?;

    let (judged, chosen) = choose(config, split.validation.len(), rank)?;
    join_exchange_empty(rank)?;
    let test = squares(rank)?;
    let rmse_test = test.root_mean(split.test.len());
    let baseline = split.baseline_error();
    let rated: BTreeSet<u32> =
        split.training.iter().filter(|rating| rating.user == NEW_USER).map(|rating| rating.item).collect();
    rank.world().bcast_vec(owner_of(NEW_USER, config.slaves) + 1, &mut Vec::new())?;
    let predicted = rank.world().gatherv(MASTER, &[])?.unwrap_or_default();
    let recommended =
        best_items(predicted.iter().flat_map(|buffer| read_pairs(buffer)), &rated, config.recommend);
    let account = rank.account()?;

    let exchanged = collect_from_slaves(rank)?.iter().flatten().sum();
    let mut whole = WholeModel::default();
    for part in rank.world().gatherv(MASTER, &[])?.unwrap_or_default().iter().skip(MASTER + 1) {
        whole.add_part(part, chosen.setting.rank)?;
    }
    let verdict = verify::check_counts(&split, held)
        .and_then(|()| verify::check_squared_errors(&split.validation, &whole, &chosen.squares))
        .and_then(|()| verify::check_squared_errors(&split.test, &whole, &test))
        .and_then(|()| verify::check_factors(&split.training, &whole, chosen.setting.lambda, part.seed))
        .and_then(|()| verify::check_recommendations(&whole, &rated, &recommended, config.recommend));
    if let Some(directory) = &config.output {
        write(directory, &judged, &recommended)?;
    }
    let passes = 2.0 * config.all_iterations() as f64 * split.training.len() as f64;
    let rate = passes / (account.total().0 * slave_cores(part));
    let computed = |metric, value| Reading::value(metric, value, Origin::Computed);
    let own = vec![
        Reading::value("ratings_per_second", rate, origin(part)),
        computed("rmse_validation", chosen.rmse),
        computed("rmse_test", rmse_test),
        computed("rmse_baseline", baseline),
        computed("best_rank", chosen.setting.rank as f64),
        computed("best_lambda", chosen.setting.lambda),
        computed("best_iterations", chosen.setting.iterations as f64),
    ];
    Ok(MasterAnswer { loading, account, exchanged, checksum: whole.checksum(), own, verdict })
}

/// Lets the slaves train and evaluate all models; of equally good ones the first is the best.
fn choose(
    config: &Config,
    validation: usize,
    rank: &mut Rank,
) -> Result<(Vec<EvaluatedModel>, EvaluatedModel), Fault> {
    let mut judged: Vec<EvaluatedModel> = Vec::new();
    let (mut chosen, mut better): (Option<EvaluatedModel>, bool) = (None, false);
    for setting in &config.grid {
        broadcast_words(rank, [u64::from(better)])?;
        // One more exchange brings the factors for validation.
        (0..train::exchanges(setting) + 1).try_for_each(|_| join_exchange_empty(rank))?;
        let squares = squares(rank)?;
        let model = EvaluatedModel { setting: *setting, squares, rmse: squares.root_mean(validation) };
        better = chosen.is_none_or(|best| model.rmse < best.rmse);
        if better {
            chosen = Some(model);
        }
        judged.push(model);
    }
    broadcast_words(rank, [u64::from(better)])?;
    let chosen = chosen.ok_or_else(|| Fault::usage("there is no model to train"))?;
    Ok((judged, chosen))
}

/// All slaves' squared errors.
fn squares(rank: &mut Rank) -> Result<Squares, Fault> {
    let mut sum = Squares::default();
    collect_exactly_from_slaves(rank)?.into_iter().for_each(|words| sum += Squares::from_words(words));
    Ok(sum)
}

fn total(parts: Vec<[u64; 4]>) -> [u64; 4] {
    parts.into_iter().fold([0; 4], |sum, part| std::array::from_fn(|index| sum[index] + part[index]))
}

/// Writes each model's validation error, and the recommendations.
fn write(directory: &Path, judged: &[EvaluatedModel], recommended: &[(u32, f64)]) -> Result<(), Fault> {
    let models = judged.iter().map(|model| {
        let ModelSetting { rank, lambda, iterations } = model.setting;
        format!("{rank}\t{lambda}\t{iterations}\t{}\n", model.rmse)
    });
    let items = recommended.iter().map(|(item, predicted)| format!("{item}\t{predicted}\n"));
    let files = [("models", models.collect::<String>()), ("recommendations", items.collect())];
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))?;
    }
    Ok(())
}
