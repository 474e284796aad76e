//! Which engine runs an application, as a study says.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter};

/// The parameters by which an application's engine is chosen and set up.
pub const PARAMETERS: [&str; 5] = ["engine", "master", "worker_cores", "worker_memory", "passes"];

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
    /// The user's own cluster: its master's URL. `None`: a cluster in the nodes.
    pub master: Option<String>,
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
            return match PARAMETERS[1..].iter().find(|name| params.get(name).is_some()) {
                None => Ok(Engine::Native),
                Some(name) => Err(parameter(name, "it sets up Spark, and the engine is `native`".into())
                    .remedy(format!("leave out `{name}`, or ask for engine = \"spark\" (--engine spark)"))),
            };
        }
        Ok(Engine::Spark(Spark {
            master: master(params)?,
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

    /// How many nodes an application with so many slaves takes: on the user's own
    /// cluster only the driver's.
    pub fn nodes(&self, slaves: usize) -> usize {
        match self {
            Engine::Spark(Spark { master: Some(_), .. }) => 1,
            _ => slaves + 1,
        }
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

fn master(params: &Params) -> Result<Option<String>, Fault> {
    let master = params.text("master", "")?;
    let address = master.strip_prefix("spark://").and_then(|rest| rest.rsplit_once(':'));
    let sound = address.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if master.is_empty() || sound {
        return Ok((!master.is_empty()).then(|| master.to_string()));
    }
    Err(parameter("master", format!("expected a master's URL, found `{master}`"))
        .remedy("write for example spark://10.0.0.1:7077, as the master's own page says"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Engine, Fault> {
        Engine::new(&pairs.iter().fold(Params::default(), |params, (name, value)| params.with(name, *value)))
    }

    #[test]
    fn what_is_not_said_is_native() {
        let engine = with(&[]).expect("reads");
        assert_eq!((engine.nodes(6), engine.spark()), (7, None));
    }

    #[test]
    fn a_cluster_of_ones_own_needs_only_the_driver() {
        let engine = with(&[("engine", "spark"), ("master", "spark://10.0.0.1:7077")]).expect("reads");
        assert_eq!(engine.nodes(6), 1);
        assert_eq!(with(&[("engine", "spark")]).expect("reads").nodes(6), 7);
    }

    #[test]
    fn bad_values_are_named() {
        let refusal = |pairs: &[(&str, &str)]| with(pairs).expect_err("refused").to_string();
        assert!(refusal(&[("engine", "sparc")]).contains("did you mean `spark`?"));
        assert!(refusal(&[("master", "spark://a:1")]).contains("the engine is `native`"));
        for wrong in ["a:1", "spark://a", "spark://:1", "spark://a:b", "http://a:1"] {
            assert!(refusal(&[("engine", "spark"), ("master", wrong)]).contains("expected a master's URL"));
        }
        assert!(refusal(&[("engine", "spark"), ("worker_memory", "1 MB")]).contains("at least 512 MiB"));
        assert!(refusal(&[("engine", "spark"), ("worker_cores", "0")]).contains("at least 1"));
    }
}
