//! The messages between the runner and an agent: one JSON object a line over a
//! duplex stream. Every message has an answer or a deadline.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::Fault;
use crate::emulation::Emulation;
use crate::fidelity::Fidelity;
use crate::provenance::Provenance;
use crate::record::Reading;
use crate::units::Seconds;
use crate::value::{Params, Value};

/// The version of this protocol. Both sides refuse any other.
pub const PROTOCOL: u32 = 4;

/// The longest line that either side accepts, in bytes.
pub const LONGEST_LINE: u64 = 64 << 20;

/// The largest file that a workload may leave as an artifact, in bytes.
pub const LARGEST_ARTIFACT: u64 = 256 << 20;

/// How the name of a schedule ends that an unfaithful attempt has recorded among its artifacts.
pub const UNFAITHFUL_SCHEDULE: &str = "unfaithful.schedule";

/// The work of one node in an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The workload's registered name.
    pub workload: String,
    /// Its parameters, with the level of every `$factor` filled in.
    pub params: Params,
    /// The node's number, from 0.
    pub node: usize,
    /// How many nodes take part.
    pub nodes: usize,
    /// Every node's address, by number.
    pub addresses: Vec<IpAddr>,
    /// The cluster that virtual time emulates. `None` in real time.
    pub emulation: Option<Emulation>,
    /// The longest time that the work may take.
    pub deadline: Seconds,
    /// A folder that every node sees, removed with the cluster. `None` if the nodes share none.
    pub shared: Option<PathBuf>,
    /// Whether the first faithful attempt at this work is to keep its schedule in that folder, to be replayed on other
    /// clusters. What the attempt reports is the same.
    #[serde(default)]
    pub keep_schedule: bool,
    /// The agent's folder for temporary files. The agent fills it in.
    #[serde(skip)]
    pub scratch: PathBuf,
    /// The folder for files that the run keeps as artifacts. The agent fills it in, and sends the files
    /// to the runner. `None`: artifacts are not kept.
    #[serde(skip)]
    pub artifacts: Option<PathBuf>,
    /// The seed of generated inputs, the same in every attempt of a run.
    pub seed: u64,
}

/// The conditions and observers around one node's work during an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// Conditions, by their registered names, in the order in which they are applied.
    pub conditions: Vec<(String, Value)>,
    /// The observers.
    pub observers: Vec<ObserverPart>,
    /// The process ids of this node's agents whose work runs until it is stopped, in the node's PID
    /// namespace. `None` for an agent that does not know its own.
    pub lasting: Vec<Option<u32>>,
}

/// An observer on one node in an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserverPart {
    /// Its registered name.
    pub observer: String,
    /// The node label of its readings, if several nodes have this observer.
    pub node: Option<usize>,
}

/// The steps of a node's conditions and observers, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Apply the conditions, then attach the observers.
    Put(Surroundings),
    /// All work that runs until it is stopped is steady
    /// ([`AppliedCondition::begin`](crate::scene::AppliedCondition::begin)).
    Begin,
    /// All other work has ended ([`AppliedCondition::end`](crate::scene::AppliedCondition::end)).
    End,
    /// All work has ended: detach the observers, then undo the conditions in reverse order.
    Clear,
}

/// A piece of an artifact file. The pieces of one file are sent one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "piece", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum ArtifactPiece {
    /// A file begins: its path in the folder of artifacts, and its size in bytes.
    File { path: String, bytes: u64 },
    /// The next bytes of the file.
    Bytes { base64: String },
    /// The file is complete: its SHA-256, in hexadecimal.
    Whole { sha256: String },
}

/// A message from the runner to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum ToAgent {
    /// Opens the session with the protocol's version.
    Hello { protocol: u32 },
    /// Requests the node's facts.
    Facts,
    /// Prepare for a part: answered by `Ready` or `Done`.
    Prepare { part: Box<Part> },
    /// Begin the part. All nodes are ready; `endpoints` are the addresses at which they listen (`None`: it does not).
    Go { endpoints: Vec<Option<SocketAddr>> },
    /// Do a [`Step`]: answered by `Surrounded`. Sent to the node's keeper only, an agent without work.
    Surround { step: Step },
    /// Stop the part: answered by `Done`. Work that runs until it is stopped ends well then.
    Cancel,
    /// Exit.
    Bye,
}

/// How a node's part of an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Outcome {
    /// It succeeded, with the counters of this node's fidelity monitor.
    Finished { fidelity: Option<Fidelity> },
    /// It failed. A fault of kind `usage` would occur in every attempt.
    Failed { fault: Fault },
}

/// A message from an agent to the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum FromAgent {
    /// Answers `Hello`: the protocol's and the program's version, and the agent's process id on its node
    /// (`None` if the agent does not know it).
    Hello { protocol: u32, version: String, process: Option<u32> },
    /// Answers `Facts`.
    Facts { provenance: Provenance },
    /// Answers `Prepare`: the address at which this node listens, if it does.
    Ready { endpoint: Option<SocketAddr> },
    /// A reading, `at` seconds after `Go`, from `n` raw observations.
    Sample { reading: Reading, at: f64, n: u64 },
    /// Work that runs until it is stopped is steady.
    Steady,
    /// Answers `Surround`: the fault, if any.
    Surrounded { fault: Option<Fault> },
    /// A piece of an artifact, sent before `Done`.
    Artifact(ArtifactPiece),
    /// The part ended.
    Done(Outcome),
}

/// Writes one message and flushes it.
///
/// # Errors
/// An environment fault if the stream has ended.
pub fn send(writer: &mut dyn Write, message: &impl Serialize) -> Result<(), Fault> {
    let mut line = serde_json::to_vec(message)
        .map_err(|e| Fault::environment(format!("cannot write a message: {e}")))?;
    line.push(b'\n');
    writer
        .write_all(&line)
        .and_then(|()| writer.flush())
        .map_err(|e| Fault::environment(format!("the stream has ended: {e}")))
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// An environment fault if the stream fails, or has no message of this protocol.
pub fn receive<T: DeserializeOwned>(reader: &mut dyn BufRead) -> Result<Option<T>, Fault> {
    let mut line = Vec::new();
    let read = reader
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .map_err(|e| Fault::environment(format!("the stream has ended: {e}")))?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(Fault::environment("a message was cut short or is too long"));
    }
    serde_json::from_slice(&line)
        .map(Some)
        .map_err(|e| Fault::environment(format!("not a message of this protocol: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_the_same_after_a_stream() {
        let sent = ToAgent::Go { endpoints: vec![None, Some(([127, 0, 0, 1], 80).into())] };
        let mut wire = Vec::new();
        send(&mut wire, &sent).expect("writes");
        let mut reader = wire.as_slice();
        assert_eq!(receive(&mut reader).expect("reads"), Some(sent));
        assert_eq!(receive::<ToAgent>(&mut reader).expect("ends"), None);
    }

    #[test]
    fn a_histogram_is_the_same_after_a_stream() {
        let mut histogram = crate::histogram::Histogram::default();
        [3, 3, 16_512].into_iter().for_each(|v| histogram.record(v));
        let reading = Reading::histogram("round_trip", histogram, crate::record::Origin::Measured);
        let sent = FromAgent::Sample { reading, at: 0.5, n: 3 };
        let mut wire = Vec::new();
        send(&mut wire, &sent).expect("writes");
        assert_eq!(receive(&mut wire.as_slice()).expect("reads"), Some(sent));
    }

    #[test]
    fn a_message_cut_short_is_a_fault() {
        let mut reader: &[u8] = b"{\"do\":\"facts\"}";
        assert!(receive::<ToAgent>(&mut reader).is_err());
    }

    proptest! {
        #[test]
        fn noise_is_a_fault_not_a_panic(noise in proptest::collection::vec(any::<u8>(), 1..200)) {
            let mut reader = noise.as_slice();
            while let Ok(Some(_)) = receive::<FromAgent>(&mut reader) {}
        }
    }
}
