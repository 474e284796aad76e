//! What the runner and an agent say to each other: one JSON object a line over
//! a duplex stream. Every message is answered or bounded by a deadline.

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

/// The version of this protocol; both sides refuse another one.
pub const PROTOCOL: u32 = 4;

/// The longest line either side accepts, in bytes.
pub const LONGEST: u64 = 64 << 20;

/// The largest file that work may leave as an artifact, in bytes.
pub const LARGEST_ARTIFACT: u64 = 256 << 20;

/// One node's part in an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The workload's registered name.
    pub workload: String,
    /// Its parameters, all `$factor`s filled in.
    pub params: Params,
    /// This node's number, from 0.
    pub node: usize,
    /// How many nodes take part.
    pub nodes: usize,
    /// Every node's address, by number.
    pub addresses: Vec<IpAddr>,
    /// What virtual time stands for; `None` in real time.
    pub emulation: Option<Emulation>,
    /// Give up after this long.
    pub deadline: Seconds,
    /// A folder that every node sees, gone with the cluster; `None` where they share none.
    pub shared: Option<PathBuf>,
    /// A folder of the agent's own for temporary files. The agent fills it in.
    #[serde(skip)]
    pub scratch: PathBuf,
    /// Where to leave what the run's reader may want to look into: the agent, which fills it in,
    /// sends it home. `None`: nowhere.
    #[serde(skip)]
    pub artifacts: Option<PathBuf>,
    /// Seed of generated inputs: the same in every attempt of a run, so that cells compare like with like.
    pub seed: u64,
}

/// What surrounds one node's work during an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// Conditions, by their registered names, in the order in which they are applied.
    pub conditions: Vec<(String, Value)>,
    /// Observers.
    pub observers: Vec<Observed>,
    /// The processes of this node's agents whose work lasts, as they number themselves; `None` for one
    /// that cannot tell.
    pub lasting: Vec<Option<u32>>,
}

/// An observer's part in an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Its registered name.
    pub observer: String,
    /// The node that its readings are labelled with, where several nodes have one.
    pub node: Option<usize>,
}

/// What a node is told about what surrounds its work, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Apply the conditions, then attach the observers.
    Put(Surroundings),
    /// Work that lasts is steady ([`Holding::begin`](crate::scene::Holding::begin)).
    Begin,
    /// Work that ends has ended ([`Holding::end`](crate::scene::Holding::end)).
    End,
    /// All work has ended: detach the observers, then undo the conditions, the last first.
    Clear,
}

/// A piece of a file that work has left. A file's pieces follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "piece", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Piece {
    /// A file begins: its path in the folder of artifacts, and its size.
    File { path: String, bytes: u64 },
    /// Its next bytes.
    Bytes { base64: String },
    /// It is whole; the SHA-256 of it all, in hexadecimal.
    Whole { sha256: String },
}

/// From the runner to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum ToAgent {
    /// Opens the conversation with the protocol's version.
    Hello { protocol: u32 },
    /// Asks for the node's facts.
    Facts,
    /// Get ready for a part: answered by `Ready` or `Done`.
    Prepare { part: Box<Part> },
    /// All are ready; here is where each node listens (`None`: it does not).
    Go { endpoints: Vec<Option<SocketAddr>> },
    /// See [`Step`]: answered by `Surrounded`. It is the node's keeper that is told, an agent without work.
    Surround { step: Step },
    /// Stop what you are doing: answered by `Done`. It is how work ends that lasts.
    Cancel,
    /// Go home.
    Bye,
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Outcome {
    /// It went through; what the fidelity monitor saw on this node.
    Finished { fidelity: Option<Fidelity> },
    /// It failed, and why. Of kind `usage`: because of what was asked for, on any machine like this.
    Failed { fault: Fault },
}

/// From an agent to the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum FromAgent {
    /// Answers `Hello`: protocol, program version, and the agent's process as its node numbers it (`None`
    /// where it cannot tell).
    Hello { protocol: u32, version: String, process: Option<u32> },
    /// Answers `Facts`.
    Facts { provenance: Provenance },
    /// Answers `Prepare`: where this node listens, if it does.
    Ready { endpoint: Option<SocketAddr> },
    /// Something was observed, this many seconds after `Go`.
    Sample { reading: Reading, at: f64, n: u64 },
    /// Work that lasts is steady.
    Steady,
    /// Answers `Surround`: what went wrong, if anything.
    Surrounded { fault: Option<Fault> },
    /// Something that the part has left, before it is `Done`.
    Artifact(Piece),
    /// The part ended.
    Done(Outcome),
}

/// Writes one message and flushes it.
pub fn send(writer: &mut dyn Write, message: &impl Serialize) -> Result<(), Fault> {
    let mut line = serde_json::to_vec(message)
        .map_err(|e| Fault::environment(format!("cannot write a message: {e}")))?;
    line.push(b'\n');
    writer
        .write_all(&line)
        .and_then(|()| writer.flush())
        .map_err(|e| Fault::environment(format!("the other side is gone: {e}")))
}

/// Reads one message; `None` at the end of the stream.
pub fn receive<T: DeserializeOwned>(reader: &mut dyn BufRead) -> Result<Option<T>, Fault> {
    let mut line = Vec::new();
    let read = reader
        .take(LONGEST)
        .read_until(b'\n', &mut line)
        .map_err(|e| Fault::environment(format!("the other side is gone: {e}")))?;
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
    fn a_message_survives_the_stream() {
        let sent = ToAgent::Go { endpoints: vec![None, Some(([127, 0, 0, 1], 80).into())] };
        let mut wire = Vec::new();
        send(&mut wire, &sent).expect("writes");
        let mut reader = wire.as_slice();
        assert_eq!(receive(&mut reader).expect("reads"), Some(sent));
        assert_eq!(receive::<ToAgent>(&mut reader).expect("ends"), None);
    }

    #[test]
    fn a_distribution_survives_the_stream() {
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
