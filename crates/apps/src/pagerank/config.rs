//! The parameters of a PageRank run.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::{Params, parameter_fault};
use std::path::PathBuf;

use super::name::LARGEST_LABEL;
use super::rmat::Rmat;
use super::source::Source;
use crate::engine::{Engine, settings as engine};
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

/// The parameters of the workload `pagerank`.
pub const PARAMETERS: Parameters = Parameters(&[OWN, &[RECORD, REPLAY], engine::PARAMETERS]);

const OWN: &[Parameter] = &[
    Parameter::new("slaves", "1", "nodes that compute; one more coordinates"),
    Parameter::new("scale", "16", "of the generated graph: 2^scale ids, up to 28"),
    Parameter::new("edge_factor", "16", "edges of the generated graph for each id"),
    Parameter::new("graph", "generated", "an edge list instead: a file on every node"),
    Parameter::new("iterations", "3", "of the recurrence"),
    Parameter::new("reset", "0.15", "probability of starting anew somewhere"),
    Parameter::new("variant", "graphx", "`graphx`, or `graphx-normalised`: ranks scaled once at the end"),
    Parameter::new(
        "clock",
        "iterations",
        "what the time counts: `iterations`, once all is loaded, or `with-loading`: also that the master sends each slave \
         its part of the edge list as text, and that slaves build the graph",
    ),
    Parameter::new("seed", "1", "of the generated graph"),
    Parameter::new("output", "none", "a directory for the ranks, a file a slave"),
];

/// The largest scale: labels must stay within [`LARGEST_LABEL`].
const LARGEST_SCALE: u64 = LARGEST_LABEL.count_ones() as u64;

/// The most edges: 2^32, the most that one slave could hold.
const MOST_EDGES: u64 = 1 << 32;

/// The ranks' scale after the last iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankScale {
    /// Unchanged: GraphX before Spark 2.2, and since 3.2 with `normalized = false`.
    Plain,
    /// Scale them so that their sum is the number of vertices: GraphX since
    /// Spark 2.2 (SPARK-18847).
    Normalised,
}

/// What the workload `pagerank` computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Slaves; beside them there is one master.
    pub slaves: usize,
    /// The graph.
    pub source: Source,
    /// Iterations.
    pub iterations: usize,
    /// Probability of a jump to a random vertex.
    pub reset: f64,
    /// The ranks' scale.
    pub variant: RankScale,
    /// Whether loading the edges counts, too: the master then sends them.
    pub counts_loading: bool,
    /// The engine.
    pub engine: Engine,
    /// The directory for the slaves' ranks, if any.
    pub output: Option<PathBuf>,
}

impl Config {
    /// Reads and checks the parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let reset = params.float("reset", 0.15)?;
        if !(0.0..=1.0).contains(&reset) {
            return Err(parameter_fault(
                "reset",
                format!("expected a probability from 0 to 1, found {reset}"),
            ));
        }
        let variant = match params.choice("variant", &["graphx", "graphx-normalised"])? {
            "graphx-normalised" => RankScale::Normalised,
            _ => RankScale::Plain,
        };
        let counts_loading = params.choice("clock", &["iterations", "with-loading"])? == "with-loading";
        let engine = Engine::from_params(params)?;
        if counts_loading && engine.spark().is_some() {
            return Err(parameter_fault(
                "clock",
                "on Spark the clock starts once the edges are cached".into(),
            )
            .remedy("leave out `clock`"));
        }
        Ok(Config {
            counts_loading,
            slaves: params.bounded("slaves", 1, 1, 4096)? as usize,
            source: source(params)?,
            iterations: params.bounded("iterations", 3, 1, 1_000_000)? as usize,
            reset,
            variant,
            engine,
            output: params.path("output")?,
        })
    }

    /// Edges of the graph, where that is known without reading it.
    pub fn known_edges(&self) -> Option<u64> {
        match &self.source {
            Source::Rmat(graph) => Some(graph.edges()),
            Source::File(_) | Source::Held { .. } => None,
        }
    }
}

fn source(params: &Params) -> Result<Source, Fault> {
    if let Some(path) = params.path("graph")? {
        if let Some(name) = ["scale", "edge_factor", "seed"].iter().find(|name| params.get(name).is_some()) {
            return Err(parameter_fault(name, "it shapes generated graphs, and `graph` names a file".into())
                .remedy(format!("leave out `graph` or `{name}`")));
        }
        return Ok(Source::File(path));
    }
    let scale = params.bounded("scale", 16, 1, LARGEST_SCALE)?;
    let edge_factor = params.count("edge_factor", 16, 1)?;
    if edge_factor > MOST_EDGES >> scale {
        return Err(parameter_fault(
            "edge_factor",
            format!("2^{scale} vertices with {edge_factor} edges each are more than 2^32 edges"),
        ));
    }
    Ok(Source::Rmat(Rmat::new(scale as u32, edge_factor, params.count("seed", 1, 0)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Value;

    fn refusal(name: &str, value: impl Into<Value>) -> String {
        Config::from_params(&Params::default().with(name, value)).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_not_said_is_as_cloudsuite_has_it() {
        let config = Config::from_params(&Params::default()).expect("reads");
        assert_eq!((config.slaves, config.iterations, config.reset), (1, 3, 0.15));
        assert_eq!(config.variant, RankScale::Plain);
        assert_eq!(config.known_edges(), Some(16 << 16));
    }

    #[test]
    fn bad_values_are_named() {
        assert!(
            refusal("slaves", 0).starts_with("parameter `slaves`: expected a whole number of at least 1")
        );
        assert!(refusal("slaves", 5000).contains("at most 4096"));
        assert!(refusal("scale", 29).starts_with("parameter `scale`: expected at most 28, found 29"));
        assert!(refusal("iterations", 0).contains("at least 1"));
        assert!(refusal("iterations", 2.5).contains("found `2.5`"));
        assert!(refusal("edge_factor", -16).contains("at least 1"));
        assert!(refusal("edge_factor", 1 << 20).contains("more than 2^32 edges"));
        assert!(refusal("reset", 1.5).contains("expected a probability"));
        assert!(refusal("reset", "x").contains("a finite number"));
        assert!(refusal("graph", 3).contains("expected a path"));
        assert!(refusal("variant", "graphx-normalized").contains("did you mean `graphx-normalised`?"));
        assert!(refusal("clock", "loading").contains("with-loading"));
        assert!(refusal("iteration", 3).contains("did you mean `iterations`?"));
    }

    #[test]
    fn a_file_has_its_own_size() {
        let params = Params::default().with("graph", "graph.txt").with("scale", 20);
        let fault = Config::from_params(&params).expect_err("refused");
        assert_eq!(fault.remedy.as_deref(), Some("leave out `graph` or `scale`"));
    }
}
