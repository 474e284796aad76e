//! The two nodes: node 1 starts iperf3's server when node 0 has connected to it, and reports the port; node 0
//! runs the client. When node 0 closes the connection, node 1 ends the server.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::{Prepared, Sink};
use crosstalk_core::units::Seconds;
use crosstalk_host::listening::listeners;

use super::output::Output;
use super::spec::Spec;
use crate::external::installation;
use crosstalk_work::peer::socket::{accept, closed_fault, connect};
use crosstalk_work::peer::{Deadline, Line, listen};
use crosstalk_work::program::{Event, Program, check_exit, find, fresh_mark};

/// How long iperf3's server may take until it listens.
const START: Duration = Duration::from_secs(10);

/// How often node 1 checks whether it does.
const POLL: Duration = Duration::from_millis(5);

/// From node 1: iperf3's server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Listening {
    port: u16,
}

/// One of the two nodes.
enum Node {
    Client { spec: Spec, scratch: PathBuf, deadline: Seconds },
    Server { listener: TcpListener, deadline: Seconds },
}

/// Prepares a node.
///
/// # Errors
/// Where the program is missing; a usage fault for another number of nodes; where node 1 cannot listen.
pub fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    program()?;
    let deadline = part.deadline;
    let node = match (part.node, part.nodes, part.addresses.get(1)) {
        (0, 2, _) => Node::Client { spec, scratch: part.scratch.clone(), deadline },
        (1, 2, Some(address)) => Node::Server { listener: listen((*address, 0).into())?, deadline },
        (1, 2, None) => return Err(Fault::attempt("node 1 has no address")),
        (node, nodes, _) => {
            return Err(Fault::usage(format!("iperf3 runs on two nodes, found node {node} of {nodes}")));
        }
    };
    Ok(Box::new(node))
}

/// Where iperf3 is.
fn program() -> Result<PathBuf, Fault> {
    find("iperf3").map_err(|_| Fault::environment("this node has no iperf3").remedy(installation("iperf3")))
}

impl Prepared for Node {
    fn endpoint(&self) -> Option<SocketAddr> {
        match self {
            Node::Client { .. } => None,
            Node::Server { listener, .. } => listener.local_addr().ok(),
        }
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        match *self {
            Node::Server { listener, deadline } => {
                let until = Deadline::new(deadline, cancelled);
                until.interruption_or(serve(&listener, &until)).map_err(|fault| fault.on(1))?;
            }
            Node::Client { spec, scratch, deadline } => {
                let until = Deadline::new(deadline, cancelled);
                let server = endpoints.get(1).copied().flatten();
                let server =
                    server.ok_or_else(|| Fault::attempt("node 1 did not report where it listens"))?;
                let output = until.interruption_or(measure(server, &spec, &scratch, &until));
                for (reading, n) in readings(&spec, &output.map_err(|fault| fault.on(0))?) {
                    out.take(reading, n)?;
                }
            }
        }
        Ok(None)
    }
}

/// Node 1: runs the server until it ends, or node 0 closes the connection.
fn serve(listener: &TcpListener, until: &Deadline) -> Result<(), Fault> {
    let (stream, _) = accept(listener, until)?;
    let line = [Line::new(stream)?];
    let address = line[0].local()?.ip();
    let port = free_port(address)?;
    let mut command = Command::new(program()?);
    command.args(["--server", "--one-off"]);
    command.arg(format!("--bind={address}")).arg(format!("--port={port}"));
    let mut server = Program::start(command, fresh_mark())?;
    await_listening(&server, port, until)?;
    line[0].send(&Listening { port })?;
    let event = server.watch(&line, until)?;
    let account = server.end()?;
    match event {
        // The client may still need the connection to report its result: it closes it.
        Event::Ended => check_exit("iperf3", account.status, || server.last_lines()),
        Event::Message(_) => Ok(()),
    }
}

/// A port that nobody listens on now.
fn free_port(address: IpAddr) -> Result<u16, Fault> {
    let failed = |e| Fault::environment(format!("a listener without an address: {e}"));
    Ok(listen((address, 0).into())?.local_addr().map_err(failed)?.port())
}

/// Waits until the server listens, without connecting to it: it serves one connection only.
fn await_listening(server: &Program, port: u16, until: &Deadline) -> Result<(), Fault> {
    let until = until.at_most(START);
    while !listeners(process::id()).is_ok_and(|all| all.iter().any(|one| one.port == port)) {
        until.check("iperf3's server to listen")?;
        if !server.is_running() {
            return Err(Fault::attempt(format!("iperf3's server has ended:\n{}", server.last_lines())));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Node 0: runs the client to its end, and returns its report.
fn measure(server: SocketAddr, spec: &Spec, scratch: &PathBuf, until: &Deadline) -> Result<Output, Fault> {
    let mut line = Line::new(connect(server, until)?)?;
    let Listening { port } = line.receive(until)?.ok_or_else(|| closed_fault(server).on(1))?;
    let failed = |e: std::io::Error| Fault::environment(format!("no file for iperf3's report: {e}"));
    // With many streams a report is longer than what is kept of a program's output.
    let report = tempfile::NamedTempFile::new_in(scratch).map_err(failed)?;
    let mut command = Command::new(program()?);
    command.arg(format!("--client={}", server.ip())).arg(format!("--port={port}"));
    command.args(spec.options()).arg("--logfile").arg(report.path());
    let mut client = Program::start(command, fresh_mark())?;
    client.watch(&[], until)?;
    let account = client.end()?;
    let text = fs::read_to_string(report.path()).map_err(failed)?;
    // Its report says what failed, more than its exit code does; without a report the code does.
    match Output::parse(&text, spec.udp) {
        Err(_) if text.trim().is_empty() => {
            check_exit("iperf3", account.status, || client.last_lines())?;
            Err(Fault::attempt("iperf3 wrote no report"))
        }
        output => output,
    }
}

/// The readings for the journal, each with the number of its observations.
fn readings(spec: &Spec, output: &Output) -> Vec<(Reading, u64)> {
    let value = |name, value| Reading::value(name, value, Origin::Measured);
    let [sender, receiver] = &output.congestion;
    let under = |reading: Reading, label: &str, control: &Option<String>| {
        control.iter().fold(reading, |reading, control| reading.label(label, control))
    };
    let bandwidth = under(value("bandwidth", output.bandwidth), "congestion", sender);
    let mut readings = vec![(under(bandwidth, "receiver_congestion", receiver), 1)];
    readings.push((value("offered", output.offered), 1));
    if let Some(segments) = output.retransmitted {
        readings.push((under(value("retransmitted", segments as f64), "congestion", sender), 1));
    }
    if let Some(datagrams) = output.datagrams {
        readings.push((value("sent", datagrams.sent as f64), 1));
        readings.push((value("lost", datagrams.lost), datagrams.sent));
        readings.push((value("jitter", datagrams.jitter), 1));
    }
    let labelled = |reading: Reading| {
        let reading = reading.label("transport", if spec.udp { "udp" } else { "tcp" });
        let reading = if spec.streams > 1 { reading.label("streams", spec.streams) } else { reading };
        if spec.reverse { reading.label("direction", "reverse") } else { reading }
    };
    readings.into_iter().map(|(reading, n)| (labelled(reading), n)).collect()
}
