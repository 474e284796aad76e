//! ALS on Spark: MLlib's, through `engine::spark`. Its model is checked against the ratings and against ours:
//! MLlib starts from other random numbers, so factors differ and errors agree only nearly.

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

use super::config::{Config, ModelSetting};
use super::node::UntimedNode;
use super::rating::Split;
use super::shard::Shard;
use super::train::train;
use super::verify::{check_user_factors, squared_errors};
use super::wire::{VectorsById, WholeModel};
use crate::engine::spark::{Job, Object, number_in_answer, parse_lines};
use crate::exchange::Alone;

/// Largest difference between MLlib's test error and ours, as a share, from other random numbers.
const ALIKE: f64 = 0.01;

/// Largest difference between an error that MLlib reports and its model's, whose predictions are in single
/// precision.
const ROUNDING: f64 = 1e-4;

/// The job of the workload `als` for Spark: the request to MLlib, and the check of its answer.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        request: Box::new(move |scratch, cores| request(&config, scratch, cores)),
        check: Box::new(move |answer, scratch| check(&checked, answer, scratch)),
    }
}

fn model(scratch: &Path) -> PathBuf {
    scratch.join("als-model")
}

fn request(config: &Config, scratch: &Path, cores: usize) -> Result<Value, Fault> {
    let input = config.source.open(config.personal.as_deref())?;
    let (ratings, personal) = (scratch.join("ratings.csv"), scratch.join("personal.csv"));
    let own: String = input
        .personal_ratings()
        .iter()
        .map(|rating| format!("0,{},{}\n", rating.item, rating.stars))
        .collect();
    for (path, text) in [(&ratings, &*input.csv_text()?), (&personal, own.as_bytes())] {
        fs::write(path, text)
            .map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))?;
    }
    let each = |of: fn(&ModelSetting) -> f64| {
        let mut values: Vec<f64> = Vec::new();
        for value in config.grid.iter().map(of) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let whole = |values: Vec<f64>| values.into_iter().map(|value| value as u64).collect::<Vec<_>>();
    Ok(json!({
        "do": "als",
        "ratings": ratings,
        "personal": personal,
        "rank": whole(each(|setting| setting.rank as f64)),
        "lambda": each(|setting| setting.lambda),
        "iterations": whole(each(|setting| setting.iterations as f64)),
        "recommend": config.recommend,
        "seed": config.seed,
        "partitions": cores,
        "output": model(scratch),
    }))
}

fn check(config: &Config, answer: &Object, scratch: &Path) -> Result<Vec<Reading>, Fault> {
    let split = config.source.open(config.personal.as_deref())?.read_split()?;
    let best = best(config, answer)?;
    let whole = WholeModel {
        users: vectors(&model(scratch).join("users"), best.rank)?,
        items: vectors(&model(scratch).join("items"), best.rank)?,
        ..WholeModel::default()
    };
    for (name, part) in [("rmse_validation", &split.validation), ("rmse_test", &split.test)] {
        let (reported, found) =
            (number_in_answer(answer, name)?, squared_errors(part, &whole)?.root_mean(part.len()));
        if (reported - found).abs() > ROUNDING * found {
            return Err(wrong(format!("its {name} is {reported}, its model's {found}")));
        }
    }
    check_user_factors(&split.training, &whole, best.lambda, config.seed)?;
    let (theirs, ours) = (number_in_answer(answer, "rmse_test")?, our_error(&split, &best, config.seed)?);
    if (theirs / ours - 1.0).abs() > ALIKE {
        return Err(wrong(format!("its test error is {theirs}, that of our model of the same rank {ours}")));
    }
    let computed = |metric, value| Reading::value(metric, value, Origin::Computed);
    Ok(vec![
        computed("rmse_validation", number_in_answer(answer, "rmse_validation")?),
        computed("rmse_test", theirs),
        computed("rmse_baseline", number_in_answer(answer, "rmse_mean")?),
        computed("best_rank", best.rank as f64),
        computed("best_lambda", best.lambda),
        computed("best_iterations", best.iterations as f64),
    ])
}

/// The model of the grid that MLlib found best.
fn best(config: &Config, answer: &Object) -> Result<ModelSetting, Fault> {
    let reported: Vec<f64> = answer
        .get("best")
        .and_then(Value::as_array)
        .map(|best| best.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    let is = |setting: &&ModelSetting| {
        reported == [setting.rank as f64, setting.lambda, setting.iterations as f64]
    };
    config.grid.iter().find(is).copied().ok_or_else(|| wrong(format!("{reported:?} is no model of the grid")))
}

/// Id → vector, as Spark wrote them.
fn vectors(folder: &Path, rank: usize) -> Result<VectorsById, Fault> {
    let vector = |line: &str| {
        let (id, numbers) = line.split_once('\t')?;
        let numbers: Vec<f32> = numbers.split('\t').map(|x| x.parse().ok()).collect::<Option<_>>()?;
        (numbers.len() == rank).then_some((id.parse().ok()?, numbers))
    };
    Ok(parse_lines(folder, vector)?.into_iter().collect())
}

/// The test error of our own model with the same setting.
fn our_error(split: &Split, setting: &ModelSetting, seed: u64) -> Result<f64, Fault> {
    let mut alone = Alone;
    let mut node = UntimedNode(&mut alone);
    let shard = Shard::build(split.clone(), &mut node)?;
    let model = train(&shard, setting, seed, &mut node)?;
    let mut whole = WholeModel::default();
    whole.add_part(&WholeModel::pack_part(&shard, &model), setting.rank)?;
    Ok(squared_errors(&split.test, &whole)?.root_mean(split.test.len()))
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer from Spark: {what}"))
}

#[cfg(test)]
mod tests;
