//! An application's request to Spark, and how its answer is read.

use crosstalk_core::Fault;
use crosstalk_core::record::Reading;
use serde_json::{Map, Value};
use std::path::Path;

/// A JSON object.
pub type Object = Map<String, Value>;

/// Makes a job's request for so many cores; the folder is for files that every node sees.
pub type MakeRequest = Box<dyn Fn(&Path, usize) -> Result<Value, Fault> + Send>;

/// Checks an answer; returns the application's readings beyond the times.
pub type Check = Box<dyn Fn(&Object, &Path) -> Result<Vec<Reading>, Fault> + Send>;

/// What an application asks of Spark, and how its answer is checked.
pub struct Job {
    /// Slaves: executors.
    pub slaves: usize,
    /// Makes the request. Its files may exist already, from an earlier attempt.
    pub request: MakeRequest,
    /// Reads the answer.
    pub check: Check,
}
