//! One node's part: start with the others, run, end with node 0, report.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::{Prepared, Sink};
use crosstalk_core::{Fault, FaultKind};

use super::argv::{parse_argv, parse_env};
use super::custom_metric::CustomMetric;
use super::link_counters::LinkCounters;
use super::message::{Message, await_end};
use crosstalk_work::peer::barrier::{await_others, await_start};
use crosstalk_work::peer::socket::closed_fault;
use crosstalk_work::peer::{Deadline, Line, listen};
use crosstalk_work::program::{
    Event, Program, ProgramAccount, check_exit, find_program_of, fresh_mark, hung_fault,
};

/// How long node 0's message that it has ended may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// A program that fails so shortly before node 0's ends may have failed because of that: nodes
/// start within milliseconds of each other, and node 0's program may have closed a connection.
const TOGETHER: Duration = Duration::from_millis(250);

/// The remedy for a refused connection.
const RETRY: &str = "nodes start together, so that the other node may not listen yet: have the program retry until \
                     it does";

/// The remedy for a `prepare` line that fails.
const FIX_LINE: &str =
    "run the line by hand with sh -c until it ends with exit code 0, then pass it to --prepare";

/// A node, ready to run with the others.
struct Node {
    part: Part,
    argv: Vec<String>,
    env: Vec<(String, String)>,
    path: PathBuf,
    log: Option<PathBuf>,
    custom: Option<CustomMetric>,
    listener: Option<TcpListener>,
}

/// Prepares a node to run the command: finds the program, and on node 0 listens for the others.
pub fn prepare(part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let argv = parse_argv(&part.params)?;
    let env = parse_env(&part.params)?;
    let path = find_program_of(&argv)?;
    let custom = CustomMetric::from_params(&part.params)?;
    let log = part.params.text("log", "")?;
    let log = (!log.is_empty()).then(|| PathBuf::from(log));
    let listener = match (part.node, part.addresses.first()) {
        (0, Some(address)) => Some(listen((*address, 0).into())?),
        (0, None) => return Err(Fault::attempt("node 0 has no address")),
        _ => None,
    };
    Ok(Box::new(Node { part: part.clone(), argv, env, path, log, custom, listener }))
}

impl Prepared for Node {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|l| l.local_addr().ok())
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let until = Deadline::new(self.part.deadline, cancelled);
        let before = self.link_counters();
        let outcome = match &self.listener {
            Some(listener) => self.lead(listener, &until),
            None => self.follow(endpoints, &until).map(|account| (account, None)),
        };
        let (account, custom) = until.interruption_or(outcome).map_err(|f| f.on(self.part.node))?;
        self.report(&account, out)?;
        if let Some(sent) = before.zip(self.link_counters()).map(|(before, after)| after.since(before)) {
            for (name, value) in [("sent_messages", sent.messages()), ("sent_bytes", sent.payload_bytes())] {
                let reading = Reading::value(name, value, Origin::Measured);
                out.take(reading.label("node", self.part.node), 1)?;
            }
        }
        if let Some(custom) = custom {
            out.take(custom, 1)?;
        }
        Ok(None)
    }
}

impl Node {
    /// Node 0: when its program ends, all end. Returns its account, and its custom metric if any.
    fn lead(
        &self,
        listener: &TcpListener,
        until: &Deadline,
    ) -> Result<(ProgramAccount, Option<Reading>), Fault> {
        // The other nodes start after this.
        self.run_prepare_line(until)?;
        let mut lines = await_others(listener, self.part.nodes, until)?;
        let mut program = self.start()?;
        if let Event::Message(index) = self.watch(&mut program, &lines, until)? {
            let node = index + 1;
            return Err(match lines[index].receive(until)? {
                Some(Message::Failed { reason }) => Fault::attempt(reason).on(node),
                _ => closed_fault(lines[index].peer()).on(node),
            });
        }
        for line in &mut lines {
            // A node that is gone needs no message.
            let _ = line.send(&Message::End { ran: program.run_time().as_secs_f64() });
        }
        let account = self.end(&mut program)?;
        self.judge(&account, &program)?;
        let custom = self.custom.as_ref().map(|custom| {
            let value = custom.value(&program.last_output())?;
            Ok(Reading::value(&custom.metric.name, value, Origin::Measured))
        });
        Ok((account, custom.transpose()?))
    }

    /// Runs the `prepare` line, and ends the processes that it leaves behind.
    fn run_prepare_line(&self, until: &Deadline) -> Result<(), Fault> {
        let line = self.part.params.text("prepare", "")?;
        if line.is_empty() {
            return Ok(());
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        self.env_of_nodes(&mut shell);
        let placed = |fault: Fault| fault.of_parameter("prepare");
        let mut program = Program::start(shell, fresh_mark()).map_err(placed)?;
        program.watch(&[], until).map_err(|fault| match fault.kind {
            FaultKind::Attempt => {
                placed(hung_fault(line, program.run_time().as_secs_f64(), &program.last_lines()))
            }
            _ => fault,
        })?;
        let account = program.end()?;
        check_exit(line, account.status, || program.last_lines())
            .map_err(|fault| placed(fault.remedy(FIX_LINE)))
    }

    /// Any other node: its program may end before node 0's, but not fail.
    fn follow(&self, endpoints: &[Option<SocketAddr>], until: &Deadline) -> Result<ProgramAccount, Fault> {
        let leader =
            endpoints.first().copied().flatten().ok_or_else(|| Fault::attempt("node 0 does not listen"))?;
        let mut line = [await_start(leader, self.part.node, until)?];
        let outcome = self.run_until_end(&mut line, until);
        if let Err(fault) = &outcome {
            // Node 0 may be gone already.
            let _ = line[0].send(&Message::Failed { reason: fault.sentence() });
        }
        outcome
    }

    fn run_until_end(&self, line: &mut [Line; 1], until: &Deadline) -> Result<ProgramAccount, Fault> {
        let mut program = self.start()?;
        let ended = self.watch(&mut program, line, until)? == Event::Ended;
        // A program that failed may have lost its connection to node 0's, which ended well:
        // node 0's message is then on its way. A daemon that an ended program left behind
        // runs on until the message comes.
        let failed = ended && !program.has_succeeded();
        let end = await_end(&mut line[0], &if failed { until.at_most(ON_ITS_WAY) } else { *until });
        let account = self.end(&mut program)?;
        let long_before = |ran: &f64| account.wall + TOGETHER.as_secs_f64() < *ran;
        if failed && end.as_ref().map_or(true, long_before) {
            self.judge(&account, &program)?;
        }
        end.map(|_| account)
    }

    /// A fault unless the program ended well.
    fn judge(&self, account: &ProgramAccount, program: &Program) -> Result<(), Fault> {
        check_exit(&self.argv[0], account.status, || program.last_lines()).map_err(|fault| {
            let refused = self.part.nodes > 1 && was_refused(&fault.message);
            if refused { fault.remedy(RETRY) } else { fault }
        })
    }

    /// Ends the program, and writes its output to the folder `log` if there is one.
    fn end(&self, program: &mut Program) -> Result<ProgramAccount, Fault> {
        let account = program.end()?;
        if let Some(directory) = &self.log {
            for (stream, bytes) in program.last_outputs() {
                let path = directory.join(format!("node-{}.{stream}", self.part.node));
                fs::create_dir_all(directory).and_then(|()| fs::write(&path, bytes)).map_err(|e| {
                    Fault::environment(format!("cannot keep the program's output: {e}"))
                        .at(path.display().to_string())
                })?;
            }
        }
        Ok(account)
    }

    /// Watches the program; at the deadline the fault quotes its last output.
    fn watch(&self, program: &mut Program, lines: &[Line], until: &Deadline) -> Result<Event, Fault> {
        program.watch(lines, until).map_err(|fault| match fault.kind {
            FaultKind::Attempt => {
                let seconds = program.run_time().as_secs_f64();
                // Ended first, so that its pipe is closed. That it hung matters more than a log
                // that cannot be written.
                let _ = self.end(program);
                hung_fault(&self.argv[0], seconds, &program.last_lines())
            }
            _ => fault,
        })
    }

    /// The counters of this node's links; `None` where it has no links of its own.
    fn link_counters(&self) -> Option<LinkCounters> {
        let own = self.part.addresses.get(self.part.node)?;
        if own.is_loopback() { None } else { LinkCounters::now() }
    }

    fn start(&self) -> Result<Program, Fault> {
        let mut command = Command::new(&self.path);
        command.args(&self.argv[1..]);
        self.env_of_nodes(&mut command);
        Program::start(command, fresh_mark())
    }

    /// Sets the variables of the nodes, and those of the parameter `env`.
    fn env_of_nodes(&self, command: &mut Command) {
        let hosts: Vec<_> =
            self.part.addresses.iter().take(self.part.nodes).map(ToString::to_string).collect();
        command.envs(self.env.iter().cloned());
        command.env("CROSSTALK_HOSTS", hosts.join(","));
        command.env("CROSSTALK_NODE", self.part.node.to_string());
        command.env("CROSSTALK_NODES", self.part.nodes.to_string());
    }

    fn report(&self, account: &ProgramAccount, out: &mut dyn Sink) -> Result<(), Fault> {
        let mut take = |name, value| {
            let reading = Reading::value(name, value, Origin::Measured);
            out.take(reading.label("node", self.part.node), 1)
        };
        let split = account.split();
        take("time_compute", split.compute)?;
        if account.queued.is_some() {
            take("time_queue", split.queue)?;
        }
        take("time_wait", split.wait)?;
        take("parallel_cpu_time", split.parallel)?;
        take("own_overhead", account.start)?;
        if self.part.node == 0 {
            out.take(Reading::value("run_time", account.wall, Origin::Measured), 1)?;
        }
        Ok(())
    }
}

/// Whether a program reported a refused connection, in the words of C libraries, Python, Java, Go, Rust or Node.
fn was_refused(output: &str) -> bool {
    let output = output.to_lowercase();
    ["connection refused", "connectionrefused", "econnrefused"].iter().any(|word| output.contains(word))
}
