//! The parameters of an ALS run.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::{Params, Value, parameter_fault};
use std::path::PathBuf;

use super::source::Source;
use crate::dataset::checked_set;
use crate::engine::{Engine, settings as engine};
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

/// The parameters of the workload `als`.
pub const PARAMETERS: Parameters = Parameters(&[OWN, &[RECORD, REPLAY], engine::PARAMETERS]);

const OWN: &[Parameter] = &[
    Parameter::new("slaves", "1", "nodes that compute; one more coordinates"),
    Parameter::new("scale", "1", "of the generated ratings: 100,004 times that, 0.1 to 1000"),
    Parameter::new(
        "ratings",
        "generated",
        "MovieLens's ratings.csv, ratings.dat or u.data instead, on the master's node",
    ),
    Parameter::new(
        "data",
        "generated",
        "a data set of `crosstalk data` instead, `movielens-2016`, in the directory of $CROSSTALK_DATA, else ./data",
    ),
    Parameter::new("personal", "generated", "a file with the new user's ratings"),
    Parameter::new("rank", "[8, 12]", "numbers in a factor vector: one, or a list"),
    Parameter::new("lambda", "[0.1, 10]", "weight of the regularisation: one, or a list"),
    Parameter::new("iterations", "[10, 20]", "of each model: one, or a list"),
    Parameter::new("recommend", "50", "films recommended to the new user"),
    Parameter::new("seed", "1", "of the generated ratings, and of what models start from"),
    Parameter::new("output", "none", "a directory for the best model and the recommendations"),
];

/// The largest scale: 100 million ratings.
const LARGEST_SCALE: f64 = 1000.0;
/// The smallest: below, the users could not rate enough different items.
const SMALLEST_SCALE: f64 = 0.1;
/// The largest rank.
const LARGEST_RANK: f64 = 1024.0;

/// The setting of one model of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelSetting {
    /// Numbers in a factor vector.
    pub rank: usize,
    /// Weight of the regularisation.
    pub lambda: f64,
    /// Iterations, each a half for the items and a half for the users.
    pub iterations: usize,
}

/// What the workload `als` computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Slaves; beside them there is one master.
    pub slaves: usize,
    /// The ratings.
    pub source: Source,
    /// The new user's ratings: a file like CloudSuite's, if any.
    pub personal: Option<PathBuf>,
    /// The models to train, in CloudSuite's order: by rank, then by lambda, then
    /// by iterations.
    pub grid: Vec<ModelSetting>,
    /// How many items to recommend.
    pub recommend: usize,
    /// Seed of the models' start.
    pub seed: u64,
    /// The engine.
    pub engine: Engine,
    /// The directory for the best model and the recommendations, if any.
    pub output: Option<PathBuf>,
}

impl Config {
    /// Reads and checks the parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let engine = Engine::from_params(params)?;
        engine.refuse_native_only(params, &["output"])?;
        let ranks = list(params, "rank", &[8.0, 12.0], whole(LARGEST_RANK))?;
        let lambdas = list(params, "lambda", &[0.1, 10.0], ("a number of at least 0".into(), |x| x >= 0.0))?;
        let iterations = list(params, "iterations", &[10.0, 20.0], whole(1e6))?;
        let mut grid = Vec::new();
        for rank in &ranks {
            for lambda in &lambdas {
                grid.extend(iterations.iter().map(|iterations| ModelSetting {
                    rank: *rank as usize,
                    lambda: *lambda,
                    iterations: *iterations as usize,
                }));
            }
        }
        let slaves = params.count("slaves", 1, 1)?;
        if slaves > 4096 {
            return Err(parameter_fault("slaves", format!("expected at most 4096, found {slaves}")));
        }
        Ok(Config {
            slaves: slaves as usize,
            source: source(params)?,
            personal: params.path("personal")?,
            grid,
            recommend: params.count("recommend", 50, 1)? as usize,
            seed: params.count("seed", 1, 0)?,
            engine,
            output: params.path("output")?,
        })
    }

    /// The number of iterations of all models together.
    pub fn all_iterations(&self) -> usize {
        self.grid.iter().map(|setting| setting.iterations).sum()
    }
}

fn source(params: &Params) -> Result<Source, Fault> {
    if params.get("data").is_some() {
        let name = params.text("data", "")?;
        if let Some(other) = ["ratings", "scale"].into_iter().find(|other| params.get(other).is_some()) {
            return Err(parameter_fault(other, "`data` names the ratings".into())
                .remedy(format!("leave out `data` or `{other}`")));
        }
        return Ok(Source::DataSet(checked_set(name).map_err(|fault| fault.of_parameter("data"))?));
    }
    if let Some(path) = params.path("ratings")? {
        if params.get("scale").is_some() {
            return Err(parameter_fault(
                "scale",
                "it shapes generated ratings, and `ratings` names a file".into(),
            )
            .remedy("leave out `ratings` or `scale`"));
        }
        return Ok(Source::File(path));
    }
    let scale = params.float("scale", 1.0)?;
    if !(SMALLEST_SCALE..=LARGEST_SCALE).contains(&scale) {
        let expected = format!("expected a number from {SMALLEST_SCALE} to {LARGEST_SCALE}, found {scale}");
        return Err(parameter_fault("scale", expected));
    }
    Ok(Source::Generated { scale, seed: params.count("seed", 1, 0)? })
}

/// The condition on a count, in words and as a function.
fn whole(most: f64) -> (String, impl Fn(f64) -> bool) {
    let holds = move |x: f64| x.fract() == 0.0 && (1.0..=most).contains(&x);
    (format!("a whole number from 1 to {most}"), holds)
}

/// One number or a list of them.
fn list(
    params: &Params,
    name: &str,
    default: &[f64],
    (expected, holds): (String, impl Fn(f64) -> bool),
) -> Result<Vec<f64>, Fault> {
    let values = match params.get(name) {
        None => return Ok(default.to_vec()),
        Some(Value::List(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
    };
    if values.is_empty() {
        return Err(parameter_fault(name, "expected a number or a list of numbers, found nothing".into()));
    }
    let number = |value: &Value| {
        let number = value.number().filter(|x| x.is_finite() && holds(*x));
        number.ok_or_else(|| parameter_fault(name, format!("expected {expected}, found `{value}`")))
    };
    values.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
