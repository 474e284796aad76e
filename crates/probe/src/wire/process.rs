//! The processes that run the endpoints: this program again, or one in C that it carries.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_comm::dpdk;
use crosstalk_comm::embedded::LoadedProgram;
use crosstalk_core::Fault;
use crosstalk_host::Launcher;
use crosstalk_host::cpu::PinnedThread;
use crosstalk_host::ticks::TickClock;

use super::config::{EndpointConfig, Role};
use super::result::{EndpointResult, read_result};
use super::transport::Transport;
use super::veth::DEVICE;
use crosstalk_work::peer::Deadline;
use crosstalk_work::peer::socket::wait_readable;

/// The longest start: DPDK takes about a second.
const START: Duration = Duration::from_secs(30);

/// How long a process with a result may take to give its devices back.
const END: Duration = Duration::from_secs(2);

/// How long a process that has closed its output may take to end.
const CLOSED: Duration = Duration::from_millis(500);

/// The verb under which this program runs an endpoint.
pub const VERB: &str = "end";

/// The process of an endpoint. Dropping this ends it.
pub struct Process<'a> {
    child: Child,
    /// While it is open, a process in C with a result stays: its peer may not be able to go on without it.
    input: Option<ChildStdin>,
    /// Whether it has written its result, and ends by itself.
    done: bool,
    output: BufReader<Output<'a>>,
    most: usize,
}

/// The output of a process, with a limit of time.
struct Output<'a> {
    stdout: ChildStdout,
    until: Deadline<'a>,
}

impl Read for Output<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        wait_readable(&self.stdout, &self.until, "an endpoint of the wire").map_err(io::Error::other)?;
        self.stdout.read(into)
    }
}

impl<'a> Process<'a> {
    /// Starts a process on processor `cpu`, and waits until it is ready.
    ///
    /// # Errors
    /// What the process reports.
    pub fn start(config: &EndpointConfig, cpu: usize, until: &Deadline<'a>) -> Result<Self, Fault> {
        // It stays in memory until it is started.
        let carried = config.transport.c_program();
        let program = carried.map(|carried| {
            carried.load().map_err(|e| Fault::environment(format!("cannot use {}: {e}", carried.what)))
        });
        let program = program.transpose()?;
        let (mut command, line) = match &program {
            Some(program) => (command_line(program, config), String::new()),
            None => {
                let line = serde_json::to_string(config).map_err(|e| Fault::environment(e.to_string()))?;
                (Launcher::current().command(VERB), line)
            }
        };
        // A process may use the processors of the thread that starts it.
        let pinned = PinnedThread::begin(cpu)?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        drop(pinned);
        let mut child =
            child.map_err(|e| Fault::environment(format!("an endpoint of the wire does not start: {e}")))?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // If it has ended already, its output says why.
            let _ = writeln!(stdin, "{line}");
        }
        let stdout = child.stdout.take().ok_or_else(|| Fault::environment("a process without output"))?;
        let output = BufReader::new(Output { stdout, until: until.at_most(START) });
        let mut process = Process { child, input: stdin, done: false, output, most: config.most };
        let mut ready = String::new();
        let read = process.output.read_line(&mut ready);
        if read.is_err() || ready.trim() != "ready" {
            return Err(process.fault());
        }
        process.output.get_mut().until = *until;
        Ok(process)
    }

    /// Waits for the endpoint's result.
    ///
    /// # Errors
    /// What the process reports; where the time is up; interrupted.
    pub fn result(&mut self) -> Result<EndpointResult, Fault> {
        let result = read_result(&mut self.output, self.most).map_err(|_| self.fault())?;
        self.done = true;
        Ok(result)
    }

    /// Checks that it still runs: a process that sends messages back does not end by itself.
    ///
    /// # Errors
    /// Why it ended.
    pub fn check_running(mut self) -> Result<(), Fault> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.fault()),
        }
    }

    /// Why it ended, or that the time was up.
    fn fault(&mut self) -> Fault {
        if let (Ok(None), Err(fault)) =
            (self.child.try_wait(), self.output.get_ref().until.check("an endpoint of the wire"))
        {
            return fault;
        }
        let signal = self.ended_within(CLOSED).and_then(|status| status.signal());
        let _ = self.child.kill();
        let mut errors = String::new();
        if let Some(stderr) = self.child.stderr.take() {
            // It has ended: its output is complete.
            let _ = stderr.take(1 << 16).read_to_string(&mut errors);
        }
        Fault::attempt(match (reason(&errors), signal) {
            (_, Some(signal)) => format!("an endpoint of the wire ended early, by signal {signal}"),
            (Some(reason), None) => format!("an endpoint of the wire ended early: {reason}"),
            (None, None) => "an endpoint of the wire ended early, without a reason".to_string(),
        })
    }

    /// How it ended, if it ends within `time`.
    fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + time;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                ended => return ended.ok().flatten(),
            }
        }
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.input = None;
        if self.done {
            self.ended_within(END);
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last error of a process: of this program a fault with its remedy, of one in C a line.
fn reason(errors: &str) -> Option<String> {
    // DPDK also prints warnings.
    let noise = |line: &str| line.is_empty() || line.starts_with("EAL: ");
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !noise(line)).collect();
    let own = lines.iter().rposition(|line| line.starts_with("crosstalk: "));
    let last = &lines[own.unwrap_or(lines.len().saturating_sub(1))..];
    let text = last.join("; ");
    (!text.is_empty()).then(|| text.trim_start_matches("crosstalk: ").to_string())
}

/// The command line of the program in C (`endpoints/endpoint.h` in `comm`).
fn command_line(program: &LoadedProgram, config: &EndpointConfig) -> Command {
    let place = |endpoint: usize| {
        let path = config.places[endpoint].display();
        match config.transport {
            Transport::DpdkMemif => format!("{},{path}", if endpoint == 0 { "client" } else { "server" }),
            Transport::DpdkPci | Transport::Rdma => path.to_string(),
            _ => format!("{DEVICE},{path}"),
        }
    };
    let mut command = program.command();
    match config.huge {
        true => command.env(dpdk::HUGE, "1"),
        false => command.env_remove(dpdk::HUGE),
    };
    let hertz = TickClock::best().counter_frequency().unwrap_or(0.0);
    let numbers =
        [config.size.to_string(), config.duration.to_string(), config.most.to_string(), hertz.to_string()];
    let how = config.transport.dpdk_driver().unwrap_or(config.mode.name());
    command.arg(config.role.name()).args(numbers).arg(how);
    match config.role {
        Role::OneThread | Role::OneThreadCalls => command.args([place(0), place(1)]),
        Role::Ping | Role::Send => command.arg(place(0)),
        Role::Echo | Role::Count => command.arg(place(1)),
    };
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_keeps_its_remedy_and_a_line_is_quoted() {
        let fault = "crosstalk: cannot enter it: not permitted\n  try: run as root\n";
        assert_eq!(reason(fault).as_deref(), Some("cannot enter it: not permitted; try: run as root"));
        assert_eq!(reason("port 0 has no link\nEAL: noise\n\n").as_deref(), Some("port 0 has no link"));
        assert_eq!(reason("EAL: noise\n"), None);
    }
}
