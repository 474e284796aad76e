//! What runs on a node: takes parts over a stream, performs them, reports what it
//! saw. Ends when the stream does, so a runner that dies leaves no work behind.
//!
//! An agent either performs parts or, as its node's keeper, has what surrounds those of the others stand
//! (`surroundings`): one that is paused with its work could not hear that it is to resume.

pub(crate) mod outbox;
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

use outbox::Outbox;
use surroundings::Standing;

/// What an agent has of its node.
pub struct Node<'a> {
    /// What its parts can name.
    pub registry: &'a Registry,
    /// What the node is.
    pub facts: &'a dyn Fn() -> Provenance,
    /// A folder for temporary files, made when it is first asked for.
    pub folder: &'a dyn Fn() -> Result<PathBuf, Fault>,
}

/// Serves one runner until it says goodbye or its stream ends. What surrounds others' work is undone then.
pub fn serve(
    node: &Node,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Fault> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let inbox = listen(input, Arc::clone(&cancelled));
    let mut out = Output(Arc::new(Mutex::new(Box::new(output))));
    let mut ready: Option<Box<dyn Prepared>> = None;
    let (mut standing, mut outbox) = (Standing::new(node.registry), Outbox::default());
    for message in inbox {
        match message? {
            ToAgent::Hello { protocol: PROTOCOL } => {
                let version = env!("CARGO_PKG_VERSION").to_string();
                out.say(&FromAgent::Hello { protocol: PROTOCOL, version, process: own_process() })?;
            }
            ToAgent::Hello { protocol } => {
                return Err(Fault::environment(format!(
                    "the runner speaks protocol {protocol}, this agent {PROTOCOL}"
                ))
                .remedy("use the same version of crosstalk on every node"));
            }
            ToAgent::Facts => out.say(&FromAgent::Facts { provenance: (node.facts)() })?,
            ToAgent::Prepare { mut part } => {
                cancelled.store(false, Ordering::SeqCst);
                match guarded(|| prepare(node, &mut part)) {
                    Ok(prepared) => {
                        out.say(&FromAgent::Ready { endpoint: prepared.endpoint() })?;
                        ready = Some(prepared);
                    }
                    Err(fault) => out.done(Err(fault))?,
                }
            }
            ToAgent::Go { endpoints } => {
                let result = match ready.take() {
                    Some(prepared) => perform(prepared, &endpoints, &mut out, &cancelled),
                    None => Err(Fault::attempt("told to go before being prepared")),
                };
                let sent = left(node).and_then(|folder| outbox.send(&folder, &mut |piece| out.say(&piece)));
                out.done(result.and_then(|fidelity| sent.map(|()| fidelity)))?;
            }
            ToAgent::Surround { step } => {
                let mut tell = |reading, at| out.say(&FromAgent::Sample { reading, at, n: 1 });
                let fault = guarded(|| standing.step(&step, &mut tell)).err();
                out.say(&FromAgent::Surrounded { fault })?;
            }
            // One that arrives while a part runs has done its work by the flag.
            ToAgent::Cancel => {
                if ready.take().is_some() {
                    out.done(Err(Fault::interrupted()))?;
                }
            }
            ToAgent::Bye => break,
        }
    }
    Ok(())
}

/// Reads messages in a thread of its own, so that a cancellation is heard while
/// a part runs. The end of the stream cancels as well.
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

fn prepare(node: &Node, part: &mut Part) -> Result<Box<dyn Prepared>, Fault> {
    (part.scratch, part.artifacts) = ((node.folder)()?, Some(left(node)?));
    node.registry.workload(&part.workload)?.prepare(part)
}

/// Where parts leave what is to be sent home. It stays: some go on with a file in the next attempt.
fn left(node: &Node) -> Result<PathBuf, Fault> {
    Ok((node.folder)()?.join("artifacts"))
}

/// This process as its node numbers it; `None` where /proc shows another namespace's numbers.
fn own_process() -> Option<u32> {
    let shown = std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
    (std::process::id() == shown).then_some(shown)
}

fn perform(
    prepared: Box<dyn Prepared>,
    endpoints: &[Option<SocketAddr>],
    out: &mut Output,
    cancelled: &AtomicBool,
) -> Result<Option<Fidelity>, Fault> {
    let mut sink = Readings { out: out.clone(), began: Instant::now() };
    guarded(|| prepared.run(endpoints, &mut sink, cancelled))
}

/// A defect in one part must not take the agent along: the attempt fails with
/// what the panic said.
fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Fault::attempt(format!("a defect in crosstalk: {said}")))
    })
}

#[derive(Clone)]
struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    fn say(&mut self, message: &FromAgent) -> Result<(), Fault> {
        send(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner), message)
    }

    fn done(&mut self, result: Result<Option<Fidelity>, Fault>) -> Result<(), Fault> {
        self.say(&FromAgent::Done(match result {
            Ok(fidelity) => Outcome::Finished { fidelity },
            Err(fault) => Outcome::Failed { fault },
        }))
    }
}

struct Readings {
    out: Output,
    began: Instant,
}

impl Sink for Readings {
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault> {
        let finite = match &reading.observation {
            Observation::Value(v) => v.is_finite(),
            Observation::Series(vs) => vs.iter().all(|v| v.is_finite()),
            Observation::Histogram(_) => true,
        };
        if !finite {
            return Err(Fault::attempt(format!("metric `{}` is not a finite number", reading.metric)));
        }
        self.out.say(&FromAgent::Sample { reading, at: self.began.elapsed().as_secs_f64(), n })
    }

    fn steady(&mut self) -> Result<(), Fault> {
        self.out.say(&FromAgent::Steady)
    }
}
