//! Tests of `spark`.

use super::*;
use crosstalk_core::value::Params;
use std::fmt::Write;

fn config() -> Config {
    let params = Params::default().with("scale", 0.1).with("rank", 4).with("iterations", 5);
    Config::from_params(&params.with("lambda", 0.1)).expect("reads")
}

/// Our own model, written and reported as Spark would.
fn answered(config: &Config, scratch: &Path) -> Object {
    let split = config.source.open(None).and_then(|input| input.read_split()).expect("reads");
    let mut alone = Alone;
    let mut node = UntimedNode(&mut alone);
    let shard = Shard::build(split.clone(), &mut node).expect("builds");
    // From another start, as MLlib's would be.
    let model = train(&shard, &config.grid[0], 77, &mut node).expect("trains");
    let mut whole = WholeModel::default();
    whole.add_part(&WholeModel::pack_part(&shard, &model), 4).expect("is whole");
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
    let error = |part: &[_]| squared_errors(part, &whole).expect("finite").root_mean(part.len());
    let answer = json!({
        "best": [4, 0.1, 5], "rmse_mean": 1.0,
        "rmse_validation": error(&split.validation), "rmse_test": error(&split.test),
    });
    answer.as_object().expect("an object").clone()
}

#[test]
fn a_model_from_another_start_is_taken_and_a_wrong_report_is_not() {
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
fn mllib_trains_the_whole_grid() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let config = Config::from_params(&Params::default().with("scale", 0.1)).expect("reads");
    let request = request(&config, scratch.path(), 2).expect("asks");
    assert_eq!((&request["rank"], &request["iterations"]), (&json!([8, 12]), &json!([10, 20])));
    assert_eq!(request["lambda"], json!([0.1, 10.0]));
    let text = fs::read_to_string(scratch.path().join("personal.csv")).expect("is written");
    assert!(text.starts_with("0,") && text.lines().count() == 11, "{text}");
}
