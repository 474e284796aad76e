//! The agent on a node: receives parts over a stream, runs them, and reports readings.
//! It ends when the stream does, so that no work outlives the runner.
//!
//! An agent either runs work or is its node's keeper, which applies conditions and observers
//! (`surroundings`). An agent that is paused with its work could not receive the message to resume it.

pub(crate) mod artifact_sender;
mod surroundings;

use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::{FromAgent, Outcome, PROTOCOL, Part, ToAgent, receive, send};
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{Prepared, Sink};

use artifact_sender::ArtifactSender;
use surroundings::ActiveSurroundings;

/// What an agent uses of its node.
pub struct NodeContext<'a> {
    /// The workloads, conditions and observers that messages can name.
    pub registry: &'a Registry,
    /// Reads the node's facts.
    pub facts: &'a dyn Fn() -> Provenance,
    /// Returns a folder for temporary files, created by the first call.
    pub folder: &'a dyn Fn() -> Result<PathBuf, Fault>,
}

/// Serves one runner until `Bye` or the end of its stream. Conditions are undone then.
///
/// # Errors
/// If the stream fails, or the runner has another protocol version.
pub fn serve_runner(
    node: &NodeContext,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Fault> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let inbox = listen(input, Arc::clone(&cancelled));
    let mut out = Output(Arc::new(Mutex::new(Box::new(output))));
    let mut ready: Option<Box<dyn Prepared>> = None;
    let mut surroundings = ActiveSurroundings::new(node.registry);
    let mut artifacts = ArtifactSender::default();
    for message in inbox {
        match message? {
            ToAgent::Hello { protocol: PROTOCOL } => {
                let version = env!("CARGO_PKG_VERSION").to_string();
                out.send(&FromAgent::Hello { protocol: PROTOCOL, version, process: own_pid() })?;
            }
            ToAgent::Hello { protocol } => {
                return Err(Fault::environment(format!(
                    "the runner has protocol version {protocol}, this agent {PROTOCOL}"
                ))
                .remedy("use the same version of crosstalk on every node"));
            }
            ToAgent::Facts => out.send(&FromAgent::Facts { provenance: (node.facts)() })?,
            ToAgent::Prepare { mut part } => {
                cancelled.store(false, Ordering::SeqCst);
                match catching_panics(|| prepare(node, &mut part)) {
                    Ok(prepared) => {
                        out.send(&FromAgent::Ready { endpoint: prepared.endpoint() })?;
                        ready = Some(prepared);
                    }
                    Err(fault) => out.send_done(Err(fault))?,
                }
            }
            ToAgent::Go { endpoints } => {
                let result = match ready.take() {
                    Some(prepared) => run(prepared, &endpoints, &mut out, &cancelled),
                    None => Err(Fault::attempt("received `Go` before `Prepare`")),
                };
                let sent = artifacts_folder(node)
                    .and_then(|folder| artifacts.send_new(&folder, &mut |piece| out.send(&piece)));
                out.send_done(result.and_then(|fidelity| sent.map(|()| fidelity)))?;
            }
            ToAgent::Surround { step } => {
                let mut report = |reading, at| out.send(&FromAgent::Sample { reading, at, n: 1 });
                let fault = catching_panics(|| surroundings.do_step(&step, &mut report)).err();
                out.send(&FromAgent::Surrounded { fault })?;
            }
            // While a part runs, the thread that reads messages has set `cancelled` already.
            ToAgent::Cancel => {
                if ready.take().is_some() {
                    out.send_done(Err(Fault::interrupted()))?;
                }
            }
            ToAgent::Bye => break,
        }
    }
    Ok(())
}

/// Reads messages in a thread of its own, so that `Cancel` works while a part runs.
/// The end of the stream cancels as well.
fn listen(input: impl Read + Send + 'static, cancelled: Arc<AtomicBool>) -> Receiver<Result<ToAgent, Fault>> {
    let (sender, inbox) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(input);
        loop {
            let message = receive(&mut reader).transpose();
            if matches!(message, None | Some(Err(_) | Ok(ToAgent::Cancel | ToAgent::Bye))) {
                cancelled.store(true, Ordering::SeqCst);
            }
            let Some(message) = message else { break };
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    inbox
}

fn prepare(node: &NodeContext, part: &mut Part) -> Result<Box<dyn Prepared>, Fault> {
    (part.scratch, part.artifacts) = ((node.folder)()?, Some(artifacts_folder(node)?));
    node.registry.workload(&part.workload)?.prepare(part)
}

/// The folder in which parts leave artifacts. It stays between attempts: some parts extend a file of an earlier one.
fn artifacts_folder(node: &NodeContext) -> Result<PathBuf, Fault> {
    Ok((node.folder)()?.join("artifacts"))
}

/// This process's id on its node; `None` if `/proc` shows the ids of another namespace.
fn own_pid() -> Option<u32> {
    let in_proc = std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
    (std::process::id() == in_proc).then_some(in_proc)
}

fn run(
    prepared: Box<dyn Prepared>,
    endpoints: &[Option<SocketAddr>],
    out: &mut Output,
    cancelled: &AtomicBool,
) -> Result<Option<Fidelity>, Fault> {
    let mut sink = StreamSink { out: out.clone(), began: Instant::now() };
    catching_panics(|| prepared.run(endpoints, &mut sink, cancelled))
}

/// Turns a panic into a fault of the attempt, so that the agent survives it.
fn catching_panics<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Fault::attempt(format!("a defect in crosstalk: {message}")))
    })
}

#[derive(Clone)]
struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    fn send(&mut self, message: &FromAgent) -> Result<(), Fault> {
        send(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner), message)
    }

    fn send_done(&mut self, result: Result<Option<Fidelity>, Fault>) -> Result<(), Fault> {
        self.send(&FromAgent::Done(match result {
            Ok(fidelity) => Outcome::Finished { fidelity },
            Err(fault) => Outcome::Failed { fault },
        }))
    }
}

/// Sends readings to the runner; refuses numbers that are not finite.
struct StreamSink {
    out: Output,
    began: Instant,
}

impl Sink for StreamSink {
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault> {
        let finite = match &reading.observation {
            Observation::Value(v) => v.is_finite(),
            Observation::Series(vs) => vs.iter().all(|v| v.is_finite()),
            Observation::Histogram(_) => true,
        };
        if !finite {
            return Err(Fault::attempt(format!("metric `{}` is not a finite number", reading.metric)));
        }
        self.out.send(&FromAgent::Sample { reading, at: self.began.elapsed().as_secs_f64(), n })
    }

    fn steady(&mut self) -> Result<(), Fault> {
        self.out.send(&FromAgent::Steady)
    }
}
