//! What an application asks of Spark, and how it reads the answer.

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use serde_json::{Map, Value};
use std::path::Path;

/// A JSON object.
pub type Object = Map<String, Value>;

/// Makes the request, in a folder for files that every node sees, for so many cores.
pub type Ask = Box<dyn Fn(&Path, usize) -> Result<Value, Fault> + Send>;

/// Checks an answer, and says what the application reports beside the times.
pub type Check = Box<dyn Fn(&Object, &Path) -> Result<Vec<Reading>, Fault> + Send>;

/// One application's work for Spark.
pub struct Job {
    /// Slaves: executors.
    pub slaves: usize,
    /// Makes the request. Its files may be there already, from an earlier attempt.
    pub ask: Ask,
    /// Reads the answer.
    pub check: Check,
}
