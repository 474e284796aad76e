//! Finds how to group users: a search over how many groups there are, who is with whom and what limits them, then fresh
//! pairs of runs against plain, which decide.
//!
//! [`need`] learns what users need, [`search`] runs groupings, [`verdict`] decides, [`why`] says why. All of that is
//! pure; [`trial`] runs groups on this machine.

mod counted;
mod findings;
mod grouping;
mod host;
mod lines;
mod need;
mod place;
mod result;
mod search;
mod trial;
mod tuning;
mod verdict;
mod why;

pub use counted::Counted;
pub use grouping::Grouping;
pub use host::memory_of_host;
pub use lines::quote;
pub use result::{Beside, GroupRecord, Parts, RunRecord, Tuned, schema};
pub use search::Ending;
pub use trial::Trial;
pub use tuning::{Progress, TuneRequest, tune};
pub use verdict::{Conclusion, Pair, Verdict};
