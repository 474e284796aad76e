//! The parameters of a classification run.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter_fault};
use std::path::PathBuf;

use super::category::NAMES;
use super::corpus::Corpus;
use super::source::{MOST_PAGES, Source};
use super::split::Split;
use crate::engine::{Engine, settings as engine};
use crate::mapreduce::budget;
use crate::mapreduce::record::Tally;
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

/// The parameters of the workload `bayes`.
pub const PARAMETERS: Parameters = Parameters(&[OWN, &[RECORD, REPLAY], engine::PARAMETERS]);

const OWN: &[Parameter] = &[
    Parameter::new("slaves", "1", "nodes that compute; one more coordinates"),
    Parameter::new("documents", "2000", "articles of the generated corpus"),
    Parameter::new("document_words", "400", "words of a generated article"),
    Parameter::new("vocabulary", "50000", "different words of the generated corpus"),
    Parameter::new("categories", "25", "of the generated corpus"),
    Parameter::new("topical", "0.3", "probability that a word of a generated article is about its topic"),
    Parameter::new("mislabelled", "0.1", "share of the generated articles that get another topic's category"),
    Parameter::new("seed", "1", "of the generated corpus"),
    Parameter::new(
        "corpus",
        "generated",
        "a MediaWiki export instead, on the master's node: plain, gzip, bzip2, xz or zstd",
    ),
    Parameter::new("remove_labels", "false", "whether category links are taken out of the text"),
    Parameter::new("ngrams", "2", "1: words; 2: pairs of neighbours, too"),
    Parameter::new("min_support", "2", "a word or pair must occur so often in all"),
    Parameter::new("max_df", "99", "and in no more than this percentage of the articles"),
    Parameter::new("test_percent", "20", "of the articles are held back"),
    Parameter::new("split_seed", "1", "chooses which"),
    Parameter::new("alpha", "1", "smoothing"),
    Parameter::new("norm", "false", "whether each label's weights are made to add up to 1"),
    Parameter::new(
        "memory_limit",
        "the node's memory; in real time 1 GiB",
        "for each slave, at least 256 KiB; what is beyond is spilled",
    ),
    Parameter::new("scratch", "the system's temporary directory", "where slaves spill to"),
    Parameter::new("output", "none", "a directory for the decisions, a file a slave"),
];

/// The parameters of generated corpora.
const GENERATED: &[&str] =
    &["documents", "document_words", "vocabulary", "categories", "topical", "mislabelled", "seed"];

/// What the workload `bayes` computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Slaves; beside them there is one master.
    pub slaves: usize,
    /// The corpus.
    pub source: Source,
    /// What is computed.
    pub settings: Settings,
    /// Memory of a slave, in bytes, if set.
    pub memory_limit: Option<Bytes>,
    /// The directory for spilled data.
    pub scratch: PathBuf,
    /// The directory for the decisions, if any.
    pub output: Option<PathBuf>,
    /// The engine.
    pub engine: Engine,
}

/// The settings of the computation: what counts as a feature, the split, the smoothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether category links are taken out of the text.
    pub remove_labels: bool,
    /// 1: words; 2: pairs of neighbours too.
    pub ngrams: u64,
    /// The least number of occurrences of a word or pair.
    pub min_support: u64,
    /// The largest percentage of documents that contain it.
    pub max_df: f64,
    /// The split into training and test.
    pub split: Split,
    /// Smoothing.
    pub alpha: f64,
    /// Whether each label's weights are made to add up to 1.
    pub norm: bool,
}

impl Settings {
    /// Whether a word or pair with this tally is not a stop word.
    pub fn is_feature(&self, tally: &Tally, documents: u64) -> bool {
        100.0 * tally.documents as f64 <= self.max_df * documents as f64
    }
}

impl Config {
    /// Reads and checks the parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let engine = Engine::from_params(params)?;
        engine.refuse_native_only(params, &["memory_limit", "scratch"])?;
        let split = Split {
            percent: params.bounded("test_percent", 20, 1, 99)?,
            seed: params.count("split_seed", 1, 0)?,
        };
        let settings = Settings {
            remove_labels: params.flag("remove_labels", false)?,
            ngrams: params.bounded("ngrams", 2, 1, 2)?,
            min_support: params.count("min_support", 2, 1)?,
            max_df: within(params, "max_df", 99.0, 100.0)?,
            split,
            alpha: params.float("alpha", 1.0)?,
            norm: params.flag("norm", false)?,
        };
        if settings.alpha < 1e-10 {
            let found = settings.alpha;
            return Err(parameter_fault(
                "alpha",
                format!("expected a number of at least 1e-10, found {found}"),
            ));
        }
        let slaves = params.bounded("slaves", 1, 1, 4096)? as usize;
        Ok(Config {
            slaves,
            memory_limit: limit(params, slaves)?,
            source: source(params)?,
            settings,
            scratch: params.path("scratch")?.unwrap_or_else(std::env::temp_dir),
            output: params.path("output")?,
            engine,
        })
    }
}

fn source(params: &Params) -> Result<Source, Fault> {
    if let Some(path) = params.path("corpus")? {
        if let Some(name) = GENERATED.iter().find(|name| params.get(name).is_some()) {
            return Err(parameter_fault(
                name,
                "it shapes generated corpora, and `corpus` names a file".into(),
            )
            .remedy(format!("leave out `corpus` or `{name}`")));
        }
        return Ok(Source::File(path));
    }
    Ok(Source::Generated(Corpus {
        documents: params.bounded("documents", 2000, 1, MOST_PAGES)?,
        words: params.bounded("document_words", 400, 1, 1 << 20)?,
        vocabulary: params.bounded("vocabulary", 50_000, 1, 1 << 28)?,
        categories: params.bounded("categories", NAMES.len() as u64, 1, NAMES.len() as u64)?,
        topical: within(params, "topical", 0.3, 1.0)?,
        mislabelled: within(params, "mislabelled", 0.1, 1.0)?,
        seed: params.count("seed", 1, 0)?,
    }))
}

/// The memory limit, if set: it must suffice for the least buffers.
fn limit(params: &Params, slaves: usize) -> Result<Option<Bytes>, Fault> {
    if params.get("memory_limit").is_none() {
        return Ok(None);
    }
    let (found, least) = (params.size("memory_limit", Bytes(0))?, budget::least_memory(slaves));
    if found.0 < least {
        let found = found.0;
        return Err(parameter_fault("memory_limit", format!("expected at least {least} B, found {found} B")));
    }
    Ok(Some(found))
}

fn within(params: &Params, name: &str, default: f64, most: f64) -> Result<f64, Fault> {
    let value = params.float(name, default)?;
    if !(0.0..=most).contains(&value) {
        return Err(parameter_fault(name, format!("expected a number from 0 to {most}, found {value}")));
    }
    Ok(value)
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
        let Config { slaves, settings, .. } = Config::from_params(&Params::default()).expect("reads");
        assert_eq!((slaves, settings.remove_labels, settings.ngrams, settings.min_support), (1, false, 2, 2));
        assert_eq!((settings.max_df, settings.split.percent, settings.alpha), (99.0, 20, 1.0));
    }

    #[test]
    fn bad_values_are_named() {
        assert!(
            refusal("slaves", 0).starts_with("parameter `slaves`: expected a whole number of at least 1")
        );
        assert!(refusal("slaves", 5000).contains("at most 4096"));
        assert!(refusal("documents", 0).contains("at least 1"));
        assert!(refusal("documents", (1 << 24) + 1).contains("at most 16777216"));
        assert!(refusal("categories", 26).contains("at most 25"));
        assert!(refusal("ngrams", 3).contains("at most 2"));
        assert!(refusal("topical", 1.5).contains("from 0 to 1, found 1.5"));
        assert!(refusal("max_df", -1.0).contains("from 0 to 100"));
        assert!(refusal("test_percent", 100).contains("at most 99"));
        assert!(refusal("alpha", 0.0).contains("at least 1e-10"));
        assert!(refusal("memory_limit", "1 KiB").starts_with("parameter `memory_limit`: expected at least"));
        assert!(refusal("corpus", 3).contains("expected a path"));
        assert!(refusal("norm", "l1").contains("true or false"));
        assert!(refusal("document", 3).contains("did you mean `documents`?"));
    }

    #[test]
    fn a_file_has_its_own_size() {
        let params = Params::default().with("corpus", "corpus.xml").with("documents", 20);
        let fault = Config::from_params(&params).expect_err("refused");
        assert_eq!(fault.remedy.as_deref(), Some("leave out `corpus` or `documents`"));
    }
}
