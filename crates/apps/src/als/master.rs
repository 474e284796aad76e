//! The master: reads the ratings and sends them to the slaves, lets them train models, chooses the best,
//! recommends, and checks the answer. Like Spark's driver it trains nothing.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::config::{Config, Setting};
use super::rating::NEW_USER;
use super::recommend::best;
use super::route::owner;
use super::shard;
use super::source::Input;
use super::squares::Squares;
use super::train;
use super::verify;
use super::wire::{Whole, deal};
use crate::account::{Answer, cores, origin};
use crate::coordination::{MASTER, broadcast, collect, collect_exactly, join_empty};
use crate::exchange::pairs;

/// A model with its validation error.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EvaluatedModel {
    setting: Setting,
    squares: Squares,
    rmse: f64,
}

/// Runs the master.
pub fn run(config: &Config, input: &Input, part: &Part, rank: &mut Rank) -> Result<Answer, Fault> {
    rank.restart_clock()?;
    let split = input.read()?;
    let mut dealt = rank.serialise(|| deal(&split, config.slaves));
    dealt.insert(MASTER, Vec::new());
    rank.scatter(MASTER, dealt)?;
    (0..shard::EXCHANGES).try_for_each(|_| join_empty(rank))?;
    let held = total(collect_exactly(rank)?);
    let loading = rank.now();

    let (judged, chosen) = choose(config, split.validation.len(), rank)?;
    join_empty(rank)?;
    let test = squares(rank)?;
    let rmse_test = test.root_mean(split.test.len());
    let baseline = split.baseline();
    let rated: BTreeSet<u32> =
        split.training.iter().filter(|rating| rating.user == NEW_USER).map(|rating| rating.item).collect();
    rank.bcast(owner(NEW_USER, config.slaves) + 1, &mut Vec::new())?;
    let predicted = rank.gather(MASTER, &[])?.unwrap_or_default();
    let recommended = best(predicted.iter().flat_map(|buffer| pairs(buffer)), &rated, config.recommend);
    let account = rank.account();

    let exchanged = collect(rank)?.iter().flatten().sum();
    let mut whole = Whole::default();
    for part in rank.gather(MASTER, &[])?.unwrap_or_default().iter().skip(MASTER + 1) {
        whole.add(part, chosen.setting.rank)?;
    }
    let verdict = verify::counts(&split, held)
        .and_then(|()| verify::judged(&split.validation, &whole, &chosen.squares))
        .and_then(|()| verify::judged(&split.test, &whole, &test))
        .and_then(|()| verify::solved(&split.training, &whole, chosen.setting.lambda, part.seed))
        .and_then(|()| verify::recommended(&whole, &rated, &recommended, config.recommend));
    if let Some(directory) = &config.output {
        write(directory, &judged, &recommended)?;
    }
    let passes = 2.0 * config.iterations() as f64 * split.training.len() as f64;
    let rate = passes / (account.total().0 * cores(part));
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
    Ok(Answer { loading, account, exchanged, checksum: whole.checksum(), own, verdict })
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
        broadcast(rank, [u64::from(better)])?;
        // One more exchange brings the factors for validation.
        (0..train::exchanges(setting) + 1).try_for_each(|_| join_empty(rank))?;
        let squares = squares(rank)?;
        let model = EvaluatedModel { setting: *setting, squares, rmse: squares.root_mean(validation) };
        better = chosen.is_none_or(|best| model.rmse < best.rmse);
        if better {
            chosen = Some(model);
        }
        judged.push(model);
    }
    broadcast(rank, [u64::from(better)])?;
    let chosen = chosen.ok_or_else(|| Fault::usage("there is no model to train"))?;
    Ok((judged, chosen))
}

/// All slaves' squared errors.
fn squares(rank: &mut Rank) -> Result<Squares, Fault> {
    let mut sum = Squares::default();
    collect_exactly(rank)?.into_iter().for_each(|words| sum += Squares::from_words(words));
    Ok(sum)
}

fn total(parts: Vec<[u64; 4]>) -> [u64; 4] {
    parts.into_iter().fold([0; 4], |sum, part| std::array::from_fn(|index| sum[index] + part[index]))
}

/// Writes each model's validation error, and the recommendations.
fn write(directory: &Path, judged: &[EvaluatedModel], recommended: &[(u32, f64)]) -> Result<(), Fault> {
    let models = judged.iter().map(|model| {
        let Setting { rank, lambda, iterations } = model.setting;
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
