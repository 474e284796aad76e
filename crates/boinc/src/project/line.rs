//! The journal's lines: the events of a project. Its state follows from them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use super::settings::Settings;

/// The version of the schema of a project's journal.
pub const SCHEMA: &str = "crosstalk.boinc-project/1";

/// The identity of a result: a work unit as it was sent to one host. Written `c_UNIT_INSTANCE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResultId {
    /// The work unit's number, from 0.
    pub unit: u64,
    /// How often the work unit was sent before.
    pub instance: u32,
}

/// The suffix of an output's name.
const OUTPUT: &str = "_out";

impl ResultId {
    /// The name of its work unit.
    pub fn unit_name(self) -> String {
        format!("c_{}", self.unit)
    }

    /// The name of its output file.
    pub fn output_name(self) -> String {
        format!("{self}{OUTPUT}")
    }

    /// The result with this output name.
    pub fn from_output_name(name: &str) -> Option<Self> {
        name.strip_suffix(OUTPUT)?.parse().ok()
    }
}

impl fmt::Display for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c_{}_{}", self.unit, self.instance)
    }
}

impl FromStr for ResultId {
    type Err = ();

    /// Accepts the exact spelling only: names come from hosts.
    fn from_str(name: &str) -> Result<Self, ()> {
        let (unit, instance) = name.strip_prefix("c_").and_then(|rest| rest.split_once('_')).ok_or(())?;
        let result =
            ResultId { unit: unit.parse().map_err(drop)?, instance: instance.parse().map_err(drop)? };
        if result.to_string() == name { Ok(result) } else { Err(()) }
    }
}

/// A version of the program that hosts run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its number, ascending from 1.
    pub number: u32,
    /// The program's file in the project's `download`.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its MD5.
    pub md5: String,
    /// Its signature, as hosts read it.
    pub signature: String,
}

/// How a result ended, as its host reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// With a plausible answer. Equal answers have equal digests.
    Valid {
        /// MD5 of the output.
        answer: String,
    },
    /// Without an answer.
    Failed {
        /// Why.
        why: String,
    },
}

/// One line of a project's journal. Times are Unix times, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Line {
    /// The first line: the settings, and the account's key.
    Project { schema: String, settings: Settings, key: String },
    /// The address at which it listens, and the one at which hosts find it.
    Address { listen: SocketAddr, url: String },
    /// Hosts get this version of the application from now on.
    Version(Version),
    /// A new host: its number, from 1, and its own name.
    Host { host: u64, name: String },
    /// A result was sent to a host; it counts as lost after the deadline.
    Sent {
        #[serde(flatten)]
        result: ResultId,
        host: u64,
        at: f64,
        deadline: f64,
    },
    /// A result's output was uploaded, with this outcome.
    Uploaded {
        #[serde(flatten)]
        result: ResultId,
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A host reported a result: its outcome, and its CPU time.
    Reported {
        #[serde(flatten)]
        result: ResultId,
        #[serde(flatten)]
        outcome: Outcome,
        cpu: f64,
        at: f64,
    },
    /// A result was not reported in time.
    Lost {
        #[serde(flatten)]
        result: ResultId,
        at: f64,
    },
}

#[cfg(test)]
mod tests;
