//! An application with one process a node, all on this machine, in real time:
//! what `bench/pagerank_memory.py` weighs and `bench/als_vs_mllib.py` judges.
//!
//! `cargo run --release -p crosstalk-apps --example application_cluster -- pagerank slaves=2 scale=16`
//! prints a reading a line, as JSON.

use crosstalk_apps::workloads;
use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Outcome, Part, ToAgent, receive, send};
use crosstalk_core::record::Reading;
use crosstalk_core::scene::{Sink, Workload};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use std::io::{BufReader, stdin, stdout};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [word] if word == "node" => node(),
        [name, params @ ..] => cluster(name, params),
        [] => Err(Fault::usage("expected a workload, and its parameters as name=value")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("application_cluster: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

/// Starts a process a node, and prints what they tell.
fn cluster(name: &str, arguments: &[String]) -> Result<(), Fault> {
    let (workload, params) = (named(name)?, parameters(arguments)?);
    let nodes = workload.deploy(&params)?.nodes;
    let mut children = (0..nodes).map(|_| Node::start()).collect::<Result<Vec<_>, _>>()?;
    for (node, child) in children.iter_mut().enumerate() {
        let part = Part {
            workload: workload.name().into(),
            params: params.clone(),
            node,
            nodes,
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST); nodes],
            emulation: None,
            deadline: Seconds(600.0),
            shared: Some(std::env::temp_dir()),
            keep_schedule: false,
            scratch: Default::default(),
            artifacts: None,
            seed: 1,
        };
        send(&mut child.input, &ToAgent::Prepare { part: Box::new(part) })?;
    }
    let endpoints = children.iter_mut().map(Node::ready).collect::<Result<Vec<_>, _>>()?;
    for child in &mut children {
        send(&mut child.input, &ToAgent::Go { endpoints: endpoints.clone() })?;
    }
    children.iter_mut().try_for_each(Node::follow)
}

fn named(name: &str) -> Result<Box<dyn Workload>, Fault> {
    let found = workloads().into_iter().find(|workload| workload.name() == name);
    found.ok_or_else(|| Fault::usage(format!("expected a workload, found `{name}`")))
}

fn parameters(arguments: &[String]) -> Result<Params, Fault> {
    arguments.iter().try_fold(Params::default(), |params, argument| match argument.split_once('=') {
        Some((name, value)) => Ok(params.with(name, Value::from_word(value))),
        None => Err(Fault::usage(format!("expected name=value, found `{argument}`"))),
    })
}

/// A node's process, ended with this one's interest in it.
struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Node {
    fn start() -> Result<Self, Fault> {
        let start = || {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("node")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let pipes = child.stdin.take().zip(child.stdout.take());
            let (input, output) = pipes.ok_or_else(|| std::io::Error::other("no pipes"))?;
            Ok(Node { child, input, output: BufReader::new(output) })
        };
        start().map_err(|e: std::io::Error| Fault::environment(format!("cannot start a node: {e}")))
    }

    fn hear(&mut self) -> Result<FromAgent, Fault> {
        receive(&mut self.output)?.ok_or_else(|| Fault::attempt("a node ended early"))
    }

    fn ready(&mut self) -> Result<Option<SocketAddr>, Fault> {
        match self.hear()? {
            FromAgent::Ready { endpoint } => Ok(endpoint),
            FromAgent::Done(Outcome::Failed { fault }) => Err(fault),
            other => Err(Fault::attempt(format!("expected a node to be ready, found {other:?}"))),
        }
    }

    fn follow(&mut self) -> Result<(), Fault> {
        loop {
            match self.hear()? {
                FromAgent::Sample { reading, .. } => send(&mut stdout(), &reading)?,
                FromAgent::Done(Outcome::Failed { fault }) => return Err(fault),
                FromAgent::Done(Outcome::Finished { .. }) => return Ok(()),
                other => return Err(Fault::attempt(format!("expected samples, found {other:?}"))),
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        if self.child.kill().is_ok() {
            self.child.wait().ok();
        }
    }
}

/// Runs one node's part, as standard input says.
fn node() -> Result<(), Fault> {
    let mut input = stdin().lock();
    let Some(ToAgent::Prepare { mut part }) = receive(&mut input)? else {
        return Err(Fault::attempt("expected the order to prepare"));
    };
    part.scratch = std::env::temp_dir();
    let outcome = named(&part.workload).and_then(|workload| workload.prepare(&part)).and_then(|ready| {
        send(&mut stdout(), &FromAgent::Ready { endpoint: ready.endpoint() })?;
        match receive(&mut input)? {
            Some(ToAgent::Go { endpoints }) => ready.run(&endpoints, &mut Told, &AtomicBool::new(false)),
            _ => Err(Fault::attempt("expected the order to go")),
        }
    });
    let outcome = match outcome {
        Ok(fidelity) => Outcome::Finished { fidelity },
        Err(fault) => Outcome::Failed { fault },
    };
    send(&mut stdout(), &FromAgent::Done(outcome))
}

/// Sends every reading to the parent.
struct Told;

impl Sink for Told {
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault> {
        send(&mut stdout(), &FromAgent::Sample { reading, at: 0.0, n })
    }
}
