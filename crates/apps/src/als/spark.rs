//! ALS on Spark: MLlib's own, asked for through `engine::spark`. Its model is held
//! against the ratings and against ours: MLlib starts from other random numbers, so
//! that factors differ and errors agree only nearly.

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

use super::config::{Config, Setting};
use super::node::Untimed;
use super::rating::Split;
use super::shard::Shard;
use super::train::train;
use super::verify::{squares, users_solve};
use super::wire::{ById, Whole};
use crate::engine::spark::{Job, Object, lines, number};
use crate::exchange::Alone;

/// How far MLlib's test error may lie from ours, as a share: where the start differs.
const ALIKE: f64 = 0.01;

/// How far an error that MLlib tells may lie from that of its model: its predictions
/// are in single precision.
const ROUNDING: f64 = 1e-4;

/// What MLlib is asked, and how its answer is checked.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        ask: Box::new(move |scratch, cores| ask(&config, scratch, cores)),
        check: Box::new(move |answer, scratch| check(&checked, answer, scratch)),
    }
}

fn model(scratch: &Path) -> PathBuf {
    scratch.join("als-model")
}

fn ask(config: &Config, scratch: &Path, cores: usize) -> Result<Value, Fault> {
    let input = config.source.open(config.personal.as_deref())?;
    let (ratings, personal) = (scratch.join("ratings.csv"), scratch.join("personal.csv"));
    let own: String =
        input.personal().iter().map(|rating| format!("0,{},{}\n", rating.item, rating.stars)).collect();
    for (path, text) in [(&ratings, &*input.csv()?), (&personal, own.as_bytes())] {
        fs::write(path, text)
            .map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))?;
    }
    let each = |of: fn(&Setting) -> f64| {
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
    let split = config.source.open(config.personal.as_deref())?.read()?;
    let best = best(config, answer)?;
    let whole = Whole {
        users: vectors(&model(scratch).join("users"), best.rank)?,
        items: vectors(&model(scratch).join("items"), best.rank)?,
        ..Whole::default()
    };
    for (name, part) in [("rmse_validation", &split.validation), ("rmse_test", &split.test)] {
        let (told, found) = (number(answer, name)?, squares(part, &whole)?.root_mean(part.len()));
        if (told - found).abs() > ROUNDING * found {
            return Err(wrong(format!("its {name} is {told}, its model's {found}")));
        }
    }
    users_solve(&split.training, &whole, best.lambda, config.seed)?;
    let (theirs, ours) = (number(answer, "rmse_test")?, our_error(&split, &best, config.seed)?);
    if (theirs / ours - 1.0).abs() > ALIKE {
        return Err(wrong(format!("its test error is {theirs}, that of our model of the same rank {ours}")));
    }
    let computed = |metric, value| Reading::value(metric, value, Origin::Computed);
    Ok(vec![
        computed("rmse_validation", number(answer, "rmse_validation")?),
        computed("rmse_test", theirs),
        computed("rmse_baseline", number(answer, "rmse_mean")?),
        computed("best_rank", best.rank as f64),
        computed("best_lambda", best.lambda),
        computed("best_iterations", best.iterations as f64),
    ])
}

/// Which model of the grid MLlib found best.
fn best(config: &Config, answer: &Object) -> Result<Setting, Fault> {
    let told: Vec<f64> = answer
        .get("best")
        .and_then(Value::as_array)
        .map(|best| best.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    let is = |setting: &&Setting| told == [setting.rank as f64, setting.lambda, setting.iterations as f64];
    config.grid.iter().find(is).copied().ok_or_else(|| wrong(format!("{told:?} is no model of the grid")))
}

/// Id → vector, as Spark wrote them.
fn vectors(folder: &Path, rank: usize) -> Result<ById, Fault> {
    let vector = |line: &str| {
        let (id, numbers) = line.split_once('\t')?;
        let numbers: Vec<f32> = numbers.split('\t').map(|x| x.parse().ok()).collect::<Option<_>>()?;
        (numbers.len() == rank).then_some((id.parse().ok()?, numbers))
    };
    Ok(lines(folder, vector)?.into_iter().collect())
}

/// The test error of our own model with the same setting.
fn our_error(split: &Split, setting: &Setting, seed: u64) -> Result<f64, Fault> {
    let mut alone = Alone;
    let mut node = Untimed(&mut alone);
    let shard = Shard::build(split.clone(), &mut node)?;
    let model = train(&shard, setting, seed, &mut node)?;
    let mut whole = Whole::default();
    whole.add(&Whole::pack(&shard, &model), setting.rank)?;
    Ok(squares(&split.test, &whole)?.root_mean(split.test.len()))
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer from Spark: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Params;
    use std::fmt::Write;

    fn config() -> Config {
        let params = Params::default().with("scale", 0.1).with("rank", 4).with("iterations", 5);
        Config::new(&params.with("lambda", 0.1)).expect("reads")
    }

    /// Our own model, written and told as Spark would.
    fn answered(config: &Config, scratch: &Path) -> Object {
        let split = config.source.open(None).and_then(|input| input.read()).expect("reads");
        let mut alone = Alone;
        let mut node = Untimed(&mut alone);
        let shard = Shard::build(split.clone(), &mut node).expect("builds");
        // From another start, as MLlib's would be.
        let model = train(&shard, &config.grid[0], 77, &mut node).expect("trains");
        let mut whole = Whole::default();
        whole.add(&Whole::pack(&shard, &model), 4).expect("is whole");
        for (side, by_id) in [("users", &whole.users), ("items", &whole.items)] {
            let folder = scratch.join("als-model").join(side);
            fs::create_dir_all(&folder).expect("makes");
            let mut text = String::new();
            for (id, vector) in by_id {
                let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
                writeln!(text, "{id}\t{}", numbers.join("\t")).expect("writes");
            }
            fs::write(folder.join("part-00000"), text).expect("writes");
        }
        let error = |part: &[_]| squares(part, &whole).expect("finite").root_mean(part.len());
        let answer = json!({
            "best": [4, 0.1, 5], "rmse_mean": 1.0,
            "rmse_validation": error(&split.validation), "rmse_test": error(&split.test),
        });
        answer.as_object().expect("an object").clone()
    }

    #[test]
    fn a_model_from_another_start_is_taken_and_what_is_told_wrongly_is_not() {
        let (config, scratch) = (config(), tempfile::tempdir().expect("a temporary folder"));
        let answer = answered(&config, scratch.path());
        let readings = check(&config, &answer, scratch.path()).expect("is right");
        assert!(readings.iter().any(|reading| reading.metric == "rmse_test"));
        let refusal = |name: &str, value: Value| {
            let mut answer = answer.clone();
            answer.insert(name.into(), value);
            check(&config, &answer, scratch.path()).expect_err("refused").message
        };
        assert!(refusal("rmse_test", json!(0.5)).contains("its rmse_test is 0.5"));
        assert!(refusal("best", json!([5, 0.1, 5])).contains("no model of the grid"));
    }

    #[test]
    fn a_user_whose_vector_is_another_is_found() {
        let (config, scratch) = (config(), tempfile::tempdir().expect("a temporary folder"));
        let answer = answered(&config, scratch.path());
        let path = scratch.path().join("als-model/users/part-00000");
        let text = fs::read_to_string(&path).expect("reads");
        let (new_user, rest) = text.split_once('\n').expect("has lines");
        let (id, _) = new_user.split_once('\t').expect("has fields");
        fs::write(&path, format!("{id}\t1\t0\t0\t0\n{rest}")).expect("writes");
        let fault = check(&config, &answer, scratch.path()).expect_err("refused");
        assert!(fault.message.contains("user 0 does not solve its equations"), "{fault}");
    }

    #[test]
    fn mllib_is_asked_for_the_whole_grid() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let config = Config::new(&Params::default().with("scale", 0.1)).expect("reads");
        let request = ask(&config, scratch.path(), 2).expect("asks");
        assert_eq!((&request["rank"], &request["iterations"]), (&json!([8, 12]), &json!([10, 20])));
        assert_eq!(request["lambda"], json!([0.1, 10.0]));
        let text = fs::read_to_string(scratch.path().join("personal.csv")).expect("is written");
        assert!(text.starts_with("0,") && text.lines().count() == 11, "{text}");
    }
}
