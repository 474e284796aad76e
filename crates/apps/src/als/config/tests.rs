//! Tests of `config`.

use super::*;

fn refusal(name: &str, value: impl Into<Value>) -> String {
    Config::from_params(&Params::default().with(name, value)).expect_err("refused").to_string()
}

fn with_list(name: &str, values: Vec<Value>) -> Result<Config, Fault> {
    let mut params = Params::default();
    params.0.insert(name.into(), Value::List(values));
    Config::from_params(&params)
}

#[test]
fn what_is_not_said_is_as_cloudsuite_has_it() {
    let config = Config::from_params(&Params::default()).expect("reads");
    assert_eq!((config.slaves, config.grid.len(), config.recommend), (1, 8, 50));
    assert_eq!(config.grid[0], ModelSetting { rank: 8, lambda: 0.1, iterations: 10 });
    assert_eq!(config.grid[1], ModelSetting { rank: 8, lambda: 0.1, iterations: 20 });
    assert_eq!(config.grid[2], ModelSetting { rank: 8, lambda: 10.0, iterations: 10 });
    assert_eq!(config.grid[7], ModelSetting { rank: 12, lambda: 10.0, iterations: 20 });
    assert_eq!(config.all_iterations(), 120);
}

#[test]
fn a_grid_is_listed_or_a_single_number() {
    let config = with_list("rank", vec![Value::Int(4), Value::Int(6), Value::Int(9)]).expect("reads");
    assert_eq!(config.grid.len(), 12);
    let config = Config::from_params(&Params::default().with("lambda", 0).with("rank", 100)).expect("reads");
    assert_eq!(config.grid.len(), 2);
    assert_eq!((config.grid[0].lambda, config.grid[0].rank), (0.0, 100));
}

#[test]
fn a_data_set_is_named_alone() {
    let with = |name: &str| Params::default().with("data", name);
    let config = Config::from_params(&with("movielens-2016")).expect("reads");
    assert!(matches!(&config.source, Source::DataSet(set) if set.name == "movielens-2016"));
    let ratings = config.source.about_ratings().expect("is known");
    assert!((95_000.0..105_000.0).contains(&ratings), "{ratings} of 100,004");
    assert!(refusal("data", "movielens-2015").contains("parameter `data`: unknown data set"));
    for (other, value) in [("scale", Value::from(2)), ("ratings", "my.csv".into())] {
        let fault = Config::from_params(&with("movielens-2016").with(other, value)).expect_err("refused");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains(&format!("`data` or `{other}`"))));
    }
}

#[test]
fn bad_values_are_named() {
    assert!(refusal("slaves", 0).starts_with("parameter `slaves`: expected a whole number of at least 1"));
    assert!(refusal("slaves", 5000).contains("at most 4096"));
    assert!(refusal("rank", 0).starts_with("parameter `rank`: expected a whole number from 1 to 1024"));
    assert!(refusal("rank", 8.5).contains("found `8.5`"));
    assert!(refusal("rank", 2000).contains("found `2000`"));
    assert!(refusal("lambda", -0.1).contains("a number of at least 0, found `-0.1`"));
    assert!(refusal("iterations", "ten").contains("found `ten`"));
    assert!(refusal("recommend", 0).contains("at least 1"));
    assert!(refusal("scale", 0.01).contains("from 0.1 to 1000, found 0.01"));
    assert!(refusal("ratings", 3).contains("expected a path"));
    assert!(refusal("ranks", 8).contains("did you mean `rank`?"));
    assert!(with_list("rank", Vec::new()).expect_err("refused").message.contains("found nothing"));
    let fault = with_list("rank", vec![Value::Int(8), Value::Bool(true)]).expect_err("refused");
    assert!(fault.message.contains("found `true`"), "{fault}");
}

#[test]
fn a_file_has_its_own_size() {
    let params = Params::default().with("ratings", "ratings.csv").with("scale", 2);
    let fault = Config::from_params(&params).expect_err("refused");
    assert_eq!(fault.remedy.as_deref(), Some("leave out `ratings` or `scale`"));
}
