//! Which engine runs an application, as a study says.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter};

/// The parameters by which an application's engine is chosen and set up.
pub const PARAMETERS: [&str; 4] = ["engine", "worker_cores", "worker_memory", "passes"];

/// What runs an application.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// Our own program.
    Native,
    /// Apache Spark.
    Spark(Spark),
}

/// How Spark is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    /// Cores an executor computes on; by default its share of this machine's.
    pub cores: Option<usize>,
    /// An executor's heap; by default its share of an eighth of this machine's memory.
    pub memory: Option<Bytes>,
    /// The most passes that are made until Java is taken for warm.
    pub passes: u64,
}

/// The smallest heap that Spark starts with: 450 MiB and what it reserves.
const LEAST_MEMORY: u64 = 512 << 20;

impl Engine {
    /// Reads and checks the parameters.
    pub fn new(params: &Params) -> Result<Self, Fault> {
        if params.choice("engine", &["native", "spark"])? == "native" {
            // Where engines are compared, one is native beside what sets up the other.
            let chosen = params.get("engine").is_some();
            return match PARAMETERS[1..].iter().find(|name| !chosen && params.get(name).is_some()) {
                None => Ok(Engine::Native),
                Some(name) => Err(parameter(name, "it sets up Spark, and no engine is asked for".into())
                    .remedy(format!("leave out `{name}`, or ask for engine = \"spark\" (--engine spark)"))),
            };
        }
        Ok(Engine::Spark(Spark {
            cores: count(params, "worker_cores", 1, 4096)?.map(|cores| cores as usize),
            memory: memory(params)?,
            passes: params.bounded("passes", 8, 1, 1000)?,
        }))
    }

    /// Spark's set-up, where that is the engine.
    pub fn spark(&self) -> Option<&Spark> {
        match self {
            Engine::Native => None,
            Engine::Spark(spark) => Some(spark),
        }
    }

    /// What it needs of each machine.
    pub fn needs(&self) -> Vec<Need> {
        self.spark().map_or(Vec::new(), |_| super::spark::needs())
    }

    /// A fault where Spark is asked for what only our own program has.
    pub fn only_native(&self, params: &Params, names: &[&str]) -> Result<(), Fault> {
        match names.iter().find(|name| params.get(name).is_some()) {
            Some(name) if *self != Engine::Native => {
                Err(parameter(name, "Spark has no such setting".into()).remedy(format!("leave out `{name}`")))
            }
            _ => Ok(()),
        }
    }
}

fn count(params: &Params, name: &str, least: u64, most: u64) -> Result<Option<u64>, Fault> {
    params.get(name).map(|_| params.bounded(name, least, least, most)).transpose()
}

fn memory(params: &Params) -> Result<Option<Bytes>, Fault> {
    if params.get("worker_memory").is_none() {
        return Ok(None);
    }
    let size = params.size("worker_memory", Bytes(LEAST_MEMORY))?;
    if size.0 < LEAST_MEMORY {
        return Err(parameter("worker_memory", format!("Spark needs at least 512 MiB, found {} B", size.0)));
    }
    Ok(Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Engine, Fault> {
        Engine::new(&pairs.iter().fold(Params::default(), |params, (name, value)| params.with(name, *value)))
    }

    #[test]
    fn what_is_not_said_is_native() {
        assert_eq!(with(&[]).expect("reads").spark(), None);
    }

    #[test]
    fn bad_values_are_named() {
        let refusal = |pairs: &[(&str, &str)]| with(pairs).expect_err("refused").to_string();
        assert!(refusal(&[("engine", "sparc")]).contains("did you mean `spark`?"));
        assert!(refusal(&[("passes", "3")]).contains("no engine is asked for"));
        assert_eq!(with(&[("engine", "native"), ("passes", "3")]), Ok(Engine::Native));
        assert!(refusal(&[("engine", "spark"), ("worker_memory", "1 MB")]).contains("at least 512 MiB"));
        assert!(refusal(&[("engine", "spark"), ("worker_cores", "0")]).contains("at least 1"));
    }
}
