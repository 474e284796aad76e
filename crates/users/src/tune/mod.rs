//! Finds how to group users: a search over how many groups there are, who is with whom and what limits them, then fresh
//! pairs of runs against plain, which decide.
//!
//! [`checks`] refuses what cannot work here, [`learning`] and [`need`] learn what users need, [`search`] runs groupings,
//! [`verdict`] decides, [`why`] says why; [`runner`] runs groups on this machine. [`comparison`] runs groupings as they
//! are, with exact groups and limits.

mod cached;
mod checks;
mod comparison;
mod findings;
mod grouping;
mod host;
mod learning;
mod limits;
mod lines;
mod names;
mod need;
mod neighbours;
mod partial;
mod plan;
mod request;
mod result;
mod run;
mod run_counts;
mod runner;
mod search;
mod tuning;
mod verdict;
mod why;

pub use cached::CachedReads;
pub use comparison::{ComparedGrouping, Comparison};
pub use grouping::LEGEND;
pub use host::memory_of_host;
pub use limits::in_words;
pub use lines::quote;
pub use names::{numbers, users_in_words};
pub use need::NeedsGap;
pub use partial::PartialResult;
pub use request::{ComparisonRequest, Progress, TuneRequest};
pub use result::{GroupRecord, GroupingRecord, Neighbour, RunRecord, TimeParts, TuneResult, schema};
pub use run_counts::RunCounts;
pub use tuning::{tune, tune_compare};
pub use verdict::{Conclusion, EQUIVALENT, Pair, Verdict};
