//! In-memory analytics: explicit alternating least squares as MLlib computes it,
//! on one master and N slaves.
//!
//! The stand-in for CloudSuite's In-Memory Analytics; `docs/explanation/als.md` has the
//! recurrence and where it comes from. The files in the order of a run:
//!
//! | file | holds |
//! |---|---|
//! | `config` | the parameters |
//! | `csv`, `alias`, `generate`, `source`, `rating` | the ratings, and their split |
//! | `wire` | the messages between master and slaves |
//! | `rows`, `route`, `shard`, `node` | the parts of the ratings, and the routes of factors between them |
//! | `factors`, `normal`, `cholesky`, `half_step` | the kernel |
//! | `train`, `model`, `squares`, `recommend` | models, their errors, and recommendations |
//! | `slave`, `master` | the two roles |
//! | `verify` | the check of every answer |
//! | `spark` | the same on Spark |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Prepared};

use crate::application::{self, Role};
use crate::engine;
use config::Config;
use crosstalk_work::{Declared, Elsewhere, Portable};

mod alias;
mod cholesky;
pub mod config;
pub(crate) mod csv;
pub mod factors;
mod generate;
mod half_step;
mod master;
pub mod model;
pub mod node;
mod normal;
pub mod rating;
mod recommend;
#[cfg(test)]
mod reference;
pub mod route;
pub mod rows;
pub mod shard;
mod slave;
pub mod source;
mod spark;
pub mod squares;
pub mod train;
mod verify;
mod wire;

/// The workload `als`: recommendations by alternating least squares.
pub const ALS: Portable<Config> = Portable {
    declared: Declared {
        name: "als",
        title: "In-memory analytics: the ALS recommender as MLlib computes it, one master and N slaves",
        parameters: config::PARAMETERS,
        read: Config::from_params,
        deploy,
        needs: |config| config.engine.needs().into_iter().chain(config.source.need()).collect(),
        prepare,
    },
    elsewhere: Elsewhere::Replayed(|_| Box::new(crate::account::report_replayed)),
};

fn deploy(config: &Config) -> Deployment {
    if let Some(settings) = config.engine.spark() {
        return engine::spark::deployment(settings, config.slaves, answer(), on_spark(config));
    }
    let mut own = vec![Metric::new("ratings_per_second", "ratings/s", Better::Higher).above_zero()];
    own.extend(answer());
    application::deployment(config.slaves, own, seconds(config))
}

/// The metrics of the models.
fn answer() -> Vec<Metric> {
    vec![
        Metric::new("rmse_validation", "", Better::Lower),
        Metric::new("rmse_test", "", Better::Lower),
        Metric::new("rmse_baseline", "", Better::Neither),
        Metric::new("best_rank", "", Better::Neither),
        Metric::new("best_lambda", "", Better::Neither),
        Metric::new("best_iterations", "", Better::Neither),
    ]
}

/// Seconds on two cores of the yardstick: ratings are generated, read twice and sent; each iteration passes
/// over them twice and solves for every row.
fn seconds(config: &Config) -> f64 {
    let ratings = config.source.about_ratings().unwrap_or(1e5);
    let work = |setting: &config::ModelSetting| {
        let rank = setting.rank as f64;
        setting.iterations as f64 * (1e-8 + rank * rank * 1.5e-10 + rank.powi(3) * 5e-12)
    };
    let passes: f64 = config.grid.iter().map(work).sum();
    0.1 + 0.1 * config.slaves as f64 + ratings * (2e-6 + passes)
}

/// Seconds on Spark: every iteration has stages, which take the time of small tasks.
fn on_spark(config: &Config) -> f64 {
    let iterations: usize = config.grid.iter().map(|setting| setting.iterations).sum();
    2.4 + 0.14 * iterations as f64 + config.source.about_ratings().unwrap_or(1e5) * 2.1e-5
}

fn prepare(config: Config, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if let Some(settings) = config.engine.spark().cloned() {
        return engine::spark::prepare(part, settings, spark::job(config));
    }
    let role = match application::slave_number(part, config.slaves)? {
        None => {
            let (input, part) = (config.source.open(config.personal.as_deref())?, part.clone());
            Role::Master(Box::new(move |rank| master::run(&config, &input, &part, rank)))
        }
        Some(_) => Role::Slave(Box::new(move |rank| slave::run(&config, rank))),
    };
    application::prepare(part, role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Params;

    #[test]
    fn a_study_that_names_slaves_gets_a_master_too() {
        let deployment = ALS.deploy(&Params::default().with("slaves", 6)).expect("deploys");
        assert_eq!(deployment.nodes, 7);
        assert_eq!(deployment.metrics[0].name, "completion_time");
        assert!(ALS.deploy(&Params::default().with("slaves", 0)).is_err());
    }
}
