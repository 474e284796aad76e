//! One node's part: start with the others, run, end with node 0, account.

use serde::{Deserialize, Serialize};
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

use super::argv::{argv, env};
use super::link_counters::LinkCounters;
use super::own::Own;
use crosstalk_work::peer::barrier::{gather, join};
use crosstalk_work::peer::socket::gone;
use crosstalk_work::peer::{Line, Until, listen};
use crosstalk_work::program::find_first;
use crosstalk_work::program::{Account, Event, Program, fresh, hung, judge};

/// How long node 0's word that it is over may take to come.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// A program that ends badly so shortly before node 0's may have lost its peer
/// there: all started within milliseconds, and who serves says goodbye first.
const TOGETHER: Duration = Duration::from_millis(250);

/// What to do about a connection that was refused.
const EARLY: &str = "nodes start together, so that the other node may not listen yet: have the program try again until \
                     it does";

/// What to do about a line that fails before an attempt.
const MENDED: &str =
    "run the line by hand with sh -c, see that it ends with exit code 0, and give --prepare what does";

/// What nodes say once they have started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
enum Word {
    /// From node 0: its program has ended, end yours. It ran for so many seconds.
    End { ran: f64 },
    /// To node 0: the program failed, and why.
    Failed { reason: String },
}

/// A node that knows what to run and waits for the others.
struct Ready {
    part: Part,
    argv: Vec<String>,
    env: Vec<(String, String)>,
    path: PathBuf,
    log: Option<PathBuf>,
    own: Option<Own>,
    listener: Option<TcpListener>,
}

/// Gets a node ready: finds the program, and on node 0 listens for the others.
pub fn prepare(part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let argv = argv(&part.params)?;
    let env = env(&part.params)?;
    let path = find_first(&argv)?;
    let own = Own::read(&part.params)?;
    let log = part.params.text("log", "")?;
    let log = (!log.is_empty()).then(|| PathBuf::from(log));
    let listener = match (part.node, part.addresses.first()) {
        (0, Some(address)) => Some(listen((*address, 0).into())?),
        (0, None) => return Err(Fault::attempt("node 0 has no address")),
        _ => None,
    };
    Ok(Box::new(Ready { part: part.clone(), argv, env, path, log, own, listener }))
}

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|l| l.local_addr().ok())
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let until = Until::new(self.part.deadline, cancelled);
        let before = self.sent();
        let outcome = match &self.listener {
            Some(listener) => self.lead(listener, &until),
            None => self.follow(endpoints, &until).map(|account| (account, None)),
        };
        let (account, own) = until.blame(outcome).map_err(|f| f.at(format!("node {}", self.part.node)))?;
        self.report(&account, out)?;
        if let Some(sent) = before.zip(self.sent()).map(|(before, after)| after.since(before)) {
            for (name, value) in [("sent_messages", sent.messages()), ("sent_bytes", sent.payload())] {
                let reading = Reading::value(name, value, Origin::Measured);
                out.take(reading.label("node", self.part.node), 1)?;
            }
        }
        if let Some(own) = own {
            out.take(own, 1)?;
        }
        Ok(None)
    }
}

impl Ready {
    /// Node 0: when its program ends, all end. What it used, and its own metric where it has one.
    fn lead(&self, listener: &TcpListener, until: &Until) -> Result<(Account, Option<Reading>), Fault> {
        // The other nodes wait for the start, and so for this.
        self.make_ready(until)?;
        let mut lines = gather(listener, self.part.nodes, until)?;
        let mut program = self.start()?;
        if let Event::Message(index) = self.watch(&mut program, &lines, until)? {
            let node = format!("node {}", index + 1);
            return Err(match lines[index].hear(until)? {
                Some(Word::Failed { reason }) => Fault::attempt(reason).at(node),
                _ => gone(lines[index].peer()).at(node),
            });
        }
        for line in &mut lines {
            // One that is gone needs not be told.
            let _ = line.say(&Word::End { ran: program.wall().as_secs_f64() });
        }
        let account = self.end(&mut program)?;
        self.judge(&account, &program)?;
        let own = self.own.as_ref().map(|own| {
            let value = own.value(&program.written())?;
            Ok(Reading::value(&own.metric.name, value, Origin::Measured))
        });
        Ok((account, own.transpose()?))
    }

    /// Runs the line that comes before each attempt, and ends what it leaves behind.
    fn make_ready(&self, until: &Until) -> Result<(), Fault> {
        let line = self.part.params.text("prepare", "")?;
        if line.is_empty() {
            return Ok(());
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        self.env_of_nodes(&mut shell);
        let told = |fault: Fault| fault.at("parameter `prepare`");
        let mut program = Program::start(shell, fresh()).map_err(told)?;
        program.watch(&[], until).map_err(|fault| match fault.kind {
            FaultKind::Attempt => told(hung(line, program.wall().as_secs_f64(), &program.last_words())),
            _ => fault,
        })?;
        let account = program.end()?;
        judge(line, account.status, || program.last_words()).map_err(|fault| told(fault.remedy(MENDED)))
    }

    /// Any other node: its program may end before node 0's, but not badly.
    fn follow(&self, endpoints: &[Option<SocketAddr>], until: &Until) -> Result<Account, Fault> {
        let chief =
            endpoints.first().copied().flatten().ok_or_else(|| Fault::attempt("node 0 does not listen"))?;
        let mut line = [join(chief, self.part.node, until)?];
        let outcome = self.run_until_told(&mut line, until);
        if let Err(fault) = &outcome {
            // Node 0 may be gone already: then it needs no reason.
            let _ = line[0].say(&Word::Failed { reason: fault.sentence() });
        }
        outcome
    }

    fn run_until_told(&self, line: &mut [Line; 1], until: &Until) -> Result<Account, Fault> {
        let mut program = self.start()?;
        let ended = self.watch(&mut program, line, until)? == Event::Ended;
        // One that ended badly may have lost node 0's, which ended well: the word
        // of that is then on its way. What one that ended well left running (a
        // daemon that it started) goes on until the word comes.
        let failed = ended && !program.ended_well();
        let word = told(&mut line[0], &if failed { until.within(ON_ITS_WAY) } else { *until });
        let account = self.end(&mut program)?;
        let by_itself = |ran: &f64| account.wall + TOGETHER.as_secs_f64() < *ran;
        if failed && word.as_ref().map_or(true, by_itself) {
            self.judge(&account, &program)?;
        }
        word.map(|_| account)
    }

    /// A fault unless the program ended well.
    fn judge(&self, account: &Account, program: &Program) -> Result<(), Fault> {
        judge(&self.argv[0], account.status, || program.last_words()).map_err(|fault| {
            let early = self.part.nodes > 1 && was_refused(&fault.message);
            if early { fault.remedy(EARLY) } else { fault }
        })
    }

    /// Ends the program, and keeps what it wrote where that was asked for.
    fn end(&self, program: &mut Program) -> Result<Account, Fault> {
        let account = program.end()?;
        if let Some(directory) = &self.log {
            for (stream, bytes) in program.output() {
                let path = directory.join(format!("node-{}.{stream}", self.part.node));
                fs::create_dir_all(directory).and_then(|()| fs::write(&path, bytes)).map_err(|e| {
                    Fault::environment(format!("cannot keep what the program wrote: {e}"))
                        .at(path.display().to_string())
                })?;
            }
        }
        Ok(account)
    }

    /// Watches; a deadline becomes a fault that says what the program said last.
    fn watch(&self, program: &mut Program, lines: &[Line], until: &Until) -> Result<Event, Fault> {
        program.watch(lines, until).map_err(|fault| match fault.kind {
            FaultKind::Attempt => {
                let seconds = program.wall().as_secs_f64();
                // Ended first, so that nobody holds the pipe it is read from. A log
                // that cannot be written matters less than what hung.
                let _ = self.end(program);
                hung(&self.argv[0], seconds, &program.last_words())
            }
            _ => fault,
        })
    }

    /// What this node has sent on its links so far; `None` where it has none of its own.
    fn sent(&self) -> Option<LinkCounters> {
        let own = self.part.addresses.get(self.part.node)?;
        if own.is_loopback() { None } else { LinkCounters::now() }
    }

    fn start(&self) -> Result<Program, Fault> {
        let mut command = Command::new(&self.path);
        command.args(&self.argv[1..]);
        self.env_of_nodes(&mut command);
        Program::start(command, fresh())
    }

    /// What tells a program of its nodes, and what is varied.
    fn env_of_nodes(&self, command: &mut Command) {
        let hosts: Vec<_> =
            self.part.addresses.iter().take(self.part.nodes).map(ToString::to_string).collect();
        command.envs(self.env.iter().cloned());
        command.env("CROSSTALK_HOSTS", hosts.join(","));
        command.env("CROSSTALK_NODE", self.part.node.to_string());
        command.env("CROSSTALK_NODES", self.part.nodes.to_string());
    }

    fn report(&self, account: &Account, out: &mut dyn Sink) -> Result<(), Fault> {
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

/// Whether a program wrote that its connection was refused, as C libraries, Python, Java, Go, Rust and Node say it.
fn was_refused(said: &str) -> bool {
    let said = said.to_lowercase();
    ["connection refused", "connectionrefused", "econnrefused"].iter().any(|word| said.contains(word))
}

/// Waits for node 0's word that it is over, and how many seconds its program ran.
fn told(line: &mut Line, until: &Until) -> Result<f64, Fault> {
    match line.hear(until)? {
        Some(Word::End { ran }) => Ok(ran),
        _ => Err(gone(line.peer()).at("node 0")),
    }
}
